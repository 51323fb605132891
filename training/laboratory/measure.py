"""The figures of one step, read from its run's folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig
from training.errors import pluralize
from training.events import (
    REACHED,
    STOPPED_EARLY,
    AttemptStarted,
    CheckpointSaved,
    EpochEnded,
    Event,
    Finding,
    PhaseChanged,
)
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.manifest import CheckpointInfo, list_checkpoints
from training.runs.records.series import Rows, read_series


@dataclass(frozen=True)
class Figures:
    """What one run came to. Seconds are of its process's work, losses and accuracies of the whole part named; NaN where
    nothing was measured. ``samples_per_second`` counts training and saving, without validating."""

    run: str
    folder: str
    status: str
    reason: str
    device: str
    device_type: str
    compute: str
    data: str  # fingerprint of what it was trained on
    steps: int
    announced_steps: int  # what the run said before its first step
    steps_per_epoch: int
    epoch_steps: tuple[int, ...]  # how many steps each epoch came to
    training_samples: int
    train_loss: float  # mean over the last epoch
    val_loss: float
    val_accuracy: float
    validation_samples: int
    commonest_class: float  # its share of them, and so the accuracy of always naming it
    best_val_accuracy: float
    test_accuracy: float
    epoch_accuracies: tuple[float, ...]
    seconds: float
    epoch_seconds: tuple[float, ...]
    samples_per_second: float
    skipped: int
    checkpoint_mb: float
    saved_steps: tuple[int, ...]
    resumed_at: tuple[int, ...]
    steady_from: int  # the first step in steady state, which is the last epoch
    clip_norm: float
    clipped: float  # share of all steps whose gradient was longer than the limit
    clipped_steady: float

    @property
    def ended_early(self) -> bool:
        """Whether early stopping ended it, or a metric that reached its threshold: fewer steps are right then."""
        return self.status == "completed" and self.reason.startswith((STOPPED_EARLY, REACHED))

    @property
    def learned(self) -> bool:
        """Whether the final accuracy is above that of always naming the commonest class by more than three standard errors."""
        error = math.sqrt(self.commonest_class * (1 - self.commonest_class) / max(self.validation_samples, 1))
        return self.val_accuracy > self.commonest_class + 3 * error

    @property
    def as_announced(self) -> bool:
        """Whether the run made the steps that it announced, or those up to its early end, in whole epochs but for the last, which
        that or a limit of steps may cut short."""
        if self.steps_per_epoch == 0:
            return False
        due = min(self.steps, self.announced_steps) if self.ended_early else self.announced_steps
        return self.steps == due and self.epoch_steps == (self.steps_per_epoch,) * (due // self.steps_per_epoch)

    @property
    def counts(self) -> str:
        """The steps that were announced beside those that were made, as a sentence."""
        announced = f"{pluralize(self.announced_steps, 'step')}, {self.steps_per_epoch:,} an epoch"
        if self.as_announced and self.steps == self.announced_steps:
            return f"Announced and made: {announced}."
        made = f"{pluralize(self.steps, 'step')} in {pluralize(len(self.epoch_steps), 'whole epoch')}"
        why = f", ended early ({self.reason})" if self.ended_early else ""
        return f"Announced: {announced}; made: {made}{why}."


@dataclass(frozen=True)
class Measured:
    """A step's run, its figures, and what the curves are drawn from."""

    folder: RunFolder
    config: RunConfig
    figures: Figures
    rows: Rows
    checkpoints: tuple[CheckpointInfo, ...]


