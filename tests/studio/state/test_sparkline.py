"""The small line of a run's loss in the table of runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.state.runs.run_library import thin
from training.runs.records import series
from training.runs.records.series import STEP_ROW, Rows, SeriesWriter, sample_series


def rows(first: int, count: int) -> Rows:
    made = np.zeros(count, STEP_ROW)
    made["step"] = np.arange(first, first + count)
    made["loss"] = 1000.0 / made["step"]
    return made


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
