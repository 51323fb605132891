"""The group that is judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.judged import activations, code, durations, losses, samples

ROOMS = (activations, durations, losses, samples, code)
CASES: tuple[Case | Healthy, ...] = tuple(each for room in ROOMS for each in room.CASES)
