"""The group that is judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.judged import (
    activations,
    columns,
    healthy,
    labels_and_parts,
    lengths,
    losses,
    own,
    preparation,
    rates,
    sizes,
)

ROOMS = (activations, lengths, rates, losses, preparation, sizes, labels_and_parts, columns, own)
CASES: tuple[Case | Healthy, ...] = (*(case for room in ROOMS for case in room.CASES), *healthy.RUNS)
