"""Where a run stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Progress:
    """All of it is saved, so that a resumed run goes on with the very next step. Nobody writes it but its own methods."""

    step: int = 0  # attempted optimizer steps
    epoch: int = 0  # whole epochs done
    window: int = 0  # steps done inside the current epoch
    skipped: int = 0  # steps whose gradient was not finite
    skipped_in_a_row: int = 0
    roll_backs: int = 0  # how often too many skips in a row took the run back
    rate_factor: float = 1.0  # by which the schedule's rate is multiplied since then
    loss_sum: float = 0.0  # of the current epoch, over samples
    loss_samples: int = 0
    samples: int = 0  # seen in all
    metrics: dict[str, float] = field(default_factory=dict)
    metrics_step: int = 0  # of the validation they are from
    best_value: float | None = None
    best_step: int = 0
    counted_value: float | None = None  # the monitored metric when early stopping last saw enough of a gain
    stale_validations: int = 0  # since then
    finished: str = ""  # why no further step is due, once that is so
    batch_size: int = 0  # once memory ran out with the one of the settings, which 0 stands for
    evaluation_size: int = 0  # likewise, outside training

    @property
    def best_saved(self) -> int | None:
        """The step whose checkpoint is the best; None before the first validation."""
        return self.best_step if self.best_value is not None else None

    def count_step(self) -> None:
        """A step was attempted."""
        self.step += 1
        self.window += 1

    def count_loss(self, loss: float, samples: int) -> None:
        """The mean loss over the samples of a step that was made, in the order of steps: sums depend on it."""
        self.samples += samples
        self.skipped_in_a_row = 0
        self.loss_sum += loss * samples
        self.loss_samples += samples

    def count_skip(self, samples: int) -> None:
        """A step was not made, as its gradient was not finite."""
        self.samples += samples
        self.skipped += 1
        self.skipped_in_a_row += 1

    def end_epoch(self) -> None:
        """The next step is the first of the next epoch."""
        self.epoch += 1
        self.window = 0
        self.note_train_loss()
        self.loss_sum, self.loss_samples = 0.0, 0

    def note_train_loss(self) -> None:
        """Take the mean training loss over the current epoch's samples so far for a metric."""
        if self.loss_samples:
            self.metrics["train/loss"] = self.loss_sum / self.loss_samples

    def judge(self, metrics: Mapping[str, float], monitor: str, maximize: bool, min_delta: float) -> bool:
        """Remember a validation that counts; return whether it is the best so far.

        Early stopping counts the validations since the one that was better by more than ``min_delta``.
        """
        self.metrics.update(metrics)
        self.metrics_step = self.step
        value = math.nan if math.isnan(metrics["val/loss"]) else metrics[monitor]
        improved = _is_better(value, self.best_value, maximize)
        if _is_better(value, self.counted_value, maximize, min_delta):
            self.counted_value, self.stale_validations = value, 0
        else:
            self.stale_validations += 1
        if improved:
            self.best_value, self.best_step = value, self.step
        return improved

    def has_reached(self, monitor: str, maximize: bool, threshold: float) -> bool:
        """Whether the newest validation that counts was at least as good as that."""
        value = math.nan if math.isnan(self.metrics["val/loss"]) else self.metrics[monitor]
        return value >= threshold if maximize else value <= threshold

    def step_back(self, step: int, epoch: int, window: int) -> None:
        """The steps behind this one do not count."""
        self.step, self.epoch, self.window = step, epoch, window

    def finish(self, reason: str) -> None:
        """No further step is due."""
        self.finished = reason

    def take_smaller_batches(self, size: int) -> None:
        """From here on, for memory."""
        self.batch_size = size

    def evaluate_in_smaller_batches(self, size: int) -> None:
        """From here on, for memory."""
        self.evaluation_size = size

    def set_rate_factor(self, factor: float, roll_backs: int) -> None:
        """Multiply the schedule's rate, after so many roll backs of this run."""
        self.rate_factor, self.roll_backs = factor, roll_backs


def _is_better(value: float, best: float | None, maximize: bool, min_delta: float = 0.0) -> bool:
    """Whether ``value`` is better than ``best`` (None: there is none yet) by more than ``min_delta``. NaN never is."""
    if best is None:
        return not math.isnan(value)
    return (value - best if maximize else best - value) > min_delta
