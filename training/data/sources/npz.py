"""``npz`` and ``npz_pictures``: the arrays of a NumPy archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.data.arrays.npz_file import NpzFile
from training.data.class_choice import choose_classes, require_class_target
from training.data.source import Opening, Source, gather_rows, number_parts
from training.data.tables.targets import require_trained_classes
from training.errors import InputError, LabelRangeError, NonFiniteError
from training.facts import IGNORED_PIXEL, Target
from training.system.untrusted import escape_unprintable

_PARTS = {"train": ("train",), "validation": ("val", "valid", "validation"), "test": ("test",)}
_CHANNELS = (1, 3, 4)
_MOST_CLASSES = 1000
"""Whole numbers of more different values are refused as classes: they are amounts."""
_AT_ONCE = 1 << 20
"""Numbers that are looked at together."""


class Part(NamedTuple):
    """Inputs and targets of one part, and what their arrays are called in the file."""

    name: str
    inputs: NDArray[Any]
    targets: NDArray[Any]
    arrays: tuple[str, str]


Parts = list[Part]


@dataclass(kw_only=True, eq=False)
class Arrays(Source):
    """Samples of up to three parts, one behind the other; ``inputs`` are vectors (n, F), or uint8 images (n, H, W, C) with
    ``masks`` (n, H, W) if those are to be learned, and of each the ``highest`` class, int64 (N,)."""

    inputs: list[NDArray[Any]]
    masks: list[NDArray[Any]]
    highest: Tensor
    kept: NDArray[np.int64] | None = None
    """The rows of the samples, where some classes are left out; None: all."""

    def fit(self, train: Tensor) -> Self:
        if self.target == "class":
            require_trained_classes(self.classes, self.targets, train)
        if self.target == "mask":
            trained, found = int(self.highest[train].max()), int(self.highest.max())
            if found > max(1, trained):
                raise LabelRangeError(
                    f"dataset.targets: class {found} is in held-out masks only; those of the training part go up to "
                    f"{trained}.",
                    f"Add samples of it to the training part, or set those pixels to {IGNORED_PIXEL}, which leaves them out.",
                )
        return self

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, F), or uint8 (n, H, W, C), with the mask as one channel more."""
        rows = indices.numpy() if self.kept is None else self.kept[indices.numpy()]
        samples = gather_rows(self.inputs, rows)
        if self.masks:
            samples = np.concatenate([samples, gather_rows(self.masks, rows)[..., None]], axis=-1)
        return torch.from_numpy(samples if self.layout == "image" else _float32(samples))

    def name(self, index: int) -> str:
        return super().name(index if self.kept is None else int(self.kept[index]))


def open_npz(dataset: NpzDataset, opening: Opening) -> Arrays:
    file, parts = open_parts(dataset, opening)
    for number, part in enumerate(parts):
        inputs = part.inputs
        if inputs.ndim < 2 or inputs.dtype.kind not in "fiub":
            raise InputError(
                f"dataset.inputs: holds {inputs.dtype} and has the shape {_words(inputs)}; rows of numbers (N, F) are needed."
            )
        parts[number] = part._replace(inputs=inputs.reshape(len(inputs), -1))
    return _arrays(dataset, parts, file, opening)


def open_npz_images(dataset: NpzImagesDataset, opening: Opening) -> Arrays:
    file, parts = open_parts(dataset, opening)
    for number, part in enumerate(parts):
        if part.inputs.dtype != np.uint8:
            raise InputError(
                f"dataset.inputs: holds {part.inputs.dtype}, but images are whole numbers from 0 to 255; save them as uint8."
            )
        parts[number] = part._replace(inputs=_channels_last(part.inputs))
    return _arrays(dataset, parts, file, opening)


