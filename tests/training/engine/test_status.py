"""``status.json`` while a run works."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.engine.assemble import assemble
from training.engine.runs import status
from training.engine.runs.status import StatusBook
from training.events import AttemptStarted, PhaseChanged, Stopped, Validated
from training.runs.folder import create_run


def test_validations_in_a_row_are_written_seldom_and_the_last_one_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "FRESH_SECONDS", 0.0)
    folder = create_run(tmp_path, tiny())
    book = StatusBook(folder)
    book.session = assemble(tiny(), lambda *_: None)

    def validate(loss: float) -> None:
        assert book.session is not None
        book.session.progress.metrics = {"val/loss": loss}
        book.note(Validated(step=1, epoch=1, metrics={"val/loss": loss}, improved=True))

    def written() -> float:
        return float(folder.status().metrics["val/loss"])

    validate(0.5)
    assert written() == 0.5
    monkeypatch.setattr(status, "FRESH_SECONDS", 1e9)
    for loss in (0.4, 0.3):
        validate(loss)
        book.catch_up()
    assert written() == 0.5
    monkeypatch.setattr(status, "FRESH_SECONDS", 0.0)
    book.catch_up()  # no validation comes any more, only flushes
    assert written() == 0.3
    book.session.progress.metrics = {"val/loss": 0.1}
    book.catch_up()
    assert written() == 0.3  # nothing was told that is not written yet


def test_an_attempt_that_starts_over_does_not_stand_where_the_last_one_was(tmp_path: Path) -> None:
    folder = create_run(tmp_path, tiny())
    folder.write_status(folder.status().model_copy(update={"step": 9, "status": "stopped"}))
    book = StatusBook(folder)
    book.note(PhaseChanged(phase="preparing data"))
    book.session = assemble(tiny(), lambda *_: None)
    book.note(AttemptStarted(attempt=2, step=0, total_steps=24, steps_per_epoch=8, epochs=3, device="cpu"))
    assert folder.status().step == 0


def test_the_time_worked_is_neither_that_of_pauses_nor_that_between_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    folder = create_run(tmp_path, tiny())
    seconds = []
    for _attempt in range(2):
        book = StatusBook(folder)
        for wait, event in (
            (1.0, PhaseChanged(phase="training")),
            (5.0, PhaseChanged(phase="paused")),
            (60.0, PhaseChanged(phase="training")),
            (3.0, Stopped(step=4, reason="")),
        ):
            now += wait
            book.note(event)
        seconds.append(folder.status().seconds)
        now += 3600.0
    assert seconds == [9.0, 18.0]
