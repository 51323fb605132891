"""Which samples are kept, and which of those are held out from training: a function of their classes or groups, a fraction and
a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from training.core.counter_rng import permutation


def hold_back_by_class(classes: Tensor, fraction: float, seed: int, stream: str) -> Tensor:
    """bool (n,): that ``fraction`` of the samples, drawn class by class, with the int64 ``classes`` (n,). Shares are rounded by
    largest remainder, and a class never gives its last sample."""
    counts = torch.bincount(classes)
    shares, limits = (fraction * counts.double()).tolist(), (counts - 1).clamp(min=0).tolist()
    quotas = [min(math.floor(share), limit) for share, limit in zip(shares, limits, strict=True)]
    by_remainder = sorted(range(len(quotas)), key=lambda number: (quotas[number] - shares[number], number))
    total = min(math.floor(fraction * len(classes) + 0.5), sum(limits))
    while (missing := total - sum(quotas)) > 0:  # a class that has reached its limit passes its share on
        for number in [each for each in by_remainder if quotas[each] < limits[each]][:missing]:
            quotas[number] += 1
    # Sorted by class and shuffled within each: a sample's place in its class is the distance from the class's start.
    shuffled = permutation(seed, 0, len(classes), stream=stream)
    by_class = shuffled[torch.sort(classes[shuffled], stable=True).indices]
    places = torch.arange(len(classes)) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    held = torch.zeros(len(classes), dtype=torch.bool)
    held[by_class] = places < torch.tensor(quotas).repeat_interleave(counts)
    return held


def count_closest(sizes: Tensor, wanted: float) -> int:
    """How many of the first ``sizes`` (n,) come closest to ``wanted`` together; never all."""
    return min(int(torch.argmin((torch.cumsum(sizes, 0) - wanted).abs())) + 1, len(sizes) - 1)


def hold_back_groups(groups: Tensor, fraction: float, seed: int, stream: str) -> Tensor:
    """bool (n,): the samples of whole groups, as many, in an order shuffled by ``seed``, as come closest to the
    fraction together; never of all. ``groups`` are int64 (n,)."""
    names, members, sizes = torch.unique(groups, return_inverse=True, return_counts=True)
    order = permutation(seed, 0, len(names), stream=stream)
    return torch.isin(members, order[: count_closest(sizes[order], fraction * len(groups))])


def hold_back_newest(moments: Tensor, fraction: float) -> Tensor:
    """bool (n,): the samples of the latest of the ``moments`` (int64 (n,), later is larger), as many moments as come closest to
    the fraction together; never all. Samples of one moment are not parted: what is told of one is told of the others."""
    times, places, sizes = torch.unique(moments, return_inverse=True, return_counts=True)
    return places >= len(times) - count_closest(sizes.flip(0), fraction * len(moments))


def keep_classes(
    classes: Tensor, kept: Sequence[int], parts: dict[str, Tensor]
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The numbers, int64 (n,), of the samples of the classes ``kept``; the place of each one's class among those; and their parts,
    in which the samples that are kept are counted from 0. ``classes`` are int64 (N,), ``parts`` the numbers of all samples of each."""
    places = torch.full((max(int(classes.max()), *kept) + 1,), -1)
    places[list(kept)] = torch.arange(len(kept))
    found = places[classes]
    mine = found >= 0
    counted = mine.cumsum(0) - 1
    return mine.nonzero()[:, 0], found[mine], {part: counted[each[mine[each]]] for part, each in parts.items()}


def drop_copies(keys: Sequence[bytes], parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """The parts, int64 sample numbers, without those samples beside "train" that are trained on, too: equal samples have
    equal ``keys``, of which there is one a sample."""
    trained = {keys[number] for number in parts["train"].tolist()}
    kept = {
        part: [part == "train" or keys[each] not in trained for each in numbers.tolist()]
        for part, numbers in parts.items()
    }
    return {part: numbers[torch.tensor(kept[part], dtype=torch.bool)] for part, numbers in parts.items()}


def drop_samples(parts: dict[str, Tensor], numbers: Sequence[int]) -> dict[str, Tensor]:
    """The parts, int64 sample numbers, without the samples ``numbers``."""
    return {part: each[~torch.isin(each, torch.tensor(numbers, dtype=torch.int64))] for part, each in parts.items()}


def pick_evenly(numbers: Tensor, most: int) -> Tensor:
    """Of the ``numbers`` (n,) at most so many, evenly spaced over them."""
    count = min(len(numbers), most)
    return numbers[torch.arange(count) * len(numbers) // max(1, count)]


def divide_into_folds(classes: Tensor, folds: int, seed: int, groups: Tensor | None = None) -> Tensor:
    """int64 (n,): which of ``folds`` parts of about equal size, 0 and on, each sample is in, shuffled by ``seed``: class by class, with the
    int64 ``classes`` (n,), or, with int64 ``groups`` (n,), in whole groups."""
    found = torch.empty(len(classes), dtype=torch.int64)
    if groups is None:
        shuffled = permutation(seed, 0, len(classes), stream="folds")
        found[shuffled[torch.sort(classes[shuffled], stable=True).indices]] = torch.arange(len(classes)) % folds
        return found
    names, members, sizes = torch.unique(groups, return_inverse=True, return_counts=True)
    fold_of, held = torch.zeros(len(names), dtype=torch.int64), [0] * folds
    for number in permutation(seed, 0, len(names), stream="folds").tolist():
        fold = held.index(min(held))
        fold_of[number] = fold
        held[fold] += int(sizes[number])
    return fold_of[members]
