"""The state of a run follows from facts; the table says what may be asked then."""

from __future__ import annotations

from typing import Any

import pytest

from studio.engine.state import ENABLED, ENDED, LIVE, RunAction, RunState, derive_state, is_enabled
from training.control import Command
from training.events import Completed, Failed, Stopped


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, RunState.IDLE),
        ({"starting": True}, RunState.STARTING),
        ({"exists": True, "starting": True, "final": Stopped(step=3)}, RunState.STARTING),
        ({"exists": True, "alive": True}, RunState.PREPARING),
        ({"exists": True, "alive": True, "phase": "preparing data"}, RunState.PREPARING),
        ({"exists": True, "alive": True, "phase": "training"}, RunState.TRAINING),
        ({"exists": True, "alive": True, "phase": "validating"}, RunState.VALIDATING),
        ({"exists": True, "alive": True, "phase": "testing"}, RunState.TESTING),
        ({"exists": True, "alive": True, "phase": "training", "asked": Command.PAUSE}, RunState.PAUSING),
        ({"exists": True, "alive": True, "phase": "paused", "asked": Command.PAUSE}, RunState.PAUSED),
        ({"exists": True, "alive": True, "phase": "paused", "asked": Command.STOP}, RunState.STOPPING),
        ({"exists": True, "alive": True, "phase": "saving"}, RunState.SAVING),
        ({"exists": True, "alive": False, "phase": "training"}, RunState.INTERRUPTED),
        ({"exists": True, "alive": False, "phase": "training", "asked": Command.STOP}, RunState.INTERRUPTED),
        ({"exists": True, "alive": True, "final": Completed(step=9)}, RunState.COMPLETED),
        ({"exists": True, "final": Stopped(step=9), "asked": Command.STOP}, RunState.STOPPED),
        ({"exists": True, "final": Failed(step=9, reason="x")}, RunState.FAILED),
    ],
)
def test_state_follows_from_facts(facts: dict[str, Any], state: RunState) -> None:
    assert derive_state(**facts) is state


def test_every_action_has_a_row_and_every_state_a_way_on() -> None:
    assert set(ENABLED) == set(RunAction)
    waiting = {RunState.STARTING, RunState.STOPPING}
    for state in set(RunState) - waiting:
        assert any(is_enabled(action, state) for action in RunAction), state
    assert LIVE.isdisjoint(ENDED)


def test_a_run_that_works_can_be_neither_started_nor_resumed_nor_deleted() -> None:
    for state in LIVE:
        for action in (RunAction.START, RunAction.RESUME, RunAction.DELETE):
            assert not is_enabled(action, state)
    assert not is_enabled(RunAction.STOP, RunState.STOPPING)
