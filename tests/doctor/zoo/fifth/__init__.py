"""A second group that is judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.fifth import (
    activations,
    contents,
    healthy,
    labels,
    lengths,
    losses,
    optimizers,
    preparation,
    structure,
)

CASES: tuple[Case | Healthy, ...] = (
    *activations.CASES,
    *lengths.CASES,
    *losses.CASES,
    *losses.NUMERIC,
    *optimizers.CASES,
    *preparation.CASES,
    *structure.CASES,
    *labels.CASES,
    *contents.CASES,
    *healthy.RUNS,
)
