"""How long the runs over a training part will take, and how far they are. No torch here: the window asks, too."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from training.errors import InputError, format_duration, pluralize
from training.laboratory.measure import measure
from training.runs.folder import RunFolder, read_json
from training.runs.records.series import STEP_ROW, count_rows

PLAN: Final = "plan.json"
"""In the folder of the runs: how many there are."""
FEWEST, USUAL, MOST = 2, 5, 20


class ExpectedTime(NamedTuple):
    """``steps`` of each of ``folds`` runs; ``seconds`` of all together, NaN where the run's own say nothing."""

    folds: int
    steps: int
    seconds: float

    @property
    def words(self) -> str:
        """In a sentence."""
        runs = f"{pluralize(self.folds, 'run')} of {pluralize(self.steps, 'step')} each"
        if not math.isfinite(self.seconds):
            return f"{runs}; how long they take is not known, since no steps of this run were timed."
        each = self.seconds / max(self.folds * self.steps, 1)
        shown = f"{each:.2g} s" if each >= 0.1 else f"{1000 * each:.2g} ms"
        return (
            f"{runs} take about {format_duration(self.seconds)}, at the {shown} a step that this run took with its validations, "
            "and some seconds more for the start of each."
        )


def fold_folder(run: RunFolder, fold: int) -> RunFolder:
    """The run that leaves the ``fold``-th part out; the first is 1."""
    return RunFolder(run.labels / f"fold-{fold}")


def expect_time(run: RunFolder, folds: int) -> ExpectedTime:
    """By the run's own steps. Raises InputError where it cannot be read, or ``folds`` cannot be."""
    if not FEWEST <= folds <= MOST:
        raise InputError(f"--folds {folds}: must be from {FEWEST} to {MOST}, for example {USUAL}.")
    figures = measure(run).figures
    steps = run.config().loop.total_steps(math.ceil(figures.steps_per_epoch * (1.0 - 1.0 / folds)))
    if figures.ended_early:
        steps = min(steps, figures.steps)
    each = figures.seconds / figures.steps if figures.steps else math.nan
    return ExpectedTime(folds, steps, folds * steps * each)


class Reached(NamedTuple):
    """``done`` of ``folds`` runs are complete; ``steps`` are those of all of them, of ``of`` in all, 0 where not known."""

    folds: int
    done: int
    steps: int
    of: int

    @property
    def fraction(self) -> float:
        """From 0 to 1."""
        return min(self.steps / self.of, 1.0) if self.of else 0.0

    @property
    def words(self) -> str:
        """What is under way, in a few words."""
        if self.done == self.folds:
            return "Comparing the labels …"
        return f"Run {self.done + 1} of {self.folds}: step {self.steps:,} of {self.of:,} in all"


def read_progress(run: RunFolder) -> Reached | None:
    """How far the runs are that were begun; None where there are none."""
    folds = read_json(run.labels / PLAN).get("folds")
    if not isinstance(folds, int) or not FEWEST <= folds <= MOST:
        return None
    folders = [fold_folder(run, fold) for fold in range(1, folds + 1)]
    done = sum(folder.config_file.is_file() and folder.read_status().status == "completed" for folder in folders)
    steps = sum(count_rows(folder.series_file, STEP_ROW) for folder in folders if folder.series_file.is_file())
    try:
        expected = expect_time(run, folds)
    except InputError:
        return Reached(folds, done, steps, 0)
    return Reached(folds, done, steps, folds * expected.steps)
