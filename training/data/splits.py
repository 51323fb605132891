"""Which samples train and which judge."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training import random
from training.config.dataset import DatasetSection, GivenSplitSection
from training.errors import InputError


def split(targets: Tensor, parts: dict[str, Tensor], config: DatasetSection) -> dict[str, Tensor]:
    """Sorted int64 sample numbers of "train", "validation" and, when the data has one left over, "test".

    ``targets`` are the int64 (N,) classes, ``parts`` what the data came with. Held-back samples are drawn class by class
    from "train" by ``split_seed``: round(fraction * n) in all, shared out by largest remainder, and never the last
    sample of a class. Raises InputError when a part would be empty.
    """
    wanted = config.validation if isinstance(config, GivenSplitSection) else "auto"
    train = torch.sort(parts["train"]).values
    if wanted == "test":
        if "test" not in parts:
            raise InputError("dataset.validation: the data has no test part to validate on.", "Choose auto or split.")
        return {"train": train, "validation": torch.sort(parts["test"]).values}
    if wanted == "auto" and "validation" in parts:
        result = {"train": train, "validation": torch.sort(parts["validation"]).values}
    else:
        held = _held_back(targets[train], config.validation_fraction, config.split_seed)
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
