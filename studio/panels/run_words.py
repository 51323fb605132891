"""How the state of a run is called, and in which color."""

from __future__ import annotations

from studio.engine.state import STATUS_STATES, RunState
from studio.theme import Tone
from training.runs.folder import DAMAGED

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

UNLISTED = "The runs cannot be listed"
"""The title of a page whose list of runs cannot be read."""


def status_words(status: str) -> tuple[str, Tone]:
    """Word and tone of a status record's status; one of a later version is shown as it is."""
    if status in STATUS_STATES:
        return STATE_WORDS[STATUS_STATES[status]]
    return status.capitalize(), "danger" if status == DAMAGED else "neutral"
