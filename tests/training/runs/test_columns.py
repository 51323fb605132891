"""Named columns over steps: what is written is read while it grows, is cut at a step, and is nothing but numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from training.runs.records.columns import (
    Columns,
    ColumnsReader,
    ColumnsWriter,
    bytes_to,
    copy_columns,
    read_columns_header,
)

LAYERS = Columns(("first", "zweite Schicht ü"))
PARTS = Columns(("a", "b"), (0.25, 2.0))


def rows(columns: Columns, *steps: int) -> np.ndarray:
    made = np.zeros(len(steps), columns.row)
    made["step"] = steps
    made["values"] = np.arange(len(steps) * len(columns.names)).reshape(len(steps), -1)
    return made


def write(path: Path, columns: Columns, *steps: int) -> None:
    writer = ColumnsWriter(path, columns)
    writer.append(rows(columns, *steps))
    writer.close()


@pytest.mark.parametrize("columns", [LAYERS, PARTS])
def test_rows_come_back_with_their_names(tmp_path: Path, columns: Columns) -> None:
    path = tmp_path / "columns.bin"
    reader = ColumnsReader(path)
    assert len(reader.read()[1]) == 0
    write(path, columns, 10, 20, 30)
    cut, found = reader.read()
    assert not cut
    assert reader.columns == columns
    np.testing.assert_array_equal(found, rows(columns, 10, 20, 30))
    write(path, columns, 40)
    cut, new = reader.read()
    assert (cut, new["step"].tolist()) == (False, [40])


def test_torn_tail_is_no_row_and_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "columns.bin"
    write(path, LAYERS, 1, 2)
    with path.open("ab") as stream:
        stream.write(b"half a row")
    assert ColumnsReader(path).read()[1]["step"].tolist() == [1, 2]
    write(path, LAYERS, 3)
    assert ColumnsReader(path).read()[1]["step"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(("step", "left"), [(0, []), (9, []), (10, [10]), (25, [10, 20]), (99, [10, 20, 30])])
def test_cut_keeps_what_is_up_to_the_step(tmp_path: Path, step: int, left: list[int]) -> None:
    path, copy = tmp_path / "columns.bin", tmp_path / "copy.bin"
    write(path, LAYERS, 10, 20, 30)
    reader = ColumnsReader(path)
    reader.read()
    copy_columns(path, copy, step)
    writer = ColumnsWriter(path, LAYERS)
    writer.cut(step)
    writer.close()
    assert path.read_bytes() == copy.read_bytes()
    assert ColumnsReader(path).read()[1]["step"].tolist() == left
    cut, rest = reader.read()
    assert cut == (len(left) < 3)
    assert rest["step"].tolist() == (left if cut else [])


def test_file_of_other_columns_is_begun_again_and_readers_notice(tmp_path: Path) -> None:
    path = tmp_path / "columns.bin"
    write(path, LAYERS, 1, 2, 3)
    reader = ColumnsReader(path)
    reader.read()
    write(path, PARTS, 1, 2, 3, 4)
    cut, found = reader.read()
    assert (cut, found["step"].tolist(), reader.columns) == (True, [1, 2, 3, 4], PARTS)
    path.unlink()
    assert reader.read()[0]
    assert reader.columns is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"TRNWCOLS",
        b"something else entirely, of some length",
        PARTS.header().replace(b"2.0", b"xxx"),
        PARTS.header().replace(b"names", b"title"),
        PARTS.header().replace(b", 2.0", b"     "),
        PARTS.header()[:-3],
        b"TRNWCOLS" + np.array([1, 2**31], "<u4").tobytes() + b"[" * 100_000,
    ],
)
def test_other_files_are_no_columns(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "columns.bin"
    path.write_bytes(content)
    assert read_columns_header(path) is None
    assert len(ColumnsReader(path).read()[1]) == 0
    assert bytes_to(path, 5) == 0
    copy_columns(path, tmp_path / "copy.bin", 5)
    assert not (tmp_path / "copy.bin").exists()
    write(path, PARTS, 1)
    assert ColumnsReader(path).read()[1]["step"].tolist() == [1]
