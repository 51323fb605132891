"""Made data: every sample a function of its number and the seed, the classes taking turns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from training.config.sections.data.toys import BlobsDataset, CirclesDataset, MoonsDataset, RankedDataset, SpiralDataset
from training.core import counter_rng
from training.core.readers.toys import make_blobs, make_circles, make_moons, make_spiral
from training.data.placement import MADE_AT_ONCE
from training.data.source import Opening, Source
from training.facts import Layout

_GRADES = 5


class MadeData(Source):
    """Each of ``samples`` is a function of its number; the classes take turns. ``told`` is all that decides about them."""

    def __init__(
        self, layout: Layout, classes: tuple[str, ...], shape: tuple[int, ...], samples: int, told: str
    ) -> None:
        super().__init__(
            layout=layout,
            classes=classes,
            shape=shape,
            targets=torch.arange(samples) % len(classes),
            parts={"train": torch.arange(samples)},
            fingerprint=hashlib.sha256(told.encode()).hexdigest(),
        )

    def read_all(self) -> Tensor:
        return _make_all(self.read, len(self.targets), self.shape)


class Points(MadeData):
    """float32 vectors, made by ``make(numbers)``; sample n is of class n mod C."""

    def __init__(
        self, samples: int, classes: tuple[str, ...], make: Callable[[Tensor], Tensor], told: str, features: int = 2
    ) -> None:
        super().__init__("vector", classes, (features,), samples, told)
        self._make = make

    def read(self, indices: Tensor) -> Tensor:
        return self._make(indices)


def open_spiral(dataset: SpiralDataset, opening: Opening) -> Points:
    make = partial(make_spiral, turns=dataset.turns, noise=dataset.noise, seed=dataset.data_seed)
    told = f"spiral 1 {dataset.samples} {dataset.turns!r} {dataset.noise!r} {dataset.data_seed}"
    return Points(dataset.samples, ("arm 1", "arm 2", "arm 3"), make, told)


def open_moons(dataset: MoonsDataset, opening: Opening) -> Points:
    make = partial(make_moons, noise=dataset.noise, seed=dataset.data_seed)
    told = f"toy 1 {dataset.samples} _Moons(seed={dataset.data_seed}, noise={dataset.noise!r})"
    return Points(dataset.samples, ("upper moon", "lower moon"), make, told)


def open_circles(dataset: CirclesDataset, opening: Opening) -> Points:
    make = partial(make_circles, noise=dataset.noise, factor=dataset.factor, seed=dataset.data_seed)
    told = f"_Circles(seed={dataset.data_seed}, noise={dataset.noise!r}, factor={dataset.factor!r})"
    return Points(dataset.samples, ("outer circle", "inner circle"), make, f"toy 1 {dataset.samples} {told}")


def open_blobs(dataset: BlobsDataset, opening: Opening) -> Points:
    classes, features, spread, seed = dataset.classes, dataset.features, dataset.spread, dataset.data_seed
    make = partial(make_blobs, classes=classes, features=features, spread=spread, seed=seed)
    names = tuple(f"blob {number}" for number in range(1, classes + 1))
    told = f"_Blobs(seed={seed}, classes={classes}, features={features}, spread={spread!r})"
    return Points(dataset.samples, names, make, f"toy 1 {dataset.samples} {told}", features)


class Ranked(MadeData):
    """Queries of 2 to ``items`` items, NaN where there are fewer. An item's utility is w . x with features from N(0, 1) and
    the same hidden w, of length 1, for all; plus ``noise`` times N(0, 1). Its grade is 0 to 4 by the fifth of N(0, 1) in
    which the utility lies. Without noise the order by w . x is the best there is."""

    def __init__(self, samples: int, items: int, features: int, noise: float, seed: int) -> None:
        told = f"ranked 1 {samples} {items} {features} {noise!r} {seed}"
        super().__init__("list", ("grade",), (items, features), samples, told)
        self.items, self.features, self.noise, self.seed = items, features, noise, seed
        self.target = "ranks"
        self.columns = tuple(f"x{number}" for number in range(1, features + 1))
        drawn = counter_rng.normal(seed, "ranked weights", torch.zeros(1, dtype=torch.int64), features)[0]
        self.weights = drawn / drawn.norm()
        """float64 (features,): w."""
        self.targets = _make_all(self._grades, samples, (items,))

    def _grades(self, queries: Tensor) -> Tensor:
        items = self._item_numbers(queries)
        utility = (self._values(items) * self.weights).sum(-1)
        utility += self.noise * counter_rng.normal(self.seed, "ranked noise", items, 1)[..., 0]
        share = 0.5 * (1 + torch.erf(utility / math.sqrt(2)))  # of N(0, 1) that is smaller
        grades = (share * _GRADES).floor().clamp(0, _GRADES - 1).float()
        return grades.masked_fill(self._absent(queries), float("nan"))

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, items, features)."""
        values = self._values(self._item_numbers(indices)).float()
        return values.masked_fill(self._absent(indices).unsqueeze(2), float("nan"))

    def name(self, index: int) -> str:
        return f"query {index}"

    def _item_numbers(self, queries: Tensor) -> Tensor:
        return queries.unsqueeze(1) * self.items + torch.arange(self.items)

    def _values(self, items: Tensor) -> Tensor:
        return counter_rng.normal(self.seed, "ranked", items, self.features)

    def _absent(self, queries: Tensor) -> Tensor:
        """bool (n, items): places beyond a query's items."""
        lengths = 2 + counter_rng.integers(self.seed, "ranked items", 0, queries, self.items - 1)
        return torch.arange(self.items) >= lengths.unsqueeze(1)


def open_ranked(dataset: RankedDataset, opening: Opening) -> Ranked:
    return Ranked(dataset.samples, dataset.items, dataset.features, dataset.noise, dataset.data_seed)


def _make_all(make: Callable[[Tensor], Tensor], samples: int, shape: tuple[int, ...]) -> Tensor:
    """float32 (samples, *shape), of which there is never a second copy."""
    made = torch.empty(samples, *shape)
    for some in torch.arange(samples).split(MADE_AT_ONCE):
        made[some[0] : some[-1] + 1] = make(some)
    return made
