"""What a person's own Dataset is, before it is trained on: its parts, the form of its samples, their targets."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.config.sections.data.own_data import OwnDataSection
from training.core.own.samples import OddSample, target_kind, target_of
from training.core.splits import pick_evenly
from training.data.batching.resident import Notice
from training.data.batching.workers import Workers
from training.data.own.building import SPLITS
from training.data.own.drawing import Drawing, Form
from training.data.source import Opening, ReportProgress
from training.errors import InputError, pluralize
from training.facts import Target
from training.system.hardware import core_count
from training.system.untrusted import escape_unprintable

_PROBED = 16
"""Samples that are drawn twice, and whose content the fingerprint knows."""
_GLANCED = 4
"""The same, of a preview."""
_COMPARED = 64
"""Samples whose targets are compared with what the Dataset says of them."""
_FEW = 512
"""So many samples are all looked at."""
_PREVIEWED = 2000
"""Samples that a preview takes as all there are, where their targets are not at hand."""
_AT_ONCE = 32
_PATIENCE = 3.0  # seconds: longer than that, several processes look at the samples
_MOST_WORKERS = 8
_MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Survey:
    """``targets`` as ``Source`` has them, of masks none; ``highest`` int64 (N,) the highest class in each mask, empty where none was
    looked at."""

    targets: Tensor
    classes: tuple[str, ...]
    highest: Tensor
    notes: tuple[str, ...]
    fingerprint: str


class _Targets:
    """Reads targets alone, in whatever process."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def read(self, indices: Tensor) -> Tensor:
        """(n, ...): int64 classes, float32 labels or values; of masks int64 (n,) the highest class."""
        named = [self._drawing.locate(int(number)) for number in indices]
        values = self._drawing.values(named, 0)
        found = []
        for value, place in zip(values, named, strict=True):
            _, target = self._drawing.single(value, *place)
            if target.dtype == torch.uint8:
                known = target[target != 255]
                target = known.max().long() if known.numel() else torch.tensor(0)
            found.append(target)
        return torch.stack(found)

    def take_notices(self) -> list[Notice]:
        return []


def survey(drawing: Drawing, dataset: OwnDataSection, opening: Opening) -> Survey:
    """Look at the Dataset, and let ``drawing`` know what it found. Raises InputError, in one sentence, for what cannot be trained
    on, or not be repeated."""
    opening.report_progress("opening the Dataset", None)
    notes = []
    for split in SPLITS:
        made = drawing.dataset(split)
        if made is not None:
            drawing.lengths[split] = len(made)
            drawing.places[split] = torch.arange(len(made))
    named = _names(drawing)
    drawing.form = _form(drawing, dataset.task, named)  # type: ignore[attr-defined]  # both kinds have one
    told = _collect_targets(drawing, opening)
    if told is None and not opening.check and drawing.count > _PREVIEWED:
        notes.append(f"the preview looks at {_PREVIEWED:,} of {drawing.count:,} samples")
        share = _PREVIEWED / drawing.count
        for split, places in drawing.places.items():
            drawing.places[split] = pick_evenly(places, max(2, round(share * len(places))))
    probes = _refuse_other_draws(drawing, dataset, _PROBED if opening.check else _GLANCED)
    targets = _read_targets(drawing, opening) if told is None else told
    target, classes = drawing.form.target, drawing.form.classes
    highest = torch.zeros(0, dtype=torch.int64)
    if target == "mask":
        targets, highest = torch.empty(len(targets), 0), targets
    if not classes:
        classes = _count_names(drawing, target, targets, highest)
        drawing.form = replace(drawing.form, classes=classes)
    counts = ", ".join(f"{len(places):,} {split}" for split, places in drawing.places.items())
    notes.insert(0, f"read {counts} samples from {escape_unprintable(drawing.path, 300)}")
    if drawing.collate is not None:
        notes.append("batches are made by the file's own collate_fn, and inputs stay as it makes them")
    return Survey(targets, classes, highest, tuple(notes), _fingerprint(drawing, targets, probes))


