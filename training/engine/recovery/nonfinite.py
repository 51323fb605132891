"""Steps whose gradient was not finite: each is told with its samples, the first is looked into, too many end the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from training.diagnosis.rates import scale_rate
from training.engine.recovery.cause import instead_of_fp16, sample_names
from training.engine.recovery.preceding import look_back
from training.engine.recovery.producer import INPUT, TARGET
from training.engine.recovery.replay import Anchor, Skip, explain
from training.engine.session import Session
from training.errors import TrainingError, pluralize
from training.events import Event, Finding, StepSkipped
from training.findings.nonfinite import SKIPPED

MOST_EVENTS = 1000
MOST_SAMPLES = 1_000_000
MOST_AT_ONCE = 100_000
"""What an attempt lists at most, so that a bad run does not fill the disk: about 8 MB of numbers."""

NORMAL_WITH_SCALER = 3
"""Skips in a row that fp16's gradient scaler needs now and then to find a scale that fits."""


class TooManySkips(TrainingError):
    """``loop.max_skipped_steps`` steps in a row were skipped, the last of them ``step``."""

    def __init__(self, message: str, advice: str, fix: Mapping[str, JsonValue], step: int, count: int) -> None:
        super().__init__(message, advice, fix)
        self.step = step
        self.first = step - count + 1


class NonFiniteLog:
    """Tells of skipped steps. Which it tells of is a function of the step, whenever the numbers were fetched. On the CPU that is at
    once, so the cause of the first is sought in the very step; on other devices with the weights as they are by then, and the text
    says so."""

    def __init__(self, session: Session, emit: Callable[[Event], None], series: Path) -> None:
        self._session = session
        self._series = series
        self._emit = emit
        self._spoiled = find_spoiled(session)
        self._anchor = Anchor.drop(session)
        self._events = 0
        self._samples = 0
        self._looked = False
        self._found: Finding | None = None
        self._before = session.progress.skipped

    def note(self, skip: Skip) -> None:
        """Tell of one skipped step; of the first with its cause."""
        self._list(skip)
        normal = NORMAL_WITH_SCALER if self._session.numerics.scaler.is_enabled() else 0
        if not self._looked and skip.in_a_row > normal:
            self._looked = True
            before = look_back(self._series, skip.step)
            self._found = explain(self._session, skip, self._anchor, before, self._spoiled)
            self._emit(self._found)

    def remember(self) -> None:
        """Keep where the random generators stand, so that a step that comes next can be computed again."""
        if not self._looked:
            self._anchor = Anchor.drop(self._session)

    def _list(self, skip: Skip) -> None:
        if self._events > MOST_EVENTS or self._samples > MOST_SAMPLES:
            return
        samples = tuple(self._session.data.window_samples(skip.epoch, skip.window)[:MOST_AT_ONCE].tolist())
        self._events += 1
        self._samples += len(samples)
        if self._events > MOST_EVENTS or self._samples > MOST_SAMPLES:
            title = f"From step {skip.step:,} on, skipped steps are counted but not listed any more."
            self._emit(SKIPPED.find("info", title, step=skip.step))
            return
        names = sample_names(self._session, samples)
        self._emit(StepSkipped(step=skip.step, epoch=skip.epoch, samples=samples, names=names))

    def refuse(self) -> None:
        """Raise TooManySkips where the last step counted made the row too long."""
        progress, config = self._session.progress, self._session.config
        count = progress.skipped_in_a_row
        if count < config.loop.max_skipped_steps:
            return
        times = pluralize(progress.roll_backs, "roll back")
        again = f", and so they were after {times} to a lower learning rate" if progress.roll_backs else ""
        message = (
            f"The gradient was not finite in {pluralize(count, 'step')} in a row, up to step {progress.step:,}{again}; the "
            "weights were left as they were before."
        )
        if self._is_known_to_need_no_setting(progress.step - count):
            assert self._found is not None
            told = f"What made it so is named at step {self._found.step:,}, and no setting mends it: do what is said there, then resume."
            raise TooManySkips(message, told, {}, progress.step, count)
        if self._session.numerics.scaler.is_enabled():
            other = instead_of_fp16(self._session.device)
            advice = f"Resume as a branch that computes in {other}, which holds larger numbers than fp16."
            raise TooManySkips(message, advice, {"precision.compute": other}, progress.step, count)
        advice = (
            "Resume as a branch with a learning rate ten times lower, from the best checkpoint or the last; where the loss "
            "had grown long before, start a new run with it."
        )
        raise TooManySkips(message, advice, scale_rate(config, 0.1), progress.step, count)

    def _is_known_to_need_no_setting(self, after: int) -> bool:
        """Whether the step that was looked into lies behind ``after``, and samples or a line of a person's own code are to blame for it."""
        found = self._found
        if found is None or found.step <= after or found.fix or found.evidence.get("exact") is not True:
            return False
        return "line" in found.evidence or found.evidence.get("source") in (INPUT, TARGET)

    def summarize(self) -> None:
        """Say how many steps this attempt skipped, if any."""
        progress = self._session.progress
        count = progress.skipped - self._before
        if count <= 0:  # a roll back may have gone behind where the attempt began
            return
        title = f"Skipped: {pluralize(count, 'step')} whose gradient was not finite."
        advice = "A few are normal with fp16. Many mean that the learning rate is too high, unless another finding names their cause."
        if progress.skipped == progress.step:
            title = f"Nothing was learned: no gradient was finite, so the run's {pluralize(count, 'step')} left the weights alone."
            advice = "Begin with other weights, look for broken samples, or use fp32 or bf16 in the place of fp16."
        self._emit(SKIPPED.find("warning", title, advice, evidence={"skipped": count}, step=progress.step))


def find_spoiled(session: Session) -> str:
    """The first weight that is not finite; "" where all are."""
    weights = dict(session.model.named_parameters())
    fine = [value.isfinite().all() for value in weights.values()]
    return next((name for name, each in zip(weights, fine, strict=True) if not each), "")
