"""``[dataset]`` of toys: points and queries made on the spot, no file needed."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.dataset_section import DatasetSection
from training.config.fields import setting
from training.facts import Layout, Target


class ToySection(DatasetSection):
    """What all made data can be told."""

    layout: ClassVar[Layout] = "vector"
    called = "points"

    samples: int = setting(3000, title="Samples", help="How many in all.", ge=30, le=10**7)
    data_seed: int = setting(
        0, title="Data seed", help="Another number draws other samples.", advanced=True, ge=0, le=2**31 - 1
    )

    @property
    def numbers(self) -> int:
        """Of a sample, at the most."""
        return 2

    @property
    def target_numbers(self) -> int:
        """Numbers to predict, of a sample; none where that is a class."""
        return 0


class MoonsDataset(ToySection):
    """Two half circles in the plane that reach into each other."""

    kind: Literal["moons"] = "moons"
    noise: float = setting(
        0.1, title="Noise", help="Spread of the points around their moon; more is harder.", ge=0.0, le=2.0
    )


class CirclesDataset(ToySection):
    """A circle inside another one."""

    kind: Literal["circles"] = "circles"
    noise: float = setting(
        0.05, title="Noise", help="Spread of the points around their circle; more is harder.", ge=0.0, le=2.0
    )
    factor: float = setting(
        0.5, title="Inner radius", help="Radius of the inner circle; the outer one's is 1.", gt=0.0, lt=1.0
    )


class BlobsDataset(ToySection):
    """Clouds of points around centres drawn at random."""

    kind: Literal["blobs"] = "blobs"
    classes: int = setting(3, title="Classes", help="How many clouds.", ge=2, le=1000)
    features: int = setting(2, title="Features", help="In how many dimensions.", ge=1, le=1000)
    spread: float = setting(
        1.0,
        title="Spread",
        help="Standard deviation of each cloud; the centres lie between -10 and 10.",
        gt=0.0,
        le=100.0,
    )

    @property
    def numbers(self) -> int:
        return self.features


class RankedDataset(ToySection):
    """Queries whose items are graded 0 to 4 by a hidden weighted sum of their features."""

    layout = "list"
    called = "queries with their items"

    kind: Literal["ranked"] = "ranked"
    items: int = setting(
        8, title="Items", help="The most items of a query; each has between 2 and so many.", ge=2, le=1000
    )
    features: int = setting(5, title="Features", help="Numbers that describe an item.", ge=1, le=1000)
    noise: float = setting(
        0.1, title="Noise", help="How far the grades stray from the hidden sum; 0: not at all.", ge=0.0, le=10.0
    )

    @property
    def numbers(self) -> int:
        return self.items * self.features

    @property
    def target_numbers(self) -> int:
        return self.items

    @property
    def target(self) -> Target | None:
        return "ranks"
