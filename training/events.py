"""Rare events of a run: frozen records, one JSON line each in ``events.jsonl``.

Per-step numbers are not events; they go to the series file (``training.runs.records.series``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

from pydantic import JsonValue, TypeAdapter

from training.data_report import DataReport
from training.environment import Environment

FindingLevel = Literal["ok", "info", "warning", "error"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events; ``time`` is seconds since 1970."""

    kind: ClassVar[str] = ""
    time: float = field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True)
class AttemptStarted(Event):
    """A stretch of work begins. ``step`` > 0 means resumed from ``checkpoint``; later rows and events are void."""

    kind: ClassVar[str] = "attempt_started"
    attempt: int
    step: int
    total_steps: int
    steps_per_epoch: int
    epochs: int
    device: str
    checkpoint: str | None = None
    changes: tuple[str, ...] = ()  # settings that differ from the run's own in this attempt
    environment: Environment = field(default_factory=Environment)
    parameters: int = 0  # of the network; 0: an earlier version did not tell
    device_note: str = ""  # why it is this device, where that is worth a word

    def ends_epoch(self, step: int) -> bool:
        """Whether an epoch ends with ``step``."""
        return step % self.steps_per_epoch == 0


@dataclass(frozen=True, kw_only=True)
class Rewound(Event):
    """The run, which had come to ``reached``, went back to ``step``: later rows and events lie set aside with its state of before."""

    kind: ClassVar[str] = "rewound"
    step: int
    reached: int


@dataclass(frozen=True, kw_only=True)
class PhaseChanged(Event):
    """What the engine is busy with: "preparing data", "training", "validating", "paused", "saving"..."""

    kind: ClassVar[str] = "phase_changed"
    phase: str
    fraction: float | None = None


@dataclass(frozen=True, kw_only=True)
class DataPrepared(Event):
    """The dataset is open.

    Of very many classes it names the first, beside their number ("class_count"): ``data.json`` in the run folder has all.
    """

    kind: ClassVar[str] = "data_prepared"
    report: DataReport


@dataclass(frozen=True, kw_only=True)
class Validated(Event):
    """Per-sample averages over a whole split at ``step``; names like "val/accuracy"."""

    kind: ClassVar[str] = "validated"
    step: int
    epoch: int
    metrics: Mapping[str, float]
    improved: bool
    stale: int | None = None
    """With early stopping: the validations since the monitored metric was better by enough, this one included; the run ends when
    there are ``patience`` of them. None of one that decides nothing, and without early stopping."""
    patience: int | None = None

    @property
    def stale_words(self) -> str:
        """ "3 of 5", early stopping's counter; "" where it does not count."""
        return "" if self.stale is None or self.patience is None else f"{self.stale} of {self.patience}"


@dataclass(frozen=True, kw_only=True)
class TextSampled(Event):
    """What a language model goes on with after ``prompt``, at the validation behind ``step``: ``text``, the prompt included."""

    kind: ClassVar[str] = "text_sampled"
    step: int
    epoch: int
    prompt: str
    text: str


@dataclass(frozen=True, kw_only=True)
class RateDropped(Event):
    """The plateau schedule took the learning rate from ``before`` down to ``after``, behind ``step``: ``metric`` had made no
    progress in ``validations`` of them."""

    kind: ClassVar[str] = "rate_dropped"
    step: int
    epoch: int
    before: float
    after: float
    metric: str
    validations: int

    @property
    def words(self) -> str:
        """ "0.01 → 0.001: no progress of val/loss in 4 validations" """
        counted = f"{self.validations:,} validation{'' if self.validations == 1 else 's'}"
        return f"{self.before:.3g} → {self.after:.3g}: no progress of {self.metric} in {counted}"


