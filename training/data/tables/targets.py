"""What is known of the targets, from the training samples alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from training.data.source import Source
from training.errors import InputError, LabelRangeError, NonFiniteError, list_first
from training.facts import IGNORED_PIXEL, DataFacts
from training.system.untrusted import escape_unprintable

_COUNTED = 4096
"""Samples at most whose mask or tokens are counted, evenly spaced: each has thousands of places."""
_AT_ONCE = 64


def source_facts(source: Source) -> DataFacts:
    """What ``source`` says of itself, before its samples were split."""
    return DataFacts(
        layout=source.layout,
        shape=tuple(source.shape),
        target=source.target,
        names=source.classes,
        columns=source.columns,
        categories=source.categories,
        codes=source.codes,
        ranges=source.ranges,
        target_classes=source.target_classes,
        table=source.table,
        vocabulary=source.vocabulary,
        merges=source.merges,
    )


def target_facts(source: Source, train: Tensor, read: Callable[[Tensor], Tensor] | None) -> DataFacts:
    """``source_facts`` with the statistics of the samples ``train`` (int64), read by ``read`` as a Source does; None: what
    would have to be read is left out. Raises InputError when the mean or spread of a value to predict is no finite number."""
    facts = replace(source_facts(source), samples=len(train))
    targets = source.targets[train]
    if facts.target == "class":
        return replace(facts, counts=tuple(torch.bincount(targets, minlength=len(facts.names)).tolist()))
    if facts.target == "labels":
        return replace(facts, counts=tuple(int(count) for count in targets.sum(0).tolist()))
    if facts.target in ("values", "tasks"):
        values = targets.numpy().astype(np.float64)
        with np.errstate(invalid="ignore"):  # an infinite number minus itself
            mean, std = values.mean(axis=0), values.std(axis=0)
        for name, numbers in zip(facts.names, zip(mean, std, strict=True), strict=True):
            if not np.isfinite(numbers).all():
                raise NonFiniteError(
                    f"dataset.targets: '{escape_unprintable(name, 60)}' has no finite mean and std in the training samples, so some "
                    "value of it is missing, infinite or too large.",
                    "Correct the value, or leave its sample out.",
                )
        classes = np.array([bool(each) for each in facts.target_classes] or [False] * len(facts.names))
        mean[classes], std[classes] = 0.0, 1.0
        std[std <= 1e-9 * np.maximum(1e-9, np.abs(mean))] = 1.0  # a value that never changes
        counts = tuple(
            tuple(np.bincount(column.astype(np.int64), minlength=len(own)).tolist()) if own else ()
            for own, column in zip(facts.target_classes, values.T, strict=False)
        )
        known = replace(facts, target_mean=tuple(mean.tolist()), target_std=tuple(std.tolist()))
        return replace(known, target_counts=counts)
    if facts.dense and read is not None:
        return replace(facts, counts=_count_places(facts, train, read))
    return facts


def require_trained_classes(names: tuple[str, ...], targets: Tensor, train: Tensor) -> None:
    """Raise InputError when a class has no training sample, or there is only one."""
    if len(names) < 2:
        raise InputError(f"The target has one class only ({names[0]}); a classifier needs at least two.")
    trained, any_part = (torch.bincount(each, minlength=len(names)).tolist() for each in (targets[train], targets))
    empty = [name for name, count in zip(names, any_part, strict=True) if not count]
    if empty:  # a table's or a folder's names are those of its samples; a person's own Dataset may skip numbers
        raise LabelRangeError(
            f"No sample belongs to class {list_first(empty[:3], len(empty))}.",
            "Add samples of it, or number the classes from 0 on without gaps.",
        )
    absent = [name for name, count in zip(names, trained, strict=True) if not count]
    if absent:
        raise LabelRangeError(
            f"No training sample belongs to class {list_first(absent[:3], len(absent))}, which only held-out samples have.",
            "Add samples of it to the training part, or remove it.",
        )


def refuse_nothing_to_learn(facts: DataFacts, targets: Tensor) -> None:
    """Raise InputError where ``targets``, those of the training samples, or the masks that were looked at for ``facts`` say
    nothing that a loss could be made of."""
    if facts.target == "mask" and facts.counts and not any(facts.counts):
        raise InputError(
            "All pixels of the training masks are ignored, so there is nothing to learn.",
            "Look at the masks, at the value that is ignored (255, and dataset.ignore_index where there is one), and at the "
            "class list.",
        )
    if facts.target in ("values", "tasks") and len(targets) > 1 and bool((targets == targets[0]).all()):
        raise InputError(
            f"dataset.targets: every training sample has the same {escape_unprintable(', '.join(facts.names), 60)}, so there is nothing to "
            "learn.",
            "Choose another column, or add samples that differ.",
        )
    if facts.target == "ranks":
        highest = targets.nan_to_num(nan=-math.inf).amax(1)
        lowest = targets.nan_to_num(nan=math.inf).amin(1)
        if not bool((highest > lowest).any()):
            raise InputError(
                f"No training query has two items of different rank in {escape_unprintable(facts.names[0])}, so there is no order to learn.",
                "Choose another column as dataset.targets or as dataset.query_column, or add queries whose items differ.",
            )


def _count_places(facts: DataFacts, train: Tensor, read: Callable[[Tensor], Tensor]) -> tuple[int, ...]:
    """How often each class or token stands in the training samples that are looked at."""
    size = max(len(facts.names), IGNORED_PIXEL + 1)
    counts = torch.zeros(size, dtype=torch.int64)
    some = train[torch.arange(min(len(train), _COUNTED)) * len(train) // min(len(train), _COUNTED)]
    for indices in some.split(_AT_ONCE):
        samples = read(indices)
        places = samples[..., -1] if facts.target == "mask" else samples[:, 1:]
        counts += torch.bincount(places.reshape(-1).long(), minlength=size)
    return tuple(counts[: len(facts.names)].tolist())
