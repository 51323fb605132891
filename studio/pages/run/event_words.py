"""What a run told, each event in a line."""

from __future__ import annotations

import time

from studio.state.formats import format_metric, metric_title
from training.events import (
    AttemptStarted,
    CheckpointSaved,
    Completed,
    DataPrepared,
    Event,
    Failed,
    Finding,
    PhaseChanged,
    Profiled,
    RateDropped,
    Rewound,
    StepSkipped,
    Stopped,
    Validated,
)
from training.system.untrusted import escape_unprintable

GROUPS = ("Attempts", "Findings", "Validations", "Checkpoints")
"""What the lines can be filtered by; those of no group are seen among all alone."""

_TOLD = ("training", "validating", "saving")  # phases of which other lines tell


def group_of(event: Event) -> str:
    """One of GROUPS, or ""."""
    if isinstance(event, AttemptStarted | Rewound | Completed | Stopped | Failed):
        return "Attempts"
    if isinstance(event, Finding | StepSkipped | RateDropped):
        return "Findings"
    if isinstance(event, Validated):
        return "Validations"
    return "Checkpoints" if isinstance(event, CheckpointSaved) else ""


def describe_event(event: Event) -> str:
    """Its time and what it says; "" for what is of no use to a reader."""
    words = _words(event)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.time))
    return f"{when}  {escape_unprintable(words, 2000)}" if words else ""


def _words(event: Event) -> str:
    if isinstance(event, AttemptStarted):
        began = f"Attempt {event.attempt} began at step {event.step:,} of {event.total_steps:,} on {event.device}"
        return f"{began}, changed: {', '.join(event.changes)}" if event.changes else began
    if isinstance(event, Finding):
        place = f"step {event.step:,}: " if event.step else ""
        return f"{event.level.capitalize()}, {place}{event.title} {event.advice}".strip()
    if isinstance(event, Validated):
        values = (f"{metric_title(name)} {format_metric(name, value)}" for name, value in event.metrics.items())
        best = ", best so far" if event.improved else ""
        return f"Validated at step {event.step:,}, epoch {event.epoch:,}: {', '.join(values)}{best}"
    if isinstance(event, CheckpointSaved):
        labels = f" ({', '.join(event.labels)})" if event.labels else ""
        return f"Checkpoint saved at step {event.step:,}{labels}"
    if isinstance(event, PhaseChanged):
        return "" if event.fraction is not None or event.phase in _TOLD else event.phase.capitalize()
    return _rare_words(event)


def _rare_words(event: Event) -> str:
    if isinstance(event, Rewound):
        return f"Went back from step {event.reached:,} to step {event.step:,}"
    if isinstance(event, DataPrepared):
        return f"Data ready: {', '.join(f'{count:,} {part}' for part, count in event.report.samples.items())}"
    if isinstance(event, StepSkipped):
        return f"Step {event.step:,} skipped: its gradient norm was not finite"
    if isinstance(event, RateDropped):
        return f"Step {event.step:,}: {event.words}"
    if isinstance(event, Profiled):
        return f"Profiled {event.steps:,} steps up to step {event.step:,}"
    if isinstance(event, Completed):
        return f"Completed at step {event.step:,}: {event.reason}".removesuffix(": ")
    if isinstance(event, Stopped):
        return f"Stopped at step {event.step:,}: {event.reason}".removesuffix(": ")
    if isinstance(event, Failed):
        return f"Failed at step {event.step:,}: {event.reason} {event.advice}".strip()
    return ""
