"""The group that rules are tuned on: who writes a rule may look at these, run them, and change what they need to see."""

from __future__ import annotations

from tests.doctor.zoo.builders import activations, datasets, healthy, lengths, losses, networks, parts, rates, samples
from tests.doctor.zoo.case import Case, Healthy

ROOMS = (activations, rates, lengths, losses, networks, samples, datasets, parts)
CASES: tuple[Case | Healthy, ...] = (*(case for room in ROOMS for case in room.CASES), *healthy.RUNS)
