"""How the state of a run is called, and in which color."""

from __future__ import annotations

from studio.engine.state import STATUS_STATES, RunState
from studio.state.formats import format_metric, metric_title
from studio.theme import Tone
from training.runs.folder import DAMAGED
from training.runs.records.forms import StatusRecord
from training.runs.records.progress import best_of

STATE_WORDS: dict[RunState, tuple[str, Tone]] = {
    RunState.IDLE: ("No run", "neutral"),
    RunState.STARTING: ("Starting", "info"),
    RunState.PREPARING: ("Preparing", "info"),
    RunState.TRAINING: ("Training", "accent"),
    RunState.VALIDATING: ("Validating", "accent"),
    RunState.TESTING: ("Testing", "accent"),
    RunState.PAUSING: ("Pausing", "warning"),
    RunState.PAUSED: ("Paused", "warning"),
    RunState.SAVING: ("Saving", "accent"),
    RunState.STOPPING: ("Stopping", "warning"),
    RunState.COMPLETED: ("Completed", "success"),
    RunState.STOPPED: ("Stopped", "neutral"),
    RunState.FAILED: ("Failed", "danger"),
    RunState.INTERRUPTED: ("Interrupted", "warning"),
}

ENDS: dict[str, tuple[str, Tone]] = {
    "completed": ("completed", "success"),
    "stopped": ("was stopped", "neutral"),
    "failed": ("failed", "danger"),
}
"""What became of a run, by the status in its record, to follow its name."""

UNLISTED = "The runs cannot be listed"
"""The title of a page whose list of runs cannot be read."""


def status_words(status: str) -> tuple[str, Tone]:
    """Word and tone of a status record's status; one of a later version is shown as it is."""
    if status in STATUS_STATES:
        return STATE_WORDS[STATUS_STATES[status]]
    return status.capitalize(), "danger" if status == DAMAGED else "neutral"


def describe_end(record: StatusRecord) -> str:
    """How far a run came that ended, or why it did, and its best value."""
    step = f"Step {record.step:,} of {record.total_steps:,}" if record.total_steps else f"Step {record.step:,}"
    said = f"{step}." if record.status == "completed" else record.reason or step
    best = best_of(record)
    return said if best is None else f"{said} Best {metric_title(best[0])} {format_metric(*best)}."
