"""What a sweep has taken so far, and whether it may take more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.errors import format_bytes, format_duration, pluralize
from training.runs.records.progress import worked_seconds
from training.runs.set_aside import own_bytes
from training.sweeps.folder import Sweep
from training.sweeps.trials import BY_HAND, SECONDS

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class Spent:
    """``trials`` that the sampler proposed, of which those by hand are none; ``seconds`` of work on all runs, ``bytes`` on the disk, and
    those of the ``largest`` trial."""

    trials: int
    seconds: float
    bytes: int
    largest: int


def measure_spent(sweep: Sweep, trials: Sequence[FrozenTrial]) -> Spent:
    """By what is stored of trials that ended, and by the runs' own records of the others."""
    seconds, sizes = 0.0, [0]
    for trial in trials:
        runs, known = sweep.runs(trial.number), trial.user_attrs.get(SECONDS)
        if isinstance(known, int | float):
            seconds += known
        else:
            seconds += sum(worked_seconds(run.read_status()) for run in runs if run.config_file.is_file())
        sizes.append(sum(own_bytes(run.path) for run in runs))
    proposed = sum(not trial.user_attrs.get(BY_HAND) for trial in trials)
    return Spent(proposed, seconds, sum(sizes), max(sizes))


def explain_end(sweep: Sweep, spent: Spent) -> str:
    """Why no further trial is proposed, in a sentence; "" where one may be."""
    budget = sweep.budget
    if budget.trials is not None and spent.trials >= budget.trials:
        grid = sweep.sampler == "grid" and spent.trials >= sweep.space.count_grid()
        what = "The whole grid is tried" if grid else "The budget is used up"
        return f"{what}: {pluralize(spent.trials, 'trial')}."
    if budget.hours is not None and spent.seconds >= budget.hours * 3600:
        return (
            f"The budget is used up: {format_duration(spent.seconds)} of training of {format_duration(budget.hours * 3600)}, "
            f"in {pluralize(spent.trials, 'trial')}."
        )
    if budget.bytes is not None and spent.bytes + spent.largest > budget.bytes:
        return (
            f"The budget is used up: the runs take {format_bytes(spent.bytes)} of {format_bytes(budget.bytes)}, and another may take "
            f"{format_bytes(spent.largest)}; delete runs that are not needed to go on."
        )
    return ""
