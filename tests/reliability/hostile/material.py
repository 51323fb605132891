"""A good run to spoil, and what spoiling takes: pickles, archives, weights and manifests written byte by byte."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.reliability.hostile.trial import attempt
from training.runs.records.manifest import digest, seal

CONFIG = """
name = "good"
[dataset]
kind = "spiral"
samples = 60
[model]
kind = "mlp"
hidden = [4]
[loop]
epochs = 2
batch_size = 24
ema_decay = 0.9
[checkpoints]
keep_last = 1
"""


@dataclass(frozen=True)
class Run:
    """A copy of a good run, free to be spoilt. ``sentinel`` is what payloads make, ``outside`` where it lies."""

    path: Path
    sentinel: Path

    @property
    def outside(self) -> Path:
        """The folder that nothing may touch."""
        return self.sentinel.parent

    @property
    def checkpoint(self) -> Path:
        """The newest checkpoint."""
        return max((self.path / "checkpoints").glob("step-*"))

    @property
    def state(self) -> Path:
        """Its training state."""
        return self.checkpoint / "state.pt"

    @property
    def weights(self) -> Path:
        """Its weights."""
        return self.checkpoint / "model.safetensors"

    def good_state(self) -> dict[str, Any]:
        """The training state as it was written."""
        state: dict[str, Any] = torch.load(self.state, weights_only=True)
        return state

    def manifest(self) -> dict[str, Any]:
        """The manifest as it stands."""
        manifest: dict[str, Any] = json.loads((self.checkpoint / "manifest.json").read_text(encoding="utf-8"))
        return manifest

    def reseal(self, **changes: Any) -> None:
        """Make digests, sizes and seal right again, as whoever means harm would; ``changes`` replace entries."""
        manifest = self.manifest()
        for name in manifest["files"]:
            path = self.checkpoint / name
            if path.is_file() and path.stat().st_size < 1 << 30:
                manifest["files"][name] = {"bytes": path.stat().st_size, "sha256": digest(path)}
        self.write_manifest(seal({**{key: value for key, value in manifest.items() if key != "seal"}, **changes}))

    def write_manifest(self, manifest: Mapping[str, Any] | str | bytes) -> None:
        """Replace the manifest by anything at all."""
        data = (
            manifest
            if isinstance(manifest, bytes)
            else (manifest if isinstance(manifest, str) else json.dumps(manifest)).encode()
        )
        (self.checkpoint / "manifest.json").write_bytes(data)


def make_good_run(folder: Path) -> Path:
    """Train for four steps; returns the run's folder."""
    config = folder / "good.toml"
    config.write_text(CONFIG, encoding="utf-8")
    outcome = attempt("run", config, "--workspace", folder / "workspace")
    assert outcome.code == 0, outcome.err
    (run,) = (folder / "workspace" / "runs").iterdir()
    return run


def copy_run(good: Path, folder: Path, sentinel: Path) -> Run:
    """A copy of ``good`` in a workspace of its own below ``folder``."""
    path = folder / "workspace" / "runs" / good.name
    shutil.copytree(good, path)
    return Run(path, sentinel)


class Payload:
    """Unpickled, it calls ``function(*arguments)``."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


def payloads(sentinel: Path) -> dict[str, Payload]:
    """Ways of making ``sentinel`` from inside a pickle."""
    code = f"open({str(sentinel)!r}, 'w').close()"
    return {
        "os.system": Payload(os.system, f"touch {sentinel}"),
        "eval": Payload(eval, code),
        "exec": Payload(exec, code),
        "open": Payload(open, str(sentinel), "w"),
        "subprocess": Payload(subprocess.check_call, ["touch", str(sentinel)]),
        "torch.load": Payload(torch.load, str(sentinel.with_name("victim.txt")), weights_only=None)
        if False
        else Payload(torch.load, str(sentinel)),
        "shutil.rmtree": Payload(shutil.rmtree, str(sentinel.parent / "runs")),
        "bytearray": Payload(bytearray, 1 << 45),
    }


def archive(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED, comment: bytes = b"") -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as writer:
        writer.comment = comment
        for name, data in members.items():
            writer.writestr(zipfile.ZipInfo(name), data, compression)
    return buffer.getvalue()


def state_members(path: Path) -> dict[str, bytes]:
    """The members of a file of torch.save."""
    with zipfile.ZipFile(path) as reader:
        return {name: reader.read(name) for name in reader.namelist()}


def with_pickle(path: Path, data: bytes) -> bytes:
    """The archive ``path`` with another pickle inside."""
    members = state_members(path)
    name = next(name for name in members if name.endswith("data.pkl"))
    return archive(members | {name: data})


def saved(value: Any) -> bytes:
    """What torch.save writes."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def bomb(size: int) -> bytes:
    """A raw deflate stream of a thousandth of the ``size`` zero bytes it unpacks to, made without packing them."""
    piece = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // piece) + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def zip_bomb(name: str, size: int) -> bytes:
    """An archive whose only member unpacks to ``size`` bytes."""
    packed = bomb(size)
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0) + name.encode()
    central = struct.pack(
        "<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0, 0, 0, 0, 0, 0
    )
    central += name.encode()
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


def safetensors(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """A safetensors file with any header, of any claimed ``length``."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def storage_pickle(
    identity: Any, shape: tuple[int, ...] = (4,), stride: tuple[int, ...] = (1,), offset: int = 0
) -> bytes:
    """The pickle of a tensor over the storage that ``identity`` names, as torch writes it but for what it says."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return identity if isinstance(value, _Storage) else None

    buffer = io.BytesIO()
    rebuilt = Payload(torch._utils._rebuild_tensor_v2, _Storage(), offset, shape, stride, False, {})
    Pickler(buffer, protocol=2).dump({"progress": {}, "optimizer": {}, "rng": {}, "x": rebuilt})
    return buffer.getvalue()


class _Storage:
    """Stands for a storage while it is pickled."""
