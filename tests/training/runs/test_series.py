"""The series file: rows survive torn tails, cuts and concurrent reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from training.errors import InputError
from training.runs.records.series import STEP_ROW, SeriesReader, SeriesWriter, read_series


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
