"""Where a run stands, and what may be asked of it then: facts in, one word out, and a table."""

from __future__ import annotations

from enum import StrEnum

from training.control import Command
from training.events import Completed, Event, Failed, Stopped


class RunState(StrEnum):
    """Where a run stands."""

    IDLE = "idle"  # there is no run
    STARTING = "starting"  # given to the engine, no word yet
    PREPARING = "preparing"
    TRAINING = "training"
    VALIDATING = "validating"
    TESTING = "testing"  # once, at the end
    PAUSING = "pausing"
    PAUSED = "paused"
    SAVING = "saving"
    STOPPING = "stopping"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # its process vanished without a word


class RunAction(StrEnum):
    """What a person can do with a run."""

    START = "start"
    PAUSE = "pause"
    CONTINUE = "continue"
    STOP = "stop"
    SAVE = "save"
    VALIDATE = "validate"
    PROFILE = "profile"
    RESUME = "resume"
    BRANCH = "branch"
    EXPORT = "export"
    DELETE = "delete"


STATUS_STATES = {
    "created": RunState.STARTING,
    "running": RunState.TRAINING,
    **{
        state.value: state
        for state in (RunState.PAUSED, RunState.COMPLETED, RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED)
    },
}
"""Where a run stands by the status in its record."""

WORKING = frozenset({RunState.TRAINING, RunState.VALIDATING, RunState.SAVING})
ENDED = frozenset({RunState.COMPLETED, RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED})
LIVE = frozenset(RunState) - ENDED - {RunState.IDLE}

ENABLED: dict[RunAction, frozenset[RunState]] = {
    RunAction.START: ENDED | {RunState.IDLE},
    RunAction.PAUSE: WORKING,
    RunAction.CONTINUE: frozenset({RunState.PAUSING, RunState.PAUSED}),
    RunAction.STOP: LIVE - {RunState.STARTING, RunState.STOPPING},
    RunAction.SAVE: frozenset({RunState.TRAINING, RunState.PAUSED}),
    RunAction.VALIDATE: frozenset({RunState.TRAINING, RunState.PAUSED}),
    RunAction.PROFILE: WORKING,
    RunAction.RESUME: ENDED,
    RunAction.BRANCH: ENDED,
    RunAction.EXPORT: ENDED | WORKING | {RunState.PAUSED},
    RunAction.DELETE: ENDED,
}

_PHASES = {
    "training": RunState.TRAINING,
    "validating": RunState.VALIDATING,
    "testing": RunState.TESTING,
    "saving": RunState.SAVING,
    "paused": RunState.PAUSED,
}

_FINALS: dict[type[Event], RunState] = {
    Completed: RunState.COMPLETED,
    Stopped: RunState.STOPPED,
    Failed: RunState.FAILED,
}


def derive_state(
    *,
    exists: bool = False,
    starting: bool = False,
    alive: bool = False,
    phase: str | None = None,
    final: Event | None = None,
    asked: Command | None = None,
) -> RunState:
    """The state that follows from what is known about a run; ``asked`` is the last command that is not fulfilled yet."""
    if starting:
        return RunState.PREPARING if phase else RunState.STARTING
    if not exists:
        return RunState.IDLE
    if final is not None:
        return _FINALS[type(final)]
    if not alive:
        return RunState.INTERRUPTED
    if asked in (Command.STOP, Command.STOP_NOW):
        return RunState.STOPPING
    state = _PHASES.get(phase or "", RunState.PREPARING)
    if asked is Command.PAUSE and state is not RunState.PAUSED:
        return RunState.PAUSING
    return state


def is_enabled(action: RunAction, state: RunState) -> bool:
    """Whether ``action`` makes sense in ``state``."""
    return state in ENABLED[action]
