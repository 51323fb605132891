"""``npz`` and ``npz_pictures``: the arrays of a NumPy archive."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.npz import NpzDataset, NpzPicturesDataset
from training.data.npz_file import NpzFile
from training.data.source import AtHand, Opening, Skipped
from training.data.sources.table import require_trained_classes
from training.errors import InputError
from training.facts import IGNORED_PIXEL, Layout, Target

_PARTS = {"train": ("train",), "validation": ("val", "valid", "validation"), "test": ("test",)}
_CHANNELS = (1, 3, 4)
_MOST_CLASSES = 1000
"""Whole numbers of more different values are refused as classes: they are amounts."""

Pairs = list[tuple[str, NDArray[Any], NDArray[Any]]]
"""Of each part its name, inputs and targets."""


class Arrays(AtHand):
    """Samples of up to three parts, one behind the other; ``inputs`` are vectors (n, F), or uint8 pictures (n, H, W, C) with
    ``masks`` (n, H, W) if those are to be learnt."""

    def __init__(
        self, pairs: Pairs, target: Target, names: tuple[str, ...], targets: Tensor, notes: list[str], fingerprint: str
    ) -> None:
        self._inputs = [inputs for _, inputs, _ in pairs]
        self._masks = [masks for _, _, masks in pairs] if target == "mask" else []
        shape = self._inputs[0].shape[1:]
        self.layout: Layout = "vector" if len(shape) == 1 else "image"
        self.shape = shape if len(shape) == 1 else (shape[2], *shape[:2])
        self.target: Target = target
        self.classes = names
        self.targets = targets
        self.parts: dict[str, Tensor] = {}
        self.skipped: tuple[Skipped, ...] = ()
        self.notes = tuple(notes)
        self.fingerprint = fingerprint
        total = 0
        for part, inputs, _ in pairs:
            self.parts[part] = torch.arange(total, total + len(inputs))
            total += len(inputs)

    def fit(self, train: Tensor) -> Self:
        if self.target == "class":
            require_trained_classes(self.classes, self.targets, train)
        return self

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, F), or uint8 (n, H, W, C), with the mask as one channel more."""
        samples = _rows(self._inputs, indices.numpy())
        if self._masks:
            samples = np.concatenate([samples, _rows(self._masks, indices.numpy())[..., None]], axis=-1)
        return torch.from_numpy(samples if self.layout == "image" else samples.astype(np.float32, copy=False))

    def name(self, index: int) -> str:
        return f"sample {index}"

    def take(self) -> Tensor:
        return self.read(torch.arange(len(self.targets)))


def open_npz(dataset: NpzDataset, opening: Opening) -> Arrays:
    file, pairs = _open(dataset, opening)
    for number, (part, inputs, targets) in enumerate(pairs):
        if inputs.ndim < 2 or inputs.dtype.kind not in "fiub":
            raise InputError(f"dataset.inputs: has the shape {_words(inputs)}; rows of numbers (N, F) are needed.")
        pairs[number] = part, inputs.reshape(len(inputs), -1), targets
    return _arrays(dataset.task, pairs, file, opening)


def open_npz_pictures(dataset: NpzPicturesDataset, opening: Opening) -> Arrays:
    file, pairs = _open(dataset, opening)
    for number, (part, inputs, targets) in enumerate(pairs):
        if inputs.dtype != np.uint8:
            raise InputError(
                f"dataset.inputs: holds {inputs.dtype}, but pictures are whole numbers from 0 to 255; save them as uint8."
            )
        pairs[number] = part, _channels_last(inputs), targets
    return _arrays(dataset.task, pairs, file, opening)


def _open(dataset: NpzDataset | NpzPicturesDataset, opening: Opening) -> tuple[Path, Pairs]:
    path = Path(dataset.path)
    opening.report_progress(f"reading {path.name}", None)
    file = NpzFile(path)
    pairs: Pairs = []
    known = file.names
    if dataset.inputs in known:
        pairs.append(("train", file.array(dataset.inputs), file.array(dataset.targets)))
    inputs_stem, targets_stem = dataset.inputs.removesuffix("_train"), dataset.targets.removesuffix("_train")
    for part, endings in _PARTS.items():
        names = [(f"{inputs_stem}_{end}", f"{targets_stem}_{end}") for end in endings]
        found = next((both for both in names if both[0] in known), None)
        if found and part not in [each[0] for each in pairs]:
            pairs.append((part, file.array(found[0]), file.array(found[1])))
    if not pairs or pairs[0][0] != "train":
        file.array(dataset.inputs)  # says which arrays there are
    for part, inputs, targets in pairs:
        if not inputs.ndim or not targets.ndim or len(inputs) != len(targets):
            raise InputError(
                f"dataset.targets: the {part} part has inputs {_words(inputs)} and targets {_words(targets)}; one target is "
                "needed for each sample."
            )
    if len({inputs.shape[1:] for _, inputs, _ in pairs}) > 1 or len({targets.shape[1:] for _, _, targets in pairs}) > 1:
        raise InputError("dataset.inputs: the parts differ in the shape of their samples or targets; use one shape.")
    return path, pairs


