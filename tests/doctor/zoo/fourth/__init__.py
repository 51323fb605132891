"""The group that is judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.fourth import activations, contents, healthy, lengths, losses, own, preparation

CASES: tuple[Case | Healthy, ...] = (
    *activations.CASES,
    *lengths.CASES,
    *losses.CASES,
    *preparation.CASES,
    *contents.CASES,
    *own.CASES,
    *healthy.RUNS,
)
