"""A run's curves as tables, for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig
from training.errors import InputError
from training.events import EpochEnded
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.series import FLUSH_ROW, STEP_ROW, count_rows, read_series, read_steps
from training.system.plain_table import Cell, Table, save_table

STEP_COLUMNS = ("step", "epoch", "lr", "loss", "grad_norm", "samples", "seconds")
_AT_ONCE = 10_000  # steps


@dataclass(frozen=True)
class SampleCounts:
    """Samples of a full step and of an epoch's last one, and the steps of an epoch."""

    full: int
    last: int
    steps_per_epoch: int

    def of(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Samples of each of these steps, counted from 1."""
        return np.where(steps % self.steps_per_epoch == 0, self.last, self.full)

    def up_to(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Samples of all steps up to each of these."""
        epochs, rest = np.divmod(steps, self.steps_per_epoch)
        return epochs * (self.full * (self.steps_per_epoch - 1) + self.last) + rest * self.full


def tabulate_curves(folder: RunFolder, history: History, epochs: bool) -> Iterable[Table]:
    """Tables with the same columns that follow each other: a row for each epoch, or for each step."""
    return [tabulate_epochs(folder, history)] if epochs else tabulate_steps(folder, history)


def save_curves(path: Path, folder: RunFolder, epochs: bool) -> None:
    """Write the curves of the run in ``folder`` as one file, whole or not at all: Parquet where ``path`` says so, else CSV. Raises
    InputError for a series that cannot be read, OSError for a file that cannot be written."""
    history = History(folder.events_file)
    history.poll()
    save_table(path, tabulate_curves(folder, history, epochs))


def tabulate_steps(folder: RunFolder, history: History) -> Iterator[Table]:
    """A row for each step, some thousands at a time. ``epoch`` counts from 1; ``seconds`` is the training time of the step: the mean
    over the steps between two looks at the engine, some ten a second, as single ones are not timed. What was not recorded is left
    empty."""
    counts = count_step_samples(folder.readable_config(), history)
    seconds = measure_step_seconds(folder, history, counts)
    for first in range(1, max(count_rows(folder.series_file, STEP_ROW), 1) + 1, _AT_ONCE):
        rows = read_steps(folder.series_file, first, first + _AT_ONCE - 1)
        spent = seconds[first - 1 : first - 1 + len(rows)].tolist()
        columns: tuple[Sequence[Cell], ...] = (
            rows["step"].tolist(),
            (rows["epoch"] + 1).tolist(),
            *(rows[name].tolist() for name in ("lr", "loss", "grad_norm")),
            counts.of(rows["step"]).tolist() if counts else [None] * len(rows),
            [value or None for value in spent],
        )
        yield dict(zip(STEP_COLUMNS, columns, strict=True))


def tabulate_epochs(folder: RunFolder, history: History) -> Table:
    """A row for each epoch with its validation, and the learning rate of its last step."""
    ends = history.epochs
    metrics = list(dict.fromkeys(name for end in ends for name in end.metrics if name.startswith("val/")))
    last = [read_steps(folder.series_file, end.step, end.step)["lr"].tolist() for end in ends]
    measured = {"train_loss": "train/loss"} | {name: name for name in metrics}
    return {
        "epoch": [end.epoch for end in ends],
        "step": [end.step for end in ends],
        **{title: [_read_metric(end, name) for end in ends] for title, name in measured.items()},
        "lr": [rates[0] if rates else None for rates in last],
    }


def _read_metric(end: EpochEnded, name: str) -> float | None:
    return float(end.metrics[name]) if name in end.metrics else None


def count_step_samples(config: RunConfig | None, history: History) -> SampleCounts | None:
    """None where it is not known, or no longer as the settings say."""
    samples = history.data.report.samples.get("train", 0) if history.data else 0
    if config is None or not history.attempts or samples < 1:
        return None
    try:
        plan = config.plan_epoch(samples)
    except InputError:  # settings that were edited since
        return None
    if plan.steps != history.attempts[-1].steps_per_epoch:
        return None
    return SampleCounts(plan.samples_per_step, plan.samples(plan.steps - 1), plan.steps)


def measure_step_seconds(folder: RunFolder, history: History, counts: SampleCounts | None) -> NDArray[np.float64]:
    """Of each step its training time; 0 where it is not known."""
    seconds = np.zeros(count_rows(folder.series_file, STEP_ROW))
    if counts is None:
        return seconds
    looks = read_series(folder.telemetry_file, FLUSH_ROW)
    steps, rates = np.minimum(looks["step"], len(seconds)), looks["samples_per_second"].astype(np.float64)
    ends = [*(attempt.time for attempt in history.attempts[1:]), np.inf]
    for attempt, end in zip(history.attempts, ends, strict=True):
        seconds[attempt.step :] = 0.0  # done again
        here = (looks["time"] >= attempt.time) & (looks["time"] < end)
        _spread_seconds(seconds, np.concatenate([[min(attempt.step, len(seconds))], steps[here]]), rates[here], counts)
    return seconds


def _spread_seconds(
    seconds: NDArray[np.float64], marks: NDArray[np.int64], rates: NDArray[np.float64], counts: SampleCounts
) -> None:
    """Give each step between two of ``marks`` its share of the time, at so many samples a second; where that is not known it stays as it
    is. A mark below the one before it is a rollback: those steps are done again."""
    rises, samples = np.diff(marks), np.diff(counts.up_to(marks))
    known = (rises > 0) & (rates > 0)
    each = np.zeros(len(rises))
    each[known] = samples[known] / rates[known] / rises[known]
    falls = np.flatnonzero(rises < 0)
    for first, stop in zip([0, *(falls + 1)], [*falls, len(rises)], strict=True):
        part = seconds[marks[first] : marks[stop]]
        of_step = np.repeat(np.arange(first, stop), rises[first:stop])
        np.copyto(part, each[of_step], where=known[of_step])
