"""The third group to be judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.third import activations, code, durations, healthy, labels_and_parts, losses, preparation

FAULTY = (activations, durations, losses, labels_and_parts, preparation, code)
CASES: tuple[Case | Healthy, ...] = (*(case for room in FAULTY for case in room.CASES), *healthy.CASES)