def open_parts(dataset: NpzDataset | NpzImagesDataset, opening: Opening) -> tuple[Path, Parts]:
    """The file, and the arrays of each of its parts."""
    path = Path(dataset.path)
    opening.report_progress(f"reading {path.name}", None)
    file = NpzFile(path)
    known = file.names
    wanted: dict[str, tuple[str, str]] = {}
    if dataset.inputs in known:
        wanted["train"] = dataset.inputs, dataset.targets
    inputs_stem, targets_stem = dataset.inputs.removesuffix("_train"), dataset.targets.removesuffix("_train")
    for name, endings in _PARTS.items():
        names = [(f"{inputs_stem}_{end}", f"{targets_stem}_{end}") for end in endings]
        found = next((both for both in names if both[0] in known), None)
        if found:
            wanted.setdefault(name, found)
    if "train" not in wanted:
        file.array(dataset.inputs)  # says which arrays there are
    parts = [Part(name, file.array(both[0]), file.array(both[1]), both) for name, both in wanted.items()]
    for name, inputs, targets, both in parts:
        for setting, array, called in zip(("inputs", "targets"), (inputs, targets), both, strict=True):
            if not array.size:
                raise InputError(
                    f"dataset.{setting}: array '{escape_unprintable(called, 60)}' has the shape {_words(array)}, so it holds nothing.",
                    "Choose another array, or leave it out of the file.",
                )
        if not inputs.ndim or not targets.ndim or len(inputs) != len(targets):
            raise InputError(
                f"dataset.targets: the {name} part has inputs {_words(inputs)} and targets {_words(targets)}; one target is "
                "needed for each sample."
            )
    if len({part.inputs.shape[1:] for part in parts}) > 1 or len({part.targets.shape[1:] for part in parts}) > 1:
        raise InputError("dataset.inputs: the parts differ in the shape of their samples or targets; use one shape.")
    return path, parts


def _channels_last(images: NDArray[Any]) -> NDArray[Any]:
    """(N, H, W, C) of (N, H, W), (N, H, W, C) or (N, C, H, W)."""
    if images.ndim == 3:
        return images[..., None]
    if images.ndim == 4 and images.shape[3] in _CHANNELS:
        return images
    if images.ndim == 4 and images.shape[1] in _CHANNELS:
        return images.transpose(0, 2, 3, 1)
    raise InputError(
        f"dataset.inputs: has the shape {_words(images)}; images are (N, H, W), (N, H, W, C) or (N, C, H, W) with 1, 3 or "
        "4 channels."
    )


def _arrays(dataset: NpzDataset | NpzImagesDataset, parts: Parts, path: Path, opening: Opening) -> Arrays:
    joined = [part.targets for part in parts]
    target = _target(dataset.task, joined, parts[0].inputs.shape[1:3] if parts[0].inputs.ndim == 4 else None)
    notes = [f"read {', '.join(f'{len(part.inputs):,} of part {part.name}' for part in parts)} in {path.name}"]
    highest = torch.zeros(0, dtype=torch.int64)
    if target == "mask":
        highest = torch.from_numpy(np.concatenate([_highest(each) for each in joined]))
        names = tuple(str(number) for number in range(max(2, int(highest.max()) + 1)))
        targets = torch.empty(len(highest), 0)
    else:
        names, targets = _values(parts, target)
    require_class_target(dataset, target)
    numbers = number_parts({part.name: len(part.inputs) for part in parts})
    choice = choose_classes(dataset, names, targets, numbers) if target == "class" else None
    if choice is not None:
        names, targets, numbers = choice.names, choice.targets, choice.parts
        notes.append(choice.note)
    digest, gaps = "", False
    if opening.check:
        gapped = [_has_gaps(part) for part in parts]  # a list: every part is looked through
        gaps = any(gapped)
        if gaps:
            notes.append("numbers that are missing (NaN) become the mean of the training samples")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    inputs = [part.inputs for part in parts]
    shape = inputs[0].shape[1:]
    return Arrays(
        layout="vector" if len(shape) == 1 else "image",
        target=target,
        classes=names,
        shape=shape if len(shape) == 1 else (shape[2], *shape[:2]),
        targets=targets,
        gaps=gaps,
        parts=numbers,
        notes=tuple(notes),
        fingerprint=digest if choice is None else choice.digest(digest),
        class_choices=() if choice is None else choice.choices,
        inputs=inputs,
        masks=joined if target == "mask" else [],
        highest=highest,
        kept=None if choice is None else choice.samples.numpy(),
    )


def _has_gaps(part: Part) -> bool:
    """Whether NaN is among the inputs. Raises InputError for an infinite number, and for one that float32 cannot hold."""
    if part.inputs.dtype.kind != "f":
        return False
    gaps = False
    for first, rows in _pieces(part.inputs):
        values = _float32(rows)
        row = _first_row(np.isinf(values))
        if row is not None:
            raise NonFiniteError(
                f"dataset.inputs: array '{escape_unprintable(part.arrays[0], 60)}' holds a number that is infinite or too large for "
                f"float32 in row {first + row:,}, counted from 0.",
                "Correct it, save NaN where it is not known, or leave that sample out.",
            )
        gaps = gaps or bool(np.isnan(values).any())
    return gaps