@dataclass(frozen=True, kw_only=True)
class StepSkipped(Event):
    """The gradient of ``step`` was not finite, so the weights were left as they were.

    ``epoch`` is the number of whole epochs before it; ``samples`` are its samples' numbers in the dataset, ``names`` what
    a person calls the first few of them.
    """

    kind: ClassVar[str] = "step_skipped"
    step: int
    epoch: int
    samples: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EpochEnded(Event):
    """``epoch`` counts from 1 and is validated; ``metrics`` holds that validation's, and "train/loss", the per-sample average
    over the epoch."""

    kind: ClassVar[str] = "epoch_ended"
    step: int
    epoch: int
    metrics: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class CheckpointSaved(Event):
    """``checkpoint`` is the folder's name under ``checkpoints``; ``labels`` it carries now."""

    kind: ClassVar[str] = "checkpoint_saved"
    step: int
    epoch: int
    checkpoint: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Profiled(Event):
    """The profile of the ``steps`` steps up to ``step`` lies in the run folder."""

    kind: ClassVar[str] = "profiled"
    step: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class Finding(Event):
    """Something the person should know: what was found (``title``), on what ``evidence``, and what to do.

    ``code`` is that of a rule in ``training.findings``, "" where none judged; ``place`` is what of the data, the network or the
    settings it is said of, so that two findings are the same where ``key`` is.
    """

    kind: ClassVar[str] = "found"
    level: FindingLevel
    title: str
    advice: str = ""
    code: str = ""
    place: str = ""
    evidence: Mapping[str, JsonValue] = field(default_factory=dict)
    """Numbers, steps, samples, the module: by their names."""
    step: int = 0
    since: int | None = None
    """The step at which it began, where that is another than the one at which it was found."""
    cleared_at: int | None = None
    """The step from which it holds no more."""
    fix: Mapping[str, JsonValue] = field(default_factory=dict)
    """Dotted settings and the values that mend it."""
    set_aside: bool = False  # it tells what was set aside: a window shows that itself, as it is by then

    @property
    def is_telling(self) -> bool:
        """Whether it is more than a note."""
        return self.level in ("warning", "error")

    @property
    def key(self) -> str:
        """``code`` or ``code:place``, by which it is muted."""
        return f"{self.code}:{self.place}" if self.place else self.code


def inform(title: str, advice: str = "", *, step: int = 0, fix: Mapping[str, JsonValue] | None = None) -> Finding:
    """What is good to know; ``fix`` are settings that go with ``advice``."""
    return Finding(level="info", title=title, advice=advice, step=step, fix=fix or {})


def warn(title: str, advice: str = "", *, step: int = 0, fix: Mapping[str, JsonValue] | None = None) -> Finding:
    """What is doubtful or went wrong; ``fix`` are settings that mend it."""
    return Finding(level="warning", title=title, advice=advice, step=step, fix=fix or {})


STOPPED_EARLY, REACHED = "early stopping", "reached"
"""What the ``reason`` of a run begins with that ended before its last step, by ``loop.early_stopping_patience`` or
``loop.stopping_threshold``."""


@dataclass(frozen=True, kw_only=True)
class Completed(Event):
    """The run did everything it was told, or stopped early on its own rule (``reason``)."""

    kind: ClassVar[str] = "completed"
    step: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Stopped(Event):
    """The run was asked to stop and can be resumed; ``reason`` says why when no person asked."""

    kind: ClassVar[str] = "stopped"
    step: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Failed(Event):
    """The run ended by a fault, explained; ``log`` is the end of the technical record. ``fix``, where there is one:
    dotted settings and the values to resume with."""

    kind: ClassVar[str] = "failed"
    step: int
    reason: str
    advice: str = ""
    log: str = ""
    fix: Mapping[str, JsonValue] = field(default_factory=dict)


FINAL_EVENTS = (Completed, Stopped, Failed)

_KINDS: dict[str, type[Event]] = {cls.kind: cls for cls in Event.__subclasses__()}


_NAMED = b'{"kind": "'


def encode(event: Event) -> bytes:
    """One line of JSON, newline included."""
    return (json.dumps({"kind": event.kind, **vars(event)}, default=_record) + "\n").encode()


def _record(model: DataReport | Environment) -> dict[str, JsonValue]:
    return model.record()


def decode(line: bytes) -> Event | None:
    """The event of one line; None for a half-written or damaged line, and for an event of another version."""
    try:
        named = line.startswith(_NAMED)  # as ``encode`` writes it; who else did may have the kind further behind
        kind = line[len(_NAMED) : line.index(b'"', len(_NAMED))].decode() if named else json.loads(line)["kind"]
        return _adapter(kind).validate_json(line)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@lru_cache(maxsize=len(_KINDS))
def _adapter(kind: str) -> TypeAdapter[Event]:
    return TypeAdapter(_KINDS[kind])
