"""``idx``: the files of MNIST and FashionMNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.dataset import IdxDataset
from training.data.source import Layout, Opening, Skipped
from training.errors import InputError, TrainingError

_PREFIXES = (("train", "train"), ("test", "t10k"))
_IMAGES, _LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
_ADVICE = "Get the file again, or choose another folder."


class Idx:
    """Grey pictures from up to two pairs of files: train-* and, if there, t10k-* as the part "test".

    Plain files are memory-mapped; gzipped ones are unpacked into memory, in a worker process only when it reads.
    """

    layout: Layout = "image"
    reading: Literal["memory", "files"] = "memory"

    def __init__(self, folder: Path) -> None:
        self.skipped: tuple[Skipped, ...] = ()
        self.parts: dict[str, Tensor] = {}
        self._files: list[Path] = []
        self._arrays: list[NDArray[np.uint8]] | None = []
        labels: list[NDArray[np.uint8]] = []
        digest = hashlib.sha256()
        total = 0
        for part, prefix in _PREFIXES:
            images_file, labels_file = (_find(folder, f"{prefix}-{stem}") for stem in (_IMAGES, _LABELS))
            if part == "test" and images_file is None and labels_file is None:
                continue
            if images_file is None or labels_file is None:
                missing = f"{prefix}-{_IMAGES if images_file is None else _LABELS}"
                raise InputError(
                    f"{folder} has no file {missing} (or {missing}.gz).", "Choose the folder that holds it."
                )
            pictures, classes = _read(images_file, dimensions=3), _read(labels_file, dimensions=1)
            if len(pictures) != len(classes):
                raise InputError(
                    f"{images_file.name} holds {len(pictures)} pictures, but {labels_file.name} holds {len(classes)} labels.",
                    "Use the two files that belong together.",
                )
            digest.update(f"{part} {pictures.shape}".encode())
            digest.update(pictures.data.cast("B"))
            digest.update(classes.data)
            self._files.append(images_file)
            self._arrays.append(pictures)
            labels.append(classes)
            self.parts[part] = torch.arange(total, total + len(pictures))
            total += len(pictures)
        if len(self._arrays) == 2 and self._arrays[0].shape[1:] != self._arrays[1].shape[1:]:
            raise InputError(
                f"the pictures in {self._files[0].name} and {self._files[1].name} differ in size.",
                "Use the files of one dataset.",
            )
        self.shape: tuple[int, ...] = (1, *self._arrays[0].shape[1:])
        self.targets = torch.from_numpy(np.concatenate(labels).astype(np.int64))
        seen = torch.bincount(self.targets[self.parts["train"]], minlength=1)
        if int(self.targets.max()) >= len(seen):
            raise InputError(
                f"{folder}: the test labels name class {int(self.targets.max())}, which no training label does.",
                "Use the files of one dataset.",
            )
        self.classes = tuple(str(number) for number in range(len(seen)))
        self.notes: tuple[str, ...] = _notes(folder, self._files, seen)
        self.fingerprint = digest.hexdigest()
        if int((seen > 0).sum()) < 2:
            raise InputError(f"{folder}: the training labels hold one class only.", "A classifier needs at least two.")

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, rows, columns, 1)."""
        arrays = self._loaded()
        wanted = indices.numpy()
        if len(arrays) == 1:
            return torch.from_numpy(arrays[0][wanted]).unsqueeze(-1)
        pictures = np.empty((len(wanted), *self.shape[1:]), dtype=np.uint8)
        in_first = wanted < len(arrays[0])
        pictures[in_first] = arrays[0][wanted[in_first]]
        pictures[~in_first] = arrays[1][wanted[~in_first] - len(arrays[0])]
        return torch.from_numpy(pictures).unsqueeze(-1)

    def take(self) -> Tensor:
        whole = torch.from_numpy(np.concatenate(self._loaded())).unsqueeze(-1)
        self._arrays = None
        return whole

    def _loaded(self) -> list[NDArray[np.uint8]]:
        if self._arrays is None:
            try:
                self._arrays = [_read(file, dimensions=3) for file in self._files]
            except InputError as error:  # good when the run began
                raise TrainingError(error.message, error.advice) from error
        return self._arrays

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_arrays": None}


def open_idx(dataset: IdxDataset, opening: Opening) -> Idx:
    folder = Path(dataset.path)
    if not folder.is_dir():
        raise InputError(f"dataset.path: {folder} is not a folder.", "Choose the folder that holds the idx files.")
    opening.report_progress(f"reading {folder.name}", None)
    return Idx(folder)


def _find(folder: Path, name: str) -> Path | None:
    """``name`` or ``name``.gz; also with a dot before "idx", as some mirrors and unpackers write it."""
    for candidate in (name, f"{name}.gz", name.replace("-idx", ".idx"), f"{name.replace('-idx', '.idx')}.gz"):
        if (folder / candidate).is_file():
            return folder / candidate
    return None


def _notes(folder: Path, files: list[Path], seen: Tensor) -> tuple[str, ...]:
    notes = [f"read {', '.join(file.name for file in files)} in {folder}"]
    absent = [str(number) for number, count in enumerate(seen.tolist()) if count == 0]
    if absent:
        notes.append(f"no training picture is labelled {', '.join(absent)}")
    return tuple(notes)


def _read(file: Path, dimensions: int) -> NDArray[np.uint8]:
    """The uint8 array in ``file``, its header checked against its length."""
    data: NDArray[np.uint8]
    try:
        with file.open("rb") as stream:
            gzipped = stream.read(2) == b"\x1f\x8b"
        if gzipped:
            with gzip.open(file) as stream:
                data = np.frombuffer(bytearray(stream.read()), dtype=np.uint8)  # bytearray: torch wants it writable
        elif file.stat().st_size == 0:
            raise InputError(f"{file} is empty.", _ADVICE)
        else:
            data = np.memmap(file, dtype=np.uint8, mode="c")  # "c": writable for torch, never written back
    except EOFError as error:
        raise InputError(f"{file} is cut off: the gzip data ends too early.", _ADVICE) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file} is damaged: it does not unpack ({error}).", _ADVICE) from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}.", _ADVICE) from error
    header = 4 + 4 * dimensions
    if len(data) < header or data[0] != 0 or data[1] != 0:
        raise InputError(f"{file} is not an idx file.", _ADVICE)
    if data[2] != 0x08 or data[3] != dimensions:
        wanted = "pictures (bytes in three dimensions)" if dimensions == 3 else "labels (bytes in one dimension)"
        raise InputError(f"{file} is an idx file, but does not hold {wanted}.", _ADVICE)
    shape = [int(size) for size in data[4:header].view(">u4")]
    if len(data) - header != math.prod(shape):
        raise InputError(
            f"{file} is damaged: its header promises {math.prod(shape)} bytes, but {len(data) - header} follow.",
            _ADVICE,
        )
    if not math.prod(shape):
        raise InputError(f"{file} holds no {'pictures' if dimensions == 3 else 'labels'}.", _ADVICE)
    return data[header:].reshape(shape)
