"""What a person asks a new sweep for, as text and numbers: checked as a whole, then made. The command line and the window ask alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from training.config import RunConfig
from training.errors import InputError
from training.sweeps.folder import (
    USUAL_TRIALS,
    Budget,
    PrunerName,
    SamplerName,
    Sweep,
    create_sweep,
    parse_budget,
)
from training.sweeps.optuna_study import require_optuna, split_password
from training.sweeps.space import Space, read_space
from training.sweeps.trials import Trials

MOST_SEED: Final = 2**31 - 1
MOST_REPEATS: Final = 100
SAMPLER_WORDS: Final[Mapping[SamplerName, str]] = {
    "tpe": "The tree-structured Parzen estimator: ten trials by chance, then values like those of good trials.",
    "gp": "A Gaussian process: slower to propose, often better where few trials of numbers can be afforded.",
    "random": "Values by chance, each trial independent of the others.",
    "grid": "Every combination of the values, in an order of the seed's.",
}
PRUNER_WORDS: Final[Mapping[PrunerName, str]] = {
    "median": "Stops a trial that is worse than the median of the complete ones at the same validation.",
    "hyperband": "Stops trials by successive halving in several brackets, from the first validation on; for long runs.",
    "wilcoxon": "Stops a trial that is worse than the best one, by a signed-rank test over its seeds, or over the validations of a single run.",
    "none": "Trains every trial to its end.",
}


@dataclass(frozen=True)
class SweepRequest:
    """``vary`` as ``--vary`` takes it; limits are None where there are none, ``gigabytes`` of the disk; ``storage`` a database's URL, "" for a
    journal in the sweep's folder; each trial trains ``repeats`` runs, of as many seeds."""

    vary: tuple[str, ...]
    sampler: SamplerName = "tpe"
    pruner: PrunerName = "median"
    seed: int = 0
    trials: int | None = None
    hours: float | None = None
    gigabytes: float | None = None
    storage: str = ""
    repeats: int = 1


def check_request(base: RunConfig, request: SweepRequest) -> tuple[Space, Budget]:
    """What it comes to, with the usual budget where none is given; nothing is made. Raises InputError, which begins with the option that is
    wrong."""
    space = read_space(base, request.vary, request.sampler)
    budget = check_numbers(request)
    if request.repeats > 1 and space.find("seed") is not None:
        raise InputError(
            "--repeat: repeats with other seeds, and the sweep varies the seed itself; leave one of the two out."
        )
    if request.sampler == "grid":
        whole = space.count_grid()
        return space, Budget(min(whole, budget.trials or whole), budget.hours, budget.bytes)
    return space, Budget(trials=USUAL_TRIALS) if budget == Budget() else budget


def check_numbers(request: SweepRequest) -> Budget:
    """What can be judged without the space. Raises InputError, which begins with the option that is wrong."""
    budget = parse_budget(request.trials, request.hours, request.gigabytes)
    if not 0 <= request.seed <= MOST_SEED:
        raise InputError(f"--seed {request.seed}: must be from 0 to {MOST_SEED}.")
    if not 1 <= request.repeats <= MOST_REPEATS:
        raise InputError(f"--repeat {request.repeats}: must be from 1 to {MOST_REPEATS}.")
    return budget


def make_sweep(workspace: Path, base: RunConfig, request: SweepRequest) -> Sweep:
    """Check all of it, then make the sweep's folder; nothing is trained yet. The password of a database goes to the environment of this
    process. Raises InputError, leaving nothing behind."""
    require_optuna(request.sampler, request.pruner)
    space, budget = check_request(base, request)
    storage = split_password(request.storage) if request.storage else ""
    sweep = create_sweep(
        workspace, base, space, request.sampler, request.pruner, request.seed, budget, storage, request.repeats
    )
    try:
        Trials(sweep)  # a database that cannot be reached is told now
    except InputError:
        sweep.remove()
        raise
    return sweep
