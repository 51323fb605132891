"""Made data: every sample a function of its number and the seed, the classes taking turns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from training.config.sections.data.toys import BlobsDataset, CirclesDataset, MoonsDataset, RankedDataset, SpiralDataset
from training.core import counter_rng
from training.core.readers.toys import make_blobs, make_circles, make_moons, make_spiral
from training.data.placement import MADE_AT_ONCE
from training.data.source import AtHand, Opening
from training.facts import Layout, Target

_GRADES = 5


@dataclass(frozen=True)
class MadeData(AtHand):
    """Each of ``samples`` is a function of its number; the classes take turns."""

    samples: int

    @cached_property
    def targets(self) -> Tensor:
        return torch.arange(self.samples) % len(self.classes)

    @cached_property
    def parts(self) -> dict[str, Tensor]:
        return {"train": torch.arange(self.samples)}


@dataclass(frozen=True)
class Points(MadeData):
    """float32 vectors, made by ``make(numbers)``; sample n is of class n mod C."""

    classes: tuple[str, ...]
    make: Callable[[Tensor], Tensor]
    fingerprint: str
    shape: tuple[int, ...] = (2,)

    layout: Layout = "vector"

    def read(self, indices: Tensor) -> Tensor:
        return self.make(indices)

    def take(self) -> Tensor:
        return _make_all(self.read, self.samples, self.shape)


def open_spiral(dataset: SpiralDataset, opening: Opening) -> Points:
    make = partial(make_spiral, turns=dataset.turns, noise=dataset.noise, seed=dataset.data_seed)
    told = f"spiral 1 {dataset.samples} {dataset.turns!r} {dataset.noise!r} {dataset.data_seed}"
    return Points(dataset.samples, ("arm 1", "arm 2", "arm 3"), make, _digest(told))


def open_moons(dataset: MoonsDataset, opening: Opening) -> Points:
    make = partial(make_moons, noise=dataset.noise, seed=dataset.data_seed)
    told = f"toy 1 {dataset.samples} _Moons(seed={dataset.data_seed}, noise={dataset.noise!r})"
    return Points(dataset.samples, ("upper moon", "lower moon"), make, _digest(told))


def open_circles(dataset: CirclesDataset, opening: Opening) -> Points:
    make = partial(make_circles, noise=dataset.noise, factor=dataset.factor, seed=dataset.data_seed)
    told = f"_Circles(seed={dataset.data_seed}, noise={dataset.noise!r}, factor={dataset.factor!r})"
    return Points(dataset.samples, ("outer circle", "inner circle"), make, _digest(f"toy 1 {dataset.samples} {told}"))


def open_blobs(dataset: BlobsDataset, opening: Opening) -> Points:
    classes, features, spread, seed = dataset.classes, dataset.features, dataset.spread, dataset.data_seed
    make = partial(make_blobs, classes=classes, features=features, spread=spread, seed=seed)
    names = tuple(f"blob {number}" for number in range(1, classes + 1))
    told = f"_Blobs(seed={seed}, classes={classes}, features={features}, spread={spread!r})"
    return Points(dataset.samples, names, make, _digest(f"toy 1 {dataset.samples} {told}"), (features,))


@dataclass(frozen=True)
class Ranked(MadeData):
    """Queries of 2 to ``items`` items, NaN where there are fewer. An item's utility is w . x with features from N(0, 1) and
    the same hidden w, of length 1, for all; plus ``noise`` times N(0, 1). Its grade is 0 to 4 by the fifth of N(0, 1) in
    which the utility lies. Without noise the order by w . x is the best there is."""

    items: int
    features: int
    noise: float
    seed: int

    layout: Layout = "list"
    target: Target = "ranks"
    classes: tuple[str, ...] = ("grade",)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.items, self.features)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"x{number}" for number in range(1, self.features + 1))

    @cached_property
    def weights(self) -> Tensor:
        """float64 (features,): w."""
        drawn = counter_rng.normal(self.seed, "ranked weights", torch.zeros(1, dtype=torch.int64), self.features)[0]
        return drawn / drawn.norm()

    @cached_property
    def targets(self) -> Tensor:
        return _make_all(self._grades, self.samples, (self.items,))

    def _grades(self, queries: Tensor) -> Tensor:
        items = self._item_numbers(queries)
        utility = (self._values(items) * self.weights).sum(-1)
        utility += self.noise * counter_rng.normal(self.seed, "ranked noise", items, 1)[..., 0]
        share = 0.5 * (1 + torch.erf(utility / math.sqrt(2)))  # of N(0, 1) that is smaller
        grades = (share * _GRADES).floor().clamp(0, _GRADES - 1).float()
        return grades.masked_fill(self._absent(queries), float("nan"))

    @property
    def fingerprint(self) -> str:
        settings = f"{self.samples} {self.items} {self.features} {self.noise!r} {self.seed}"
        return _digest(f"ranked 1 {settings}")

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, items, features)."""
        values = self._values(self._item_numbers(indices)).float()
        return values.masked_fill(self._absent(indices).unsqueeze(2), float("nan"))

    def name(self, index: int) -> str:
        return f"query {index}"

    def take(self) -> Tensor:
        return _make_all(self.read, self.samples, self.shape)

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


def _digest(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()
