"""``Weights``: tensors by name that a network may begin with, and how they are read from a person's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.parameter import is_lazy

from training.config.paths import missing_path
from training.errors import ConfigError, InputError, Problem
from training.models.transfer import unwrap
from training.runs.folder import RunFolder
from training.runs.records.manifest import MANIFEST, WEIGHTS, best_checkpoint, digest, verify
from training.system.untrusted import escape_unprintable, open_file
from training.typed_paths import parse_path

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and std of ImageNet's images, which torchvision's networks were trained with."""

_AVERAGED = "ema.safetensors"
_ARCHIVE, _INDEX, _PICKLE = b"PK\x03\x04", b"data.pkl", b"\x80"
"""How a file of torch.save begins: a ZIP archive whose first member is the index, formerly a pickle."""
_MOST_BYTES = 1 << 44


@dataclass(frozen=True)
class Weights:
    """``name`` is for the person, ``file`` and ``digest`` (SHA-256) say which they were. ``mean`` and ``std`` of the images
    they were trained with are empty where nobody knows. ``classes`` are those of their head, where that is known."""

    name: str
    file: Path
    digest: str
    tensors: Mapping[str, Tensor]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    classes: tuple[str, ...] | None = None


def read_weights(text: str) -> Weights:
    """The weights in a file, a checkpoint's folder or a run's folder (its best checkpoint).

    Raises InputError for what is no such thing. Nothing in a file is ever run.
    """
    path = parse_path(text).absolute()
    fault = missing_path(path, "any")
    if fault:
        raise ConfigError([Problem("model.weights", fault)])
    if path.is_dir():
        return _read_checkpoint(path if (path / MANIFEST).is_file() else _find_checkpoint(path))
    return Weights(path.name, path, digest(path), read_tensors(path))


def _find_checkpoint(folder: Path) -> Path:
    name = best_checkpoint(RunFolder(folder))
    if not name:
        raise InputError(
            f"model.weights: {escape_unprintable(str(folder))} is neither a checkpoint nor a run that has one; choose a file of "
            "weights or a checkpoint."
        )
    return folder / "checkpoints" / name


def _read_checkpoint(folder: Path) -> Weights:
    """Of one of our runs, averaged weights first; its manifest says what they are used with."""
    manifest = verify(folder)
    path = folder / (_AVERAGED if _AVERAGED in manifest.files else WEIGHTS)
    data, source = manifest.data, f"{folder.parent.parent.name}, {folder.name}"
    known = tuple(data.mean), tuple(data.std), tuple(data.names) or None
    return Weights(source, path, digest(path), read_tensors(path), *known)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of weights by name, on the CPU; raises InputError when it holds none."""
    shown, head = escape_unprintable(str(path)), b""
    try:
        with open_file(path, _MOST_BYTES) as file:  # neither library refuses pipes and devices
            head = file.read(512)
        if path.suffix == ".safetensors":
            return dict(load_file(path))
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # archives and pickles that are broken raise anything
        raise InputError(
            f"model.weights: {shown} is not a readable file of weights ({_explain(path, head, error)}); choose a .pth, .pt or "
            ".safetensors file that holds tensors only."
        ) from error
    tensors = unwrap(state)
    if not tensors:
        raise InputError(f"model.weights: {shown} holds no weights by name; choose a file with a network's state_dict.")
    odd = next((name for name, tensor in tensors.items() if not _is_plain(tensor)), None)
    if odd is not None:
        raise InputError(
            f"model.weights: {shown} holds {escape_unprintable(odd, 100)} in a form that cannot be taken over (sparse, quantized, complex or "
            "without values); choose a file whose tensors are plain numbers."
        )
    return tensors


def _is_plain(tensor: Tensor) -> bool:
    """Dense, real and with values."""
    odd = tensor.is_quantized or tensor.is_meta or tensor.is_complex() or tensor.is_nested or is_lazy(tensor)
    return tensor.layout == torch.strided and not odd


def _explain(path: Path, head: bytes, error: Exception) -> str:
    """Why the file, which begins with ``head``, cannot be read. What the libraries say of it means nothing to who chose another file by mistake."""
    if isinstance(error, OSError):
        return escape_unprintable(error.strerror or str(error), 120)
    if isinstance(error, MemoryError):
        return "it is too large for this computer's memory"
    if not head:
        return "it is empty"
    if path.suffix == ".safetensors":
        return "its content is not that of a safetensors file, or it is cut short"
    if head.startswith((_ARCHIVE, _PICKLE)) and ("weights_only" in str(error) or "Unsupported" in str(error)):
        return "it holds code or objects, not only tensors"
    if head.startswith(_PICKLE) or (head.startswith(_ARCHIVE) and _INDEX in head):
        return "it is damaged or cut short"
    if head[8:10] == b'{"':  # behind the length of the header
        return "it is a safetensors file, but its name does not end in .safetensors"
    return "it is no safetensors file, and torch.save did not write it"
