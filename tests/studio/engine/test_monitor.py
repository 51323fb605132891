"""The monitor turns a folder into signals; what a resumed attempt made void is said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from studio.engine.monitor import RunMonitor
from studio.engine.state import RunState
from studio.state.runs.live_run import LiveRun
from training.config import RunConfig
from training.events import AttemptStarted, Completed, PhaseChanged
from training.runs.folder import RunFolder, claim, create_run, owner_of, release
from training.runs.owner import Owner
from training.runs.records.history import EventLog
from training.runs.records.series import STEP_ROW, SeriesWriter


def rows(first: int, last: int, loss: float = 1.0) -> np.ndarray[Any, Any]:
    return np.array([(step, 1, 0, 1e-3, loss, 1.0) for step in range(first, last + 1)], STEP_ROW)


def attempt(step: int) -> AttemptStarted:
    return AttemptStarted(attempt=1, step=step, total_steps=100, steps_per_epoch=10, epochs=10, device="cpu")


class Told:
    def __init__(self, monitor: RunMonitor) -> None:
        self.curve: dict[int, float] = {}
        self.truncations: list[int] = []
        self.events: list[object] = []
        self.alive: list[bool] = []
        monitor.rows_arrived.connect(self._on_rows)
        monitor.truncated.connect(self._on_truncated)
        monitor.event_arrived.connect(self.events.append)
        monitor.alive_changed.connect(self.alive.append)

    def _on_rows(self, new: np.ndarray[Any, Any]) -> None:
        assert not self.curve or int(new["step"][0]) > max(self.curve)
        self.curve.update({int(row["step"]): float(row["loss"]) for row in new})

    def _on_truncated(self, step: int) -> None:
        self.truncations.append(step)
        self.curve = {at: loss for at, loss in self.curve.items() if at <= step}


@pytest.fixture
def folder(workspace: Path, config: Callable[..., RunConfig]) -> RunFolder:
    return create_run(workspace, config())


def test_rows_and_events_arrive_once_and_in_order(qtbot: QtBot, folder: RunFolder) -> None:
    monitor = RunMonitor(folder.path)
    told = Told(monitor)
    monitor.look()
    assert told.curve == {}
    log, series = EventLog(folder.events_file), SeriesWriter(folder.series_file, STEP_ROW)
    log.emit(attempt(0))
    series.append(rows(1, 5))
    monitor.look()
    series.append(rows(6, 9))
    log.emit(PhaseChanged(phase="training"))
    monitor.look()
    monitor.look()
    assert sorted(told.curve) == list(range(1, 10))
    assert [type(event) for event in told.events] == [AttemptStarted, PhaseChanged]
    log.close()
    series.close()


@pytest.mark.parametrize("grown_to", [3, 5, 9, 30])
def test_a_resumed_run_reads_as_one_curve_however_late_it_is_looked_at(
    qtbot: QtBot, folder: RunFolder, grown_to: int
) -> None:
    monitor = RunMonitor(folder.path)
    told = Told(monitor)
    log, series = EventLog(folder.events_file), SeriesWriter(folder.series_file, STEP_ROW)
    log.emit(attempt(0))
    series.append(rows(1, 9, loss=1.0))
    monitor.look()
    series.truncate(3)
    log.emit(attempt(3))
    if grown_to > 3:
        series.append(rows(4, grown_to, loss=2.0))
    monitor.look()
    monitor.look()
    assert told.curve == {step: 1.0 if step <= 3 else 2.0 for step in range(1, grown_to + 1)}
    assert told.truncations[0] <= 3
    log.close()
    series.close()


def test_life_and_death_of_the_owner_are_told(qtbot: QtBot, folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.engine.monitor._OWNER_CHECK", 0.0)  # each look asks for the owner
    monitor = RunMonitor(folder.path)
    told = Told(monitor)
    claim(folder.path)
    monitor.start()
    assert told.alive == [True]
    release(folder.path)
    qtbot.waitUntil(lambda: told.alive == [True, False])
    claim(folder.path)
    qtbot.waitUntil(lambda: told.alive == [True, False, True])
    record = json.loads((folder.path / "owner.json").read_text()) | {"pid": 2**22 + 1}
    (folder.path / "owner.json").write_text(json.dumps(record))
    qtbot.waitUntil(lambda: told.alive[-1] is False)
    monitor.stop()


@pytest.mark.parametrize("ends", ["before it is looked at", "while its owner is asked for", "as soon as it is seen"])
def test_a_run_that_completes_is_never_taken_for_one_whose_process_vanished(
    qtbot: QtBot, folder: RunFolder, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Its last word and its owner's leave come at any moment between what a look reads."""
    monkeypatch.setattr("studio.engine.monitor._OWNER_CHECK", 0.0)  # each look asks for the owner
    log = EventLog(folder.events_file)

    def complete() -> None:
        log.emit(Completed(step=7))
        release(folder.path)

    def owner_of_one_that_ends(asked: Path) -> Owner | None:
        if owner_of(asked):
            complete()
        return owner_of(asked)

    claim(folder.path)
    live = LiveRun()
    if ends != "as soon as it is seen":
        log.emit(attempt(0))
    live.attach(folder.path)
    states: list[RunState] = []
    live.state_changed.connect(states.append)
    if ends == "as soon as it is seen":
        log.emit(attempt(0))
        monkeypatch.setattr("studio.engine.monitor._OWNER_CHECK", math.inf)
    if ends == "before it is looked at":
        complete()
    else:
        monkeypatch.setattr("studio.engine.monitor.owner_of", owner_of_one_that_ends)
    live.refresh()
    assert states == [RunState.COMPLETED]
    live.detach()
    log.close()


def test_the_end_is_told_after_every_row(qtbot: QtBot, folder: RunFolder) -> None:
    monitor = RunMonitor(folder.path)
    steps_known_at_the_end: list[int] = []
    told = Told(monitor)

    def note_the_end() -> None:
        if monitor.history.final is not None:
            steps_known_at_the_end.append(max(told.curve))

    monitor.looked.connect(note_the_end)
    log, series = EventLog(folder.events_file), SeriesWriter(folder.series_file, STEP_ROW)
    log.emit(attempt(0))
    series.append(rows(1, 7))
    log.emit(Completed(step=7))
    monitor.look()
    assert steps_known_at_the_end == [7]
    log.close()
    series.close()


def test_a_foreign_file_in_the_folder_ends_the_watch_without_an_exception(qtbot: QtBot, folder: RunFolder) -> None:
    folder.series_file.write_bytes(b"this is not a series of numbers at all, is it? No, it is not.......")
    monitor = RunMonitor(folder.path)
    monitor.start()
    qtbot.wait(150)
    monitor.stop()


def test_it_looks_often_only_while_somebody_works_and_somebody_watches(
    qtbot: QtBot, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.engine.monitor._OWNER_CHECK", 0.0)  # each look asks for the owner
    monitor = RunMonitor(folder.path)
    monitor.start()
    timer = monitor.findChild(QTimer)
    assert timer is not None
    seldom = timer.interval()
    claim(folder.path)
    qtbot.waitUntil(lambda: monitor.alive)
    often = timer.interval()
    assert often < seldom
    monitor.set_visible(False)
    assert timer.interval() == seldom
    monitor.set_visible(True)
    assert timer.interval() == often
    release(folder.path)
    qtbot.waitUntil(lambda: not monitor.alive)
    assert timer.interval() == seldom
    monitor.stop()