def _highest(masks: NDArray[np.uint8]) -> NDArray[np.int64]:
    """int64 (n,): the highest class in each mask, 0 in one that is ignored everywhere."""
    found = [
        np.where(rows == IGNORED_PIXEL, 0, rows).reshape(len(rows), -1).max(axis=1).astype(np.int64)
        for _, rows in _pieces(masks)
    ]
    return np.concatenate(found)


def _target(task: str, parts: list[NDArray[Any]], sides: tuple[int, ...] | None) -> Target:
    first = parts[0]
    odd = next((part for part in parts if part.shape[1:] != sides or part.dtype != np.uint8), None)
    as_mask = sides is not None and odd is None
    if task == "mask" or (task == "auto" and as_mask):
        if odd is not None or not as_mask:
            wrong = first if odd is None else odd
            raise InputError(
                f"dataset.targets: {_words(wrong)} {wrong.dtype}; a mask is uint8 (N, H, W), as its image."
            )
        return "mask"
    if first.dtype.kind not in "fiubU" or first.ndim > 2:
        raise InputError(
            f"dataset.targets: holds {first.dtype} of the shape {_words(first)}; numbers or text are needed."
        )
    single = first.ndim == 1 or first.shape[1] == 1
    if task != "auto":
        return task  # type: ignore[return-value]  # the setting's own choices
    if single and first.dtype.kind in "iubU":
        return "class"
    if not single and first.dtype.kind in "iub" and all(bool(((part == 0) | (part == 1)).all()) for part in parts):
        return "labels"
    return "values"


def _values(parts: Parts, target: Target) -> tuple[tuple[str, ...], Tensor]:
    targets = np.concatenate([np.asarray(part.targets) for part in parts])
    if target == "class":
        flat = targets.reshape(len(targets), -1)
        if flat.shape[1] != 1 or flat.dtype.kind == "f":
            raise InputError(
                f"dataset.targets: {_words(targets)} {targets.dtype}; a class is one whole number or text."
            )
        known, numbers = np.unique(flat[:, 0], return_inverse=True)
        if len(known) > _MOST_CLASSES:
            raise InputError(
                f"dataset.targets: holds {len(known):,} different values, too many to be classes; set dataset.task to values.",
                fix={"dataset.task": "values"},
            )
        classes = [
            str(value).encode("utf-8", "backslashreplace").decode() for value in known.tolist()
        ]  # halves of letters
        return tuple(classes), torch.from_numpy(numbers.astype(np.int64))
    if targets.dtype.kind == "U":
        raise InputError(
            "dataset.targets: holds text, which is no number; set dataset.task to class.", fix={"dataset.task": "class"}
        )
    values = _float32(targets.reshape(len(targets), -1))
    row = _first_row(~np.isfinite(values))
    if row is not None:
        for part in parts:
            if row < len(part.targets):
                break
            row -= len(part.targets)
        raise NonFiniteError(
            f"dataset.targets: array '{escape_unprintable(part.arrays[1], 60)}' holds a number that is missing or infinite, or too large "
            f"for float32, in row {row:,}, counted from 0; correct it, or leave that sample out."
        )
    if target == "labels" and not ((values == 0) | (values == 1)).all():
        raise LabelRangeError(
            "dataset.targets: labels are 0 or 1; set dataset.task to values.", fix={"dataset.task": "values"}
        )
    word = "label" if target == "labels" else "value"
    names = tuple(f"{word} {number}" for number in range(1, values.shape[1] + 1))
    return names, torch.from_numpy(values)


def _pieces(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """The rows, some at a time, each time with the number of the first: a mapped array need not fit into memory."""
    some = max(1, _AT_ONCE // max(1, array[0].size))
    for first in range(0, len(array), some):
        yield first, array[first : first + some]


def _first_row(wrong: NDArray[np.bool_]) -> int | None:
    """The first row of (n, F) with something wrong."""
    rows = wrong.any(axis=1)
    return int(rows.argmax()) if rows.any() else None


def _float32(numbers: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        return numbers.astype(np.float32, copy=False)


def _words(array: NDArray[Any]) -> str:
    return f"({', '.join(map(str, array.shape))})"