def _channels_last(pictures: NDArray[Any]) -> NDArray[Any]:
    """(N, H, W, C) of (N, H, W), (N, H, W, C) or (N, C, H, W)."""
    if pictures.ndim == 3:
        return pictures[..., None]
    if pictures.ndim == 4 and pictures.shape[3] in _CHANNELS:
        return pictures
    if pictures.ndim == 4 and pictures.shape[1] in _CHANNELS:
        return pictures.transpose(0, 2, 3, 1)
    raise InputError(
        f"dataset.inputs: has the shape {_words(pictures)}; pictures are (N, H, W), (N, H, W, C) or (N, C, H, W) with 1, 3 or "
        "4 channels."
    )


def _arrays(task: str, pairs: Pairs, path: Path, opening: Opening) -> Arrays:
    joined = [targets for _, _, targets in pairs]
    found, pixels = _target(task, joined, pairs[0][1].shape[1:3] if pairs[0][1].ndim == 4 else None)
    notes = [f"read {', '.join(f'{len(inputs):,} of part {part}' for part, inputs, _ in pairs)} in {path.name}"]
    if found == "mask":
        names = tuple(str(number) for number in range(pixels))
        targets = torch.empty(sum(map(len, joined)), 0)
    else:
        names, targets = _values(np.concatenate([np.asarray(each) for each in joined]), found)
    digest = ""
    if opening.check:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Arrays(pairs, found, names, targets, notes, digest)


def _target(task: str, parts: list[NDArray[Any]], sides: tuple[int, ...] | None) -> tuple[Target, int]:
    """What the targets are, and of masks the number of classes."""
    first = parts[0]
    as_mask = sides is not None and first.shape[1:] == sides and first.dtype == np.uint8
    if task == "mask" or (task == "auto" and as_mask):
        if not as_mask:
            raise InputError(
                f"dataset.targets: {_words(first)} {first.dtype}; a mask is uint8 (N, H, W), as its picture."
            )
        most = max(int(np.where(part == IGNORED_PIXEL, 0, part).max()) for part in parts)
        return "mask", max(2, most + 1)
    if first.dtype.kind not in "fiubU" or first.ndim > 2:
        raise InputError(
            f"dataset.targets: holds {first.dtype} of the shape {_words(first)}; numbers or text are needed."
        )
    single = first.ndim == 1 or first.shape[1] == 1
    if task != "auto":
        return task, 0  # type: ignore[return-value]  # the setting's own choices
    if single and first.dtype.kind in "iubU":
        return "class", 0
    if not single and first.dtype.kind in "iub" and all(bool(((part == 0) | (part == 1)).all()) for part in parts):
        return "labels", 0
    return "values", 0


def _values(targets: NDArray[Any], target: Target) -> tuple[tuple[str, ...], Tensor]:
    if target == "class":
        flat = targets.reshape(len(targets), -1)
        if flat.shape[1] != 1 or flat.dtype.kind == "f":
            raise InputError(
                f"dataset.targets: {_words(targets)} {targets.dtype}; a class is one whole number or text."
            )
        known, numbers = np.unique(flat[:, 0], return_inverse=True)
        if len(known) > _MOST_CLASSES:
            raise InputError(
                f"dataset.targets: holds {len(known):,} different values, too many to be classes; set dataset.task to values."
            )
        return tuple(str(value) for value in known.tolist()), torch.from_numpy(numbers.astype(np.int64))
    if targets.dtype.kind == "U":
        raise InputError("dataset.targets: holds text, which is no number; set dataset.task to class.")
    values = targets.reshape(len(targets), -1).astype(np.float32)
    if not np.isfinite(values).all():
        raise InputError("dataset.targets: holds a number that is missing or infinite; leave that sample out.")
    if target == "labels" and not ((values == 0) | (values == 1)).all():
        raise InputError("dataset.targets: labels are 0 or 1; set dataset.task to values.")
    word = "label" if target == "labels" else "value"
    names = tuple(f"{word} {number}" for number in range(1, values.shape[1] + 1))
    return names, torch.from_numpy(values)


def _rows(parts: list[NDArray[Any]], indices: NDArray[np.int64]) -> NDArray[Any]:
    """The samples of those numbers, counted through all parts."""
    made = np.empty((len(indices), *parts[0].shape[1:]), parts[0].dtype)
    start = 0
    for part in parts:
        here = (indices >= start) & (indices < start + len(part))
        made[here] = part[indices[here] - start]
        start += len(part)
    return made


def _words(array: NDArray[Any]) -> str:
    return f"({', '.join(map(str, array.shape))})"
