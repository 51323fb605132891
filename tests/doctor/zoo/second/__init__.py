"""The group that was judged second, on 27 November 2026, with the rules of 9b98505e: written as the first was, by another. Since then rules are
tuned on it, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.doctor.zoo.case import Case, Healthy, Settings
from tests.doctor.zoo.second import (
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


def seeded(case: Case, seed: int) -> Case:
    """``case`` with a seed of its own, so that no two twins are the very same run."""

    def write(folder: Path, faulty: bool) -> Settings:
        return {"seed": seed} | case.write(folder, faulty)

    return replace(case, write=write)


FAULTY = tuple(case for room in ROOMS for case in room.CASES)
CASES: tuple[Case | Healthy, ...] = (
    *(seeded(case, number) for number, case in enumerate(FAULTY, start=1)),
    *healthy.RUNS,
)
