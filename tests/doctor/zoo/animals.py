"""All that the zoo has."""

from __future__ import annotations

from typing import Literal

from tests.doctor.zoo.builders import CASES as BUILT
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.fifth import CASES as FIFTH
from tests.doctor.zoo.first import (
    activations,
    columns,
    healthy,
    labels_and_parts,
    lengths,
    losses,
    own_datasets,
    own_networks,
    preparation,
    schedules,
)
from tests.doctor.zoo.fourth import CASES as FOURTH
from tests.doctor.zoo.second import CASES as SECOND
from tests.doctor.zoo.third import CASES as THIRD

Group = Literal["builders", "first", "second", "third", "fourth", "fifth"]
FIRST = (activations, lengths, schedules, losses, labels_and_parts, columns, own_networks, own_datasets, preparation)
GROUPS: dict[Group, tuple[Case | Healthy, ...]] = {
    "builders": BUILT,
    "first": (*(case for room in FIRST for case in room.CASES), *healthy.RUNS),
    "second": SECOND,
    "third": THIRD,
    "fourth": FOURTH,
    "fifth": FIFTH,
}


def every_animal(*groups: Group) -> tuple[Case | Healthy, ...]:
    """The faulty runs, and then the healthy ones, of these groups; of all where none is named."""
    animals = [each for group in groups or GROUPS for each in GROUPS[group]]
    return (
        *(each for each in animals if isinstance(each, Case)),
        *(each for each in animals if isinstance(each, Healthy)),
    )