def _names(drawing: Drawing) -> tuple[str, ...]:
    """Of the classes or labels, where the Dataset says them in ``classes``, as torchvision's do."""
    given = getattr(drawing.dataset("train"), "classes", None)
    if given is None or callable(given):
        return ()
    if (
        not isinstance(given, list | tuple)
        or not all(isinstance(name, str) for name in given)
        or len(set(given)) < len(given)
    ):
        raise InputError(
            f"{escape_unprintable(drawing.path)}: classes of the train Dataset must be a list of different names; correct it, or leave it out."
        )
    return tuple(given)


def _form(drawing: Drawing, task: str, named: tuple[str, ...]) -> Form:
    """By the first sample that trains."""
    value = drawing.values([("train", 0)], 0)[0]
    inputs, given = drawing.raw_single(value, "train", 0)
    try:
        found: Target = target_kind(given, tuple(inputs.shape[:2]) if drawing.image else None)
        target: Target = found if task == "auto" else task  # type: ignore[assignment]  # the setting's own choices
        classes = named if target in ("class", "mask", "labels") else ()
        sample = target_of(given, target, classes)
        if target == "mask" and tuple(sample.shape) != tuple(inputs.shape[:2]):
            raise OddSample(f"has a mask of {' x '.join(map(str, sample.shape))}; return one of its image's size")
        if target == "labels" and classes and len(classes) != len(sample):
            raise OddSample(
                f"has {len(sample)} labels, but the Dataset has {pluralize(len(classes), 'name')} in its classes"
            )
    except OddSample as odd:
        raise drawing.refusal(odd, "train", 0) from odd
    return Form(tuple(inputs.shape), inputs.dtype, target, tuple(sample.shape), classes)


def _collect_targets(drawing: Drawing, opening: Opening) -> Tensor | None:
    """What the Datasets themselves say in ``targets``, as torchvision's do, where that is true of all samples that are compared. None for
    few samples, which are better looked at."""
    form = drawing.form
    assert form is not None
    if form.target == "mask" or (drawing.count <= _FEW and opening.check):
        return None
    parts = []
    for split in drawing.places:
        try:
            given = getattr(drawing.dataset(split), "targets", None)
            rows = torch.as_tensor(np.asarray(given))
        except (TypeError, ValueError, RuntimeError):
            return None
        if given is None or rows.dim() == 0 or len(rows) != drawing.lengths[split] or rows.is_complex():
            return None
        dtype = torch.int64 if form.target == "class" else torch.float32
        if form.target == "class" and rows.is_floating_point():
            return None
        rows = rows.to(dtype)
        rows = rows.unsqueeze(1) if form.target_shape and rows.dim() == 1 else rows
        if tuple(rows.shape[1:]) != form.target_shape:
            return None
        for index in pick_evenly(torch.arange(len(rows)), _COMPARED).tolist():
            value = drawing.values([(split, index)], 0)[0]
            if not torch.equal(drawing.single(value, split, index)[1], rows[index]):
                return None
        parts.append(rows)
    joined = torch.cat(parts)
    low, high = float(joined.min()), float(joined.max())
    odd = form.target == "class" and (low < 0 or (form.classes and high >= len(form.classes)))
    return None if odd or not np.isfinite([low, high]).all() else joined


