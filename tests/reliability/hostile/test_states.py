"""Hostile training states with right digests: none runs, none is unpacked, each is one sentence."""

from __future__ import annotations

import pytest

from tests.cases import some_of
from tests.reliability.hostile.material import Run
from tests.reliability.hostile.states import DAMAGED, STATES
from tests.reliability.hostile.trial import attempt

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("name", some_of(STATES, 4))
def test_a_hostile_training_state_is_one_sentence(name: str, run: Run) -> None:
    STATES[name](run)
    # What is no file at all is a damaged checkpoint like any other: the run goes on from the one before.
    attempt("resume", run.path).judge(0 if name in DAMAGED else 2)
    attempt("show", run.path).judge(0)


@pytest.mark.parametrize("name", ["good state with os.system inside", "bomb of 4 GB", "step of text", "a pipe"])
def test_a_branch_refuses_the_same(name: str, run: Run) -> None:
    STATES[name](run)
    attempt("resume", run.checkpoint, "--set", "loop.epochs=3").judge(2)
    assert [path.name for path in run.path.parent.iterdir()] == [run.path.name]
