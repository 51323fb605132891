"""A run that is looked at again and again: only what is new is read, and it adds up to the whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from studio.state.runs.run_library import thin
from studio.state.runs.run_reading import RunReader
from training.config import parse_config
from training.events import AttemptStarted, Event, Validated
from training.runs.folder import RunFolder, create_run
from training.runs.records import series
from training.runs.records.history import EventLog
from training.runs.records.series import STEP_ROW, Rows, SeriesWriter, sample_series


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, parse_config({"name": "long"}))


def rows(first: int, count: int) -> Rows:
    made = np.zeros(count, STEP_ROW)
    made["step"] = np.arange(first, first + count)
    made["loss"] = 1000.0 / made["step"]
    return made


def validated(step: int) -> Event:
    return Validated(step=step, epoch=1, metrics={"val/loss": 1.0}, improved=False)


def started(step: int) -> Event:
    return AttemptStarted(attempt=1, step=step, total_steps=900, steps_per_epoch=9, epochs=100, device="the CPU")


def test_looks_add_up_to_the_whole_and_a_resume_begins_anew(folder: RunFolder) -> None:
    writer, log = SeriesWriter(folder.series_file, STEP_ROW), EventLog(folder.events_file)
    reader = RunReader(folder)
    log.emit(started(0))
    writer.append(rows(1, 300))
    assert len(reader.read().rows) == 300
    writer.append(rows(301, 20))
    log.emit(validated(310))
    new = reader.read()
    assert (new.anew, new.rows["step"].tolist(), len(new.events)) == (False, list(range(301, 321)), 1)
    assert (len(reader.read().rows), len(reader.read().events)) == (0, 0)
    log.emit(started(305))
    writer.truncate(305)
    writer.append(rows(306, 100))  # longer than before: its size alone tells of no cut
    again = reader.read()
    assert again.anew
    assert again.rows["step"].tolist() == list(range(1, 406))
    assert [type(event).__name__ for event in again.events] == ["AttemptStarted", "AttemptStarted"]
    assert not reader.read().anew
    writer.close()
    log.close()
    other = folder.path / "other"  # a state of the run that was set aside, as long as this one
    shutil.copyfile(folder.events_file, other)
    other.replace(folder.events_file)
    assert reader.read().anew
    assert not reader.read().anew


def test_a_thinned_line_reads_no_more_of_a_longer_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "series.bin"
    writer = SeriesWriter(path, STEP_ROW)
    writer.append(rows(1, 2000))
    assert sample_series(path, 40, 64).tobytes() == series.read_series(path).tobytes()  # as few as that: all of them
    writer.append(rows(2001, 198_000))
    writer.close()
    monkeypatch.setattr(series, "read_series", None)  # not the whole
    some = sample_series(path, 40, 64)
    assert some["step"].tolist() == [5000 * part + at for part in range(40) for at in range(1, 65)]
    line = thin(some["loss"])
    assert line[-1] == pytest.approx(1000.0 / 195_032, rel=1e-3)
    assert list(line) == sorted(line, reverse=True)
