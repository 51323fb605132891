"""How the state of a run is called, and in which colour."""

from __future__ import annotations

from studio.engine.state import RunState
from studio.theme import Tone

STATE_WORDS: dict[RunState, tuple[str, Tone]] = {
    RunState.IDLE: ("No run", "neutral"),
    RunState.STARTING: ("Starting", "info"),
    RunState.PREPARING: ("Preparing", "info"),
    RunState.TRAINING: ("Training", "accent"),
    RunState.VALIDATING: ("Validating", "accent"),
    RunState.PAUSING: ("Pausing", "warning"),
    RunState.PAUSED: ("Paused", "warning"),
    RunState.SAVING: ("Saving", "accent"),
    RunState.STOPPING: ("Stopping", "warning"),
    RunState.COMPLETED: ("Completed", "success"),
    RunState.STOPPED: ("Stopped", "neutral"),
    RunState.FAILED: ("Failed", "danger"),
    RunState.INTERRUPTED: ("Interrupted", "warning"),
}

STATUS_WORDS: dict[str, tuple[str, Tone]] = {
    "created": ("Starting", "info"),
    "running": ("Training", "accent"),
    "paused": STATE_WORDS[RunState.PAUSED],
    "completed": STATE_WORDS[RunState.COMPLETED],
    "stopped": STATE_WORDS[RunState.STOPPED],
    "failed": STATE_WORDS[RunState.FAILED],
    "interrupted": STATE_WORDS[RunState.INTERRUPTED],
}


def status_words(status: str) -> tuple[str, Tone]:
    """Word and tone of a status record's status; one of a later version is shown as it is."""
    return STATUS_WORDS.get(status, (status.capitalize(), "neutral"))
