"""All that the zoo has."""

from __future__ import annotations

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

JUDGED = (activations, lengths, schedules, losses, labels_and_parts, columns, own_networks, own_datasets, preparation)


def every_animal() -> tuple[Case | Healthy, ...]:
    """The faulty runs, and then the healthy ones."""
    return (*(case for room in JUDGED for case in room.CASES), *healthy.RUNS)