def measure(folder: RunFolder, killed_at: float | None = None) -> Measured:
    """Read the run in ``folder``. ``killed_at`` is when its first process was killed, in seconds since 1970.

    Raises InputError when the folder cannot be read.
    """
    config, record = folder.config(), folder.status()
    history = History(folder.events_file)
    events = history.poll()
    rows = read_series(folder.series_file)
    checkpoints = tuple(list_checkpoints(folder))
    last = {name: value for event in history.validations for name, value in event.metrics.items()}
    judged = [event for event in history.validations if "val/accuracy" in event.metrics]
    attempt = history.attempts[-1] if history.attempts else None
    samples = history.data.report.samples["train"] if history.data else 0
    classes = history.data.report.counts.get("validation", ()) if history.data else ()
    epoch_seconds = _epoch_seconds(events)
    epoch_steps = tuple(np.diff([0, *(event.step for event in history.epochs)]).tolist())
    steady = sum(epoch_steps[:-1]) + 1
    limit = config.loop.clip_norm or 0.0
    figures = Figures(
        run=folder.id,
        folder=str(folder.path),
        status=record.status or "missing",
        reason=record.reason or "",
        device=attempt.device if attempt else "",
        device_type=(attempt.environment.device_type or "") if attempt else "",
        compute=config.precision.compute,
        data=(attempt.environment.data or "") if attempt else "",
        steps=len(rows),
        announced_steps=history.attempts[0].total_steps if history.attempts else 0,
        steps_per_epoch=attempt.steps_per_epoch if attempt else 0,
        epoch_steps=epoch_steps,
        training_samples=samples,
        train_loss=history.epochs[-1].metrics.get("train/loss", math.nan) if history.epochs else math.nan,
        val_loss=last.get("val/loss", math.nan),
        val_accuracy=last.get("val/accuracy", math.nan),
        validation_samples=sum(classes),
        commonest_class=max(classes) / sum(classes) if sum(classes) else math.nan,
        best_val_accuracy=max((event.metrics["val/accuracy"] for event in judged), default=math.nan),
        test_accuracy=last.get("test/accuracy", math.nan),
        epoch_accuracies=tuple(event.metrics["val/accuracy"] for event in judged),
        seconds=_seconds(events, killed_at),
        epoch_seconds=epoch_seconds,
        samples_per_second=samples / median(epoch_seconds) if epoch_seconds else math.nan,
        skipped=int(rows["skipped"].sum()),
        checkpoint_mb=checkpoints[0].size / 1e6 if checkpoints else math.nan,
        saved_steps=tuple(sorted({event.step for event in events if isinstance(event, CheckpointSaved)})),
        resumed_at=tuple(event.step for event in history.attempts[1:]),
        steady_from=steady,
        clip_norm=limit,
        clipped=_share_over(rows["grad_norm"], limit),
        clipped_steady=_share_over(rows["grad_norm"][steady - 1 :], limit),
    )
    return Measured(folder, config, figures, rows, checkpoints)


def _share_over(norms: NDArray[np.float32], limit: float) -> float:
    return float((norms > limit).mean()) if limit and len(norms) else math.nan


def _epoch_seconds(events: list[Event]) -> tuple[float, ...]:
    """How long each epoch trained that one process saw from beginning to end, validation not counted."""
    found: list[float] = []
    trained, begun, whole = 0.0, math.nan, False
    for event in events:
        if isinstance(event, AttemptStarted):
            trained, whole = 0.0, event.ends_epoch(event.step)
        elif isinstance(event, PhaseChanged) and event.phase == "training":
            begun = event.time
        elif isinstance(event, PhaseChanged) and event.phase == "validating":
            trained += event.time - begun
        elif isinstance(event, EpochEnded):
            found += [trained] if whole else []
            trained, whole = 0.0, True
    return tuple(found)


def _seconds(events: list[Event], killed_at: float | None) -> float:
    """From each start of the work to its end, together; a stretch that was cut off counts to its last sign of life."""
    total, began, last = 0.0, None, 0.0
    for event in events:
        if isinstance(event, AttemptStarted):
            if began is not None:
                total += max(killed_at or last, last) - began
            began = event.time
        if not isinstance(event, PhaseChanged | Finding) or event.kind == "attempt_started":
            last = event.time
    return total + last - began if began is not None else math.nan
