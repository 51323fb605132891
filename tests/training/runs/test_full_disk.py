"""What a disk takes only a part of leaves no part behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.small_files import files_no_larger_than
from training.events import Finding, PhaseChanged
from training.runs.records.history import EventLog, read_history
from training.runs.records.series import STEP_ROW, SeriesWriter, read_series


def test_a_row_that_does_not_fit_leaves_no_part(tmp_path: Path) -> None:
    writer, rows = SeriesWriter(tmp_path / "series.bin", STEP_ROW), np.zeros(3, STEP_ROW)
    rows["step"] = [1, 2, 3]
    writer.append(rows)
    with files_no_larger_than(200), pytest.raises(OSError, match="too large"):
        writer.append(rows)
    assert (tmp_path / "series.bin").stat().st_size == 128
    rows["step"] = [4, 5, 6]
    writer.append(rows)
    writer.close()
    assert read_series(tmp_path / "series.bin")["step"].tolist() == [1, 2, 3, 4, 5, 6]


def test_an_event_that_does_not_fit_leaves_no_part(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.emit(PhaseChanged(phase="training"))
    before = path.read_bytes()
    with files_no_larger_than(len(before) + 50), pytest.raises(OSError, match="too large"):
        log.emit(Finding(level="info", title="long" * 100))
    assert path.read_bytes() == before
    log.emit(Finding(level="info", title="short"))
    log.close()
    assert [item.title for item in read_history(path).findings] == ["short"]
