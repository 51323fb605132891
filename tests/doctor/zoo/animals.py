"""All that the zoo has."""

from __future__ import annotations

from typing import Literal

from tests.doctor.zoo.builders import CASES as BUILT
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.judged import (
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

Half = Literal["builders", "judged", "all"]
JUDGED = (activations, lengths, schedules, losses, labels_and_parts, columns, own_networks, own_datasets, preparation)


def every_animal(half: Half = "all") -> tuple[Case | Healthy, ...]:
    """The faulty runs, and then the healthy ones, of one half or both."""
    built = BUILT if half != "judged" else ()
    judged = (*(case for room in JUDGED for case in room.CASES), *healthy.RUNS) if half != "builders" else ()
    animals = (*built, *judged)
    return (
        *(each for each in animals if isinstance(each, Case)),
        *(each for each in animals if isinstance(each, Healthy)),
    )