def _refuse_other_draws(drawing: Drawing, dataset: OwnDataSection, most: int) -> dict[str, list[str]]:
    """A sample that is drawn again with the same random numbers has to be the same: else no run could be repeated. The digests of up to
    ``most`` samples of each split."""
    found = {}
    for split, places in drawing.places.items():
        some = pick_evenly(places, most).tolist()
        digests = found[split] = [drawing.digest(split, index) for index in some]
        drawing.probes[split] = some[0], digests[0]
        again = [drawing.digest(split, index) for index in reversed(some)][::-1]
        for index, first, second in zip(some, digests, again, strict=True):
            if first != second:
                raise InputError(
                    f"{escape_unprintable(drawing.path)}: sample {index} of {split} is another one when it is asked for again, though torch's, "
                    "Python's and NumPy's random numbers are the same; draw from those, not from a generator of its own, and keep "
                    "nothing from one sample to the next."
                )
        if not dataset.random_samples:
            for index, first in zip(some, digests, strict=True):
                value = drawing.values([(split, index)], 1)[0]
                inputs, target = drawing.single(value, split, index)
                if hashlib.sha256(inputs.numpy().tobytes() + target.numpy().tobytes()).hexdigest() != first:
                    raise InputError(
                        f"dataset.random_samples: sample {index} of {split} draws random numbers, so samples are not always the same; switch "
                        "this on.",
                        fix={"dataset.random_samples": True},
                    )
    return found


def _read_targets(drawing: Drawing, opening: Opening) -> Tensor:
    """Of all samples, each of which is looked at."""
    numbers = torch.arange(drawing.count)
    reader, parts = _Targets(drawing), []
    began, done = time.perf_counter(), 0
    bounds = [(first, min(first + _AT_ONCE, len(numbers))) for first in range(0, len(numbers), _AT_ONCE)]
    for place, (first, end) in enumerate(bounds):
        parts.append(reader.read(numbers[first:end]))
        done = end
        left = (time.perf_counter() - began) / done * (len(numbers) - done)
        count = _workers(opening, left)
        if count:
            parts += _by_workers(reader, count, numbers, bounds[place + 1 :], opening.report_progress)
            break
        opening.report_progress("looking at the samples", min(done / len(numbers), 0.99))
    return torch.cat(parts)


def _workers(opening: Opening, left: float) -> int:
    """How many processes shall look at what takes so many seconds in this one; 0 for none."""
    if left < _PATIENCE or not opening.check:
        return 0
    if opening.workers is not None:
        return opening.workers
    return min(core_count() - 1, _MOST_WORKERS) if core_count() >= 4 else 0


def _by_workers(
    reader: _Targets, count: int, numbers: Tensor, bounds: list[tuple[int, int]], report_progress: ReportProgress
) -> list[Tensor]:
    workers: Workers[Tensor] = Workers(reader, count, False, lambda notice: None, lambda notices: None)
    parts = []
    try:
        for (_, end), found in zip(bounds, workers.batches(numbers, bounds), strict=True):
            parts.append(found.clone())
            report_progress("looking at the samples", min(end / len(numbers), 0.99))
    finally:
        workers.close()
    return parts


def _count_names(drawing: Drawing, target: Target, targets: Tensor, highest: Tensor) -> tuple[str, ...]:
    if target in ("labels", "values"):
        word = "label" if target == "labels" else "value"
        return tuple(f"{word} {number}" for number in range(1, targets.shape[1] + 1))
    found = highest if target == "mask" else targets
    most = int(found.max())
    if most >= _MOST_CLASSES:
        raise drawing.refusal(
            OddSample(f"is of class {most:,}, which is too many; return float targets, or set dataset.task to values"),
            *drawing.locate(int(found.argmax())),
        )
    return tuple(map(str, range(max(2 if target == "mask" else 1, most + 1))))


def _fingerprint(drawing: Drawing, targets: Tensor, probes: dict[str, list[str]]) -> str:
    """Of the file, what it was called with, how many samples it gives, their targets and what some of them hold."""
    told: dict[str, Any] = {
        "file": drawing.signature.digest,
        "arguments": drawing.arguments,
        "lengths": drawing.lengths,
        "classes": drawing.form.classes if drawing.form else (),
        "samples": probes,
    }
    whole = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    whole.update(targets.numpy().tobytes())
    return whole.hexdigest()
