"""What is known of the targets, from the training samples alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from training.data.source import Source
from training.facts import IGNORED_PIXEL, DataFacts

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
        vocabulary=source.vocabulary,
        merges=source.merges,
    )


def target_facts(source: Source, train: Tensor, read: Callable[[Tensor], Tensor] | None) -> DataFacts:
    """``source_facts`` with the statistics of the samples ``train`` (int64), read by ``read`` as a Source does; None: what
    would have to be read is left out."""
    facts = replace(source_facts(source), samples=len(train))
    targets = source.targets[train]
    if facts.target == "class":
        return replace(facts, counts=tuple(torch.bincount(targets, minlength=len(facts.names)).tolist()))
    if facts.target == "labels":
        return replace(facts, counts=tuple(int(count) for count in targets.sum(0).tolist()))
    if facts.target == "values":
        values = targets.numpy().astype(np.float64)
        mean, std = values.mean(axis=0), values.std(axis=0)
        std[std <= 1e-9 * np.maximum(1e-9, np.abs(mean))] = 1.0  # a value that never changes
        return replace(facts, target_mean=tuple(mean.tolist()), target_std=tuple(std.tolist()))
    if facts.dense and read is not None:
        return replace(facts, counts=_count_places(facts, train, read))
    return facts


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
