"""``[dataset]`` of toys: points and queries made on the spot, no file needed."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from training.config.fields import Fraction, SeedNumber, advanced, setting
from training.config.sections.data.dataset_section import DatasetSection
from training.facts import Layout

DataSeed = Annotated[SeedNumber, advanced(title="Data seed", help="Another number draws other samples (random_state).")]
Noise = Annotated[
    float,
    setting(title="Noise", help="Standard deviation of the points around their shape; more is harder.", ge=0.0, le=2.0),
]


class ToySection(DatasetSection):
    """Settings of all synthetic points."""

    layout: ClassVar[Layout] = "vector"
    called = "points"

    samples: int = setting(3000, "Samples", "How many in all (n_samples).", ge=30, le=10**7)
    data_seed: DataSeed = 0

    @property
    def numbers(self) -> int:
        """Of a sample, at the most."""
        return 2

    @property
    def target_numbers(self) -> int:
        """Numbers to predict, of a sample; none where that is a class."""
        return 0


class SpiralDataset(ToySection):
    """Three intertwined arms of points in the plane: the classic toy problem. Needs no file."""

    kind: Literal["spiral"] = "spiral"
    turns: float = setting(1.0, "Turns", "How far each arm winds; more turns are harder.", gt=0.0, le=5.0)
    noise: Noise = 0.15


class MoonsDataset(ToySection):
    """Two half circles in the plane that reach into each other. Needs no file."""

    kind: Literal["moons"] = "moons"
    noise: Noise = 0.1


class CirclesDataset(ToySection):
    """A circle inside another one, which no straight line can separate. Needs no file."""

    kind: Literal["circles"] = "circles"
    noise: Noise = 0.05
    factor: Fraction = setting(0.5, "Inner radius", "Radius of the inner circle; the outer one's is 1.")


class BlobsDataset(ToySection):
    """Clouds of points around as many centers, in any number of dimensions. Needs no file."""

    kind: Literal["blobs"] = "blobs"
    classes: int = setting(3, "Classes", "How many clouds (centers).", ge=2, le=1000)
    features: int = setting(2, "Features", "In how many dimensions (n_features).", ge=1, le=1000)
    spread: float = setting(
        1.0, "Cluster std", "Standard deviation of each cloud; centers lie within ±10.", also="spread", gt=0.0, le=100.0
    )

    @property
    def numbers(self) -> int:
        return self.features


class RankedDataset(ToySection):
    """Queries whose items are graded by a hidden sum of their features: ranking with a known best answer. Needs no file."""

    layout = "list"
    called = "queries with their items"
    teaches = "ranks"

    kind: Literal["ranked"] = "ranked"
    items: int = setting(
        8, "Items per query", "The most items of a query; each has between 2 and so many.", ge=2, le=1000
    )
    features: int = setting(5, "Features", "Numbers that describe an item.", ge=1, le=1000)
    noise: float = setting(
        0.1, "Noise", "How far the grades stray from the hidden sum; 0: not at all.", ge=0.0, le=10.0
    )

    @property
    def numbers(self) -> int:
        return self.items * self.features

    @property
    def target_numbers(self) -> int:
        return self.items
