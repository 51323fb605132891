"""How far a proof is, and what lies in its folder ``proofs/KEY`` while it works. No torch here: the window looks, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from training.errors import pluralize
from training.prove.plan import MOST_ORDERS, ProofPlan, count_arm_steps
from training.runs.folder import RunFolder, read_json
from training.runs.records.series import STEP_ROW, count_rows
from training.system.atomic import write_text

_PLAN: Final = "plan.json"
_ARM: Final = "arm"


class Arm(NamedTuple):
    """One of them: ``order`` counts from 1."""

    order: int
    with_fix: bool

    @property
    def name(self) -> str:
        """What its result is called in the folder."""
        return f"order-{self.order}-{'with' if self.with_fix else 'without'}"


class Reached(NamedTuple):
    """``step`` of ``steps`` of the arm under way; ``done`` of ``arms`` are complete."""

    order: int
    orders: int
    with_fix: bool
    step: int
    steps: int
    done: int
    arms: int

    @property
    def fraction(self) -> float:
        """From 0 to 1."""
        return min((self.done + self.step / max(self.steps, 1)) / max(self.arms, 1), 1.0)

    @property
    def words(self) -> str:
        """What is under way, in a few words."""
        if self.done == self.arms:
            return "Comparing the arms …"
        arm = "with the new settings" if self.with_fix else "as the run is"
        return f"Order {self.order} of {self.orders}, {arm}: step {self.step:,} of {self.steps:,}"


def list_arms(orders: int) -> Iterator[Arm]:
    """All of them, as they are trained."""
    for order in range(1, orders + 1):
        yield Arm(order, False)
        yield Arm(order, True)


def work_folder(run: RunFolder, key: str) -> Path:
    """Where the results of arms lie until all are there."""
    return run.proofs / key


def arm_folder(run: RunFolder, key: str) -> RunFolder:
    """The run that the arm under way is."""
    return RunFolder(work_folder(run, key) / _ARM)


def note_plan(plan: ProofPlan) -> None:
    """Keep what ``read_progress`` needs. Raises OSError."""
    told = {
        "orders": plan.orders,
        "start": plan.start,
        "without": count_arm_steps(plan, False),
        "with": count_arm_steps(plan, True),
    }
    write_text(work_folder(plan.run, plan.key) / _PLAN, json.dumps(told) + "\n")


def read_progress(run: RunFolder, key: str) -> Reached | None:
    """How far the proof of that name is; None where none was begun, or it is complete."""
    folder = work_folder(run, key)
    told = read_json(folder / _PLAN)
    numbers = [told.get(name) for name in ("orders", "start", "without", "with")]
    counts = [number for number in numbers if isinstance(number, int)]
    if len(counts) < len(numbers) or not 1 <= counts[0] <= MOST_ORDERS:
        return None
    orders, start, without, with_fix = counts
    arms = list(list_arms(orders))
    done = sum((folder / f"{arm.name}.json").is_file() for arm in arms)
    current = arms[min(done, len(arms) - 1)]
    step = 0
    with suppress(OSError):
        step = max(count_rows(arm_folder(run, key).series_file, STEP_ROW) - start, 0)
    steps = with_fix if current.with_fix else without
    return Reached(current.order, orders, current.with_fix, min(step, steps), steps, done, len(arms))


def describe_steps(plan: ProofPlan) -> str:
    """How many each arm makes, where they are not as many."""
    made = count_arm_steps(plan, True)
    return "" if made == plan.steps else f"{pluralize(made, 'step')} with the new settings see as many samples."
