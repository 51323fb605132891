"""A sweep as it is now, for who shows it: trials with their curves, importances, axes for parallel coordinates and slices. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from pydantic import JsonValue

from training.runs.owner import owner_of
from training.sweeps.budget import Spent, explain_end, measure_spent
from training.sweeps.dimension import Dimension, Value
from training.sweeps.folder import Sweep
from training.sweeps.optuna_study import measure_importances
from training.sweeps.trials import BY_HAND, REASON, SECONDS, State, Trials, state_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

FEWEST_FOR_IMPORTANCE = 20
"""Complete trials below which importances are mostly noise."""


@dataclass(frozen=True)
class TrialRecord:
    """``curve`` is the monitored metric at each validation, counted from 1, of a trial of several runs the best of each; ``alive`` whether a
    worker has it now; ``value`` of one pruned is that of its last validation, or the mean of its seeds so far; ``runs`` the ids of the runs that were made."""

    number: int
    state: State
    params: Mapping[str, Value]
    value: float | None
    curve: tuple[tuple[int, float], ...]
    runs: tuple[str, ...]
    alive: bool
    by_hand: bool
    seconds: float | None
    reason: str

    @property
    def run(self) -> str:
        """The first of its runs; "" where none was made."""
        return self.runs[0] if self.runs else ""

    @property
    def words(self) -> str:
        """Its state in a word or two: of one that runs, whether anybody works on it."""
        return "unfinished" if self.state == "running" and not self.alive else self.state


@dataclass(frozen=True)
class Axis:
    """One setting as an axis: ``places`` are those of the trials from 0 to 1, None of a trial that lacks the setting."""

    dimension: Dimension
    places: tuple[float | None, ...]


@dataclass(frozen=True)
class SweepRecord:
    """``best`` is the number of the best complete trial; ``importances`` are shares of 1, the largest first, empty with why in
    ``importance_note``, which also warns of too few trials. ``ended`` says why no further trial is proposed, "" where one may be."""

    sweep: Sweep
    trials: tuple[TrialRecord, ...]
    best: int | None
    importances: Mapping[str, float]
    importance_note: str
    spent: Spent
    ended: str

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The varied settings, for parallel coordinates; one against the value is a slice plot."""
        return tuple(
            Axis(
                each,
                tuple(
                    each.place(trial.params[each.path]) if each.path in trial.params else None for trial in self.trials
                ),
            )
            for each in self.sweep.space.dimensions
        )

    def count(self, state: State) -> int:
        """How many trials are in a state."""
        return sum(trial.state == state for trial in self.trials)

    def dump(self) -> dict[str, JsonValue]:
        """As the command line tells it."""
        return {
            "sweep": self.sweep.id,
            "folder": str(self.sweep.path),
            **self.sweep.dump(),
            "trials": [
                {
                    **asdict(trial),
                    "params": dict(trial.params),
                    "run": trial.run,
                    "runs": list(trial.runs),
                    "curve": [list(point) for point in trial.curve],
                    "state": trial.words,
                }
                for trial in self.trials
            ],
            "best": self.best,
            "importances": dict(self.importances),
            "importance_note": self.importance_note,
            "budget": {
                "trials": self.sweep.budget.trials,
                "hours": self.sweep.budget.hours,
                "bytes": self.sweep.budget.bytes,
            },
            "spent": asdict(self.spent),
            "ended": self.ended,
        }


def read_record(sweep: Sweep) -> SweepRecord:
    """The sweep as it is now; nothing is changed but where there is no study yet. Raises InputError where its storage cannot be used."""
    trials = Trials(sweep)
    known = trials.read()
    best = find_best(sweep, known)
    importances, note = _read_importances(sweep, trials, known)
    spent = measure_spent(sweep, known)
    return SweepRecord(
        sweep,
        tuple(_read(sweep, trial) for trial in known),
        None if best is None else best.number,
        importances,
        note,
        spent,
        explain_end(sweep, spent),
    )


def _read_importances(sweep: Sweep, trials: Trials, known: list[FrozenTrial]) -> tuple[Mapping[str, float], str]:
    """With what has to be said of them; none, and why, where they would tell nothing."""
    values = [trial.value for trial in known if state_of(trial) == "complete"]
    if len(values) < 2:
        return {}, "Importances need complete trials."
    if len(sweep.space.dimensions) == 1:
        return {}, "Only one setting is varied, so there is none to compare its importance with."
    if len(set(values)) == 1:
        return {}, f"All {len(values)} complete trials came to the same value, so no setting can be said to matter."
    importances, note = measure_importances(trials.study)
    if importances and len(values) < FEWEST_FOR_IMPORTANCE:
        note = f"Of {len(values)} complete trials; below {FEWEST_FOR_IMPORTANCE} importances are mostly noise."
    return importances, note


def find_best(sweep: Sweep, known: list[FrozenTrial]) -> FrozenTrial | None:
    """The best of the complete trials, of equal ones the first."""
    complete = [trial for trial in known if state_of(trial) == "complete" and trial.value is not None]
    sign = -1.0 if sweep.maximize else 1.0
    return min(complete, key=lambda trial: (sign * float(trial.value or 0.0), trial.number), default=None)


def _read_value(sweep: Sweep, trial: FrozenTrial, state: State) -> float | None:
    """Of a pruned trial Optuna has the last that was reported, which is one seed's where there are several."""
    if state == "pruned" and sweep.repeats > 1 and trial.intermediate_values:
        return fmean(trial.intermediate_values.values())
    return trial.value if state in ("complete", "pruned") else None


def _read(sweep: Sweep, trial: FrozenTrial) -> TrialRecord:
    seconds = trial.user_attrs.get(SECONDS)
    runs = tuple(run.id for run in sweep.runs(trial.number) if run.config_file.is_file())
    state = state_of(trial)
    given = trial.system_attrs.get("fixed_params", {}) if state == "waiting" else trial.params
    return TrialRecord(
        number=trial.number,
        state=state,
        params=dict(given),
        value=_read_value(sweep, trial, state),
        curve=tuple(sorted(trial.intermediate_values.items())),
        runs=runs,
        alive=state == "running" and owner_of(sweep.trial_folder(trial.number)) is not None,
        by_hand=trial.user_attrs.get(BY_HAND) is True,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        reason=str(trial.user_attrs.get(REASON, "")),
    )
