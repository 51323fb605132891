"""The series file: rows survive torn tails, cuts and concurrent reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from training.errors import InputError
from training.runs.records.gpu_memory import describe_gpu_memory
from training.runs.records.series import (
    FLUSH_ROW,
    STEP_ROW,
    SeriesReader,
    SeriesWriter,
    is_series,
    read_series,
    read_steps,
)


def rows(first: int, count: int) -> np.ndarray:
    made = np.zeros(count, STEP_ROW)
    made["step"] = np.arange(first, first + count)
    made["loss"] = np.linspace(2.0, 1.0, count)
    return made


def test_rows_come_back_as_written(tmp_path: Path) -> None:
    writer = SeriesWriter(tmp_path / "series.bin", STEP_ROW)
    writer.append(rows(1, 5))
    writer.append(rows(6, 3))
    writer.close()
    assert read_series(tmp_path / "series.bin")["step"].tolist() == list(range(1, 9))


def test_torn_tail_is_cut_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    writer = SeriesWriter(path, STEP_ROW)
    writer.append(rows(1, 4))
    writer.close()
    with path.open("ab") as stream:
        stream.write(b"half a row")
    assert len(read_series(path)) == 4
    again = SeriesWriter(path, STEP_ROW)
    again.append(rows(5, 1))
    again.close()
    assert read_series(path)["step"].tolist() == [1, 2, 3, 4, 5]


def test_reader_sees_only_what_is_new_and_notices_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    reader = SeriesReader(path, STEP_ROW)
    assert len(reader.read()[1]) == 0  # no file yet
    writer = SeriesWriter(path, STEP_ROW)
    writer.append(rows(1, 4))
    assert reader.read()[1]["step"].tolist() == [1, 2, 3, 4]
    writer.append(rows(5, 2))
    cut, new = reader.read()
    assert (cut, new["step"].tolist()) == (False, [5, 6])
    writer.truncate(3)
    cut, whole = reader.read()
    assert (cut, whole["step"].tolist()) == (True, [1, 2, 3])
    writer.close()


def test_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    path.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="not a series"):
        SeriesWriter(path, STEP_ROW)
    with pytest.raises(InputError, match="not a series"):
        read_series(path)


def earlier_rows(count: int) -> np.ndarray:
    """Telemetry before GPU memory was told in three numbers."""
    made = np.zeros(count, np.dtype(FLUSH_ROW.descr[:8]))
    made["step"], made["gpu_memory_mb"] = np.arange(count) + 1, 512.0
    return made


@pytest.mark.parametrize("count", [1, 5])
def test_telemetry_of_an_earlier_version_is_read_and_goes_on_as_it_was(tmp_path: Path, count: int) -> None:
    path = tmp_path / "telemetry.bin"
    SeriesWriter(path, earlier_rows(0).dtype).close()
    with path.open("ab") as stream:
        stream.write(earlier_rows(count).tobytes())
    assert is_series(path, FLUSH_ROW)
    reader = SeriesReader(path, FLUSH_ROW)
    rows = reader.read()[1]
    assert rows.dtype == FLUSH_ROW
    assert rows["step"].tolist() == list(range(1, count + 1))
    assert np.isnan(rows["gpu_allocated_mb"]).all()
    assert describe_gpu_memory(rows[0]) == "537 MB reserved"
    new = np.zeros(2, FLUSH_ROW)
    new["step"], new["gpu_peak_mb"] = (8, 9), 7.0
    writer = SeriesWriter(path, FLUSH_ROW)
    writer.append(new)
    assert writer.rows == count + 2
    writer.close()
    cut, more = reader.read()
    assert (cut, more["step"].tolist()) == (False, [8, 9])
    assert read_series(path, FLUSH_ROW)["step"].tolist() == [*range(1, count + 1), 8, 9]
    assert not is_series(path, STEP_ROW)
    with pytest.raises(InputError, match="not a series"):
        read_series(path, STEP_ROW)


def test_a_stretch_of_steps_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    assert len(read_steps(path, 1, 5)) == 0
    writer = SeriesWriter(path, STEP_ROW)
    writer.append(rows(1, 9))
    writer.close()
    assert read_steps(path, 3, 5)["step"].tolist() == [3, 4, 5]
    assert read_steps(path, -2, 2)["step"].tolist() == [1, 2]
    assert read_steps(path, 8, 99)["step"].tolist() == [8, 9]
    assert len(read_steps(path, 10, 12)) == 0
