"""Events fold into one history, however many attempts wrote them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from training.events import (
    AttemptStarted,
    CheckpointSaved,
    Completed,
    EpochEnded,
    Event,
    PhaseChanged,
    StepSkipped,
    Validated,
    decode,
    encode,
)
from training.runs.records.history import EventLog, History, read_history


def attempt(number: int, step: int) -> AttemptStarted:
    return AttemptStarted(attempt=number, step=step, total_steps=10, steps_per_epoch=5, epochs=2, device="processor")


def validated(step: int, value: float) -> Validated:
    return Validated(step=step, epoch=1, metrics={"val/loss": value}, improved=True)


def test_every_event_survives_the_file() -> None:
    event = Validated(step=3, epoch=1, metrics={"val/loss": 0.5}, improved=False)
    assert decode(encode(event)) == event


def test_lines_that_are_no_events_are_passed_over() -> None:
    assert decode(b'{"kind": "from_the_future", "step": 1}') is None
    assert decode(b'{"kind": "validated", "st') is None
    assert decode(b"[1, 2]") is None
    assert decode(b'{"kind": "validated"}') is None


@pytest.mark.parametrize(
    "event",
    [
        validated(3, math.inf),
        EpochEnded(step=3, epoch=1, metrics={"train/loss": 0.5}),
        CheckpointSaved(step=3, epoch=1, checkpoint="step-00000003", labels=("last", "best")),
        StepSkipped(step=3, epoch=0, samples=(1, 2), names=("a.png", "ü.png")),
        PhaseChanged(phase="validating", fraction=0.5),
    ],
)
def test_an_event_is_read_as_it_was_written_and_half_of_it_is_none(event: Event) -> None:
    line = encode(event)
    assert decode(line) == event
    assert decode(line[:-2]) is None
    assert decode(line + b"more") is None


def test_a_resumed_attempt_voids_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    for event in (attempt(1, 0), validated(5, 0.9), validated(8, 0.8), EpochEnded(step=8, epoch=1, metrics={})):
        log.emit(event)
    log.emit(attempt(2, 5))
    log.emit(validated(8, 0.7))
    log.emit(Completed(step=10))
    log.close()
    history = read_history(path)
    assert [(item.step, item.metrics["val/loss"]) for item in history.validations] == [(5, 0.9), (8, 0.7)]
    assert history.epochs == []
    assert isinstance(history.final, Completed)


def test_a_torn_line_does_not_swallow_the_next_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(encode(attempt(1, 0)) + b'{"kind": "validated", "st')
    history = History(path)
    assert len(history.poll()) == 1  # the torn line may still be growing
    log = EventLog(path)
    log.emit(validated(5, 0.5))
    log.close()
    assert [event.kind for event in history.poll()] == ["validated"]
