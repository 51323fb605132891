"""Which samples train and which judge."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training import random
from training.config.dataset_section import DatasetSection, PartsSection
from training.data.source import Source
from training.errors import InputError


def split_source(source: Source, config: DatasetSection) -> dict[str, Tensor]:
    """``split`` as the samples of ``source`` ask for it."""
    targets = source.targets if source.target == "class" else torch.zeros(len(source.targets), dtype=torch.int64)
    return split(targets, source.parts, config, source.groups, source.in_order)


def split(
    targets: Tensor,
    parts: dict[str, Tensor],
    config: DatasetSection,
    groups: Tensor | None = None,
    in_order: bool = False,
) -> dict[str, Tensor]:
    """Sorted int64 sample numbers of "train", "validation" and, when the data has one left over, "test".

    ``targets`` are the int64 (N,) classes (all alike where there are none), ``parts`` what the data came with. Held-back
    samples are drawn class by class from "train" by ``split_seed``: round(fraction * n) in all, shared out by largest
    remainder, and never the last sample of a class. With ``groups`` (int64, (N,)) whole groups are drawn instead, as many
    as come closest to the fraction; ``in_order`` holds back the last samples. Raises InputError when a part would be empty.
    """
    wanted = config.validation if isinstance(config, PartsSection) else "auto"
    train = torch.sort(parts["train"]).values
    if wanted == "test":
        if "test" not in parts:
            raise InputError("dataset.validation: the data has no test part to validate on.", "Choose auto or split.")
        return {"train": train, "validation": torch.sort(parts["test"]).values}
    if wanted == "auto" and "validation" in parts:
        result = {"train": train, "validation": torch.sort(parts["validation"]).values}
    else:
        fraction, seed = config.validation_fraction, config.split_seed
        if groups is not None:
            held = _held_back_groups(groups[train], fraction, seed)
        elif in_order:
            held = torch.arange(len(train)) >= len(train) - _held_count(len(train), fraction)
        else:
            held = _held_back(targets[train], fraction, seed)
        result = {"train": train[~held], "validation": train[held]}
    if "test" in parts:
        result["test"] = torch.sort(parts["test"]).values
    return result


def _held_back(targets: Tensor, fraction: float, seed: int) -> Tensor:
    """bool (n,): the samples to hold back."""
    n = len(targets)
    counts = torch.bincount(targets)
    quotas = _quotas(counts.tolist(), fraction)
    if not sum(quotas):
        raise InputError(
            f"dataset.validation_fraction: {fraction:g} of {n} training samples leaves none to validate on.",
            "Raise the fraction or add samples, at least two of a class.",
        )
    # Sorting by class, in shuffled order within each, makes a sample's place within its class its distance from the start.
    shuffled = random.permutation(seed, 0, n, stream="split")
    by_class = shuffled[torch.sort(targets[shuffled], stable=True).indices]
    starts = torch.cumsum(counts, 0) - counts
    classes = targets[by_class]
    held = torch.zeros(n, dtype=torch.bool)
    held[by_class] = torch.arange(n) - starts[classes] < torch.tensor(quotas)[classes]
    return held


def _held_count(n: int, fraction: float) -> int:
    """round(fraction * n), when that leaves something on either side."""
    count = math.floor(fraction * n + 0.5)
    if not 0 < count < n:
        raise _nothing_left(n, fraction, "samples", "")
    return count


def _held_back_groups(groups: Tensor, fraction: float, seed: int) -> Tensor:
    """bool (n,): the groups, in an order shuffled by ``seed``, whose samples come closest to the fraction together."""
    names, members, sizes = torch.unique(groups, return_inverse=True, return_counts=True)
    order = random.permutation(seed, 0, len(names), stream="split")
    reached = torch.cumsum(sizes[order], 0)
    count = int(torch.argmin((reached - fraction * len(groups)).abs())) + 1
    if count == len(names):
        count -= 1
    if not count:
        raise _nothing_left(len(groups), fraction, "samples in one group", ", in at least two groups")
    held = torch.zeros(len(names), dtype=torch.bool)
    held[order[:count]] = True
    return held[members]


def _nothing_left(n: int, fraction: float, what: str, more: str) -> InputError:
    return InputError(
        f"dataset.validation_fraction: {fraction:g} of {n} {what} leaves nothing to train or to validate on.",
        f"Change the fraction or add samples{more}.",
    )


def _quotas(counts: list[int], fraction: float) -> list[int]:
    """How many of each class to hold back."""
    total = math.floor(fraction * sum(counts) + 0.5)
    exact = [fraction * count for count in counts]
    limits = [max(0, count - 1) for count in counts]
    quotas = [min(math.floor(share), limit) for share, limit in zip(exact, limits, strict=True)]
    # Largest remainder first; a class that has reached its limit passes its share on.
    order = sorted(range(len(counts)), key=lambda number: (quotas[number] - exact[number], number))
    missing = min(total, sum(limits)) - sum(quotas)
    while missing > 0:
        for number in order:
            if missing > 0 and quotas[number] < limits[number]:
                quotas[number] += 1
                missing -= 1
    return quotas
