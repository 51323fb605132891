"""Files of a checkpoint: hashed while they are written, by system calls that leave the interpreter to the loop."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import torch
from pydantic import JsonValue
from torch import Tensor

from training.runs.records.forms import FileFacts

_CHUNK = 1 << 20  # hashed, then written while still in the CPU's cache; both let other threads run

NAMES: Final[Mapping[torch.dtype, str]] = {
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float32: "F32",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""What safetensors calls them, in the order in which it lays them out."""


class HashedFile:
    """A new file that knows the SHA-256 of what was written to it; on disk for good when the ``with`` block is left."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self._size = 0
        self._fault: OSError | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("wb")
        return self

    def write(self, data: Any) -> int:
        """Append ``data`` (anything with a buffer). A fault is raised when the file is left: ``torch.save`` calls this
        from C++, where it must not fail."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view) if self._fault is None else 0, _CHUNK):
            chunk = view[start : start + _CHUNK]
            self._digest.update(chunk)
            try:
                self._file.write(chunk)
            except OSError as error:
                self._fault = error
                break
        self._size += len(view)
        return len(view)

    def flush(self) -> None:
        """Asked for by ``torch.save``; leaving the ``with`` block does more."""

    def facts(self) -> FileFacts:
        """What the manifest says about the file."""
        return FileFacts(bytes=self._size, sha256=self._digest.hexdigest())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if self._fault is not None:
                raise self._fault
            if error is None:
                self._file.flush()
                os.fsync(self._file.fileno())


def write_tensors(tensors: Mapping[str, Tensor], stream: HashedFile) -> None:
    """The bytes of ``safetensors.torch.save(tensors, {"format": "pt"})`` (format: safetensors' README), tensor by tensor.

    safetensors' own writer tells no digest: the file would have to be read again.
    """
    order = list(NAMES)
    names = sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name))
    # One metadata key only: the order of several is not fixed, and the digest must be.
    header: dict[str, JsonValue] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in names:
        tensor = tensors[name]
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        if tensors[name].numel():
            stream.write(tensors[name].contiguous().flatten().view(torch.uint8).numpy().data)
