"""The pyramid beside a series says what the series says, whatever became of either."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.tiny import tiny
from training.copies.record import RECORDS
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.pyramid.kept import STEP_CURVES, PyramidWriter, pyramid_path
from training.runs.pyramid.stored import StoredSeries
from training.runs.records.columns import Columns, ColumnsWriter
from training.runs.records.series import STEP_ROW, SeriesWriter

SPIKE = 1000.0


def draw_rows(first: int, stop: int, seed: int = 0) -> np.ndarray:
    """The steps from ``first`` to before ``stop``, with gaps, and the same whatever stretch of them is asked for."""
    rng = np.random.default_rng(seed)
    made = np.zeros(stop - 1, STEP_ROW)
    made["step"] = np.arange(1, stop)
    made["lr"] = 1e-3 * np.arange(1, stop)
    for name in ("loss", "grad_norm"):
        made[name] = rng.normal(size=stop - 1)
    made["loss"][3::97] = np.nan
    made["loss"][640:768] = np.inf  # two buckets of gaps
    return made[first - 1 :]


def write(path: Path, rows: np.ndarray, chunk: int = 777, cut: int | None = None) -> None:
    """Append, as the engine does, after a cut to a step."""
    writer = SeriesWriter(path, STEP_ROW)
    if cut is not None:
        writer.truncate(cut)
    pyramid = PyramidWriter(writer, len(STEP_CURVES))
    for start in range(0, len(rows), chunk):
        writer.append(rows[start : start + chunk])
        pyramid.grow()
    pyramid.close()
    writer.close()


def assert_true(path: Path) -> None:
    """What is kept is what is measured without it; and it is whole."""
    kept = pyramid_path(path).read_bytes()
    pyramid_path(path).unlink()
    StoredSeries(path, keep=True)
    assert pyramid_path(path).read_bytes() == kept


def test_what_is_appended_is_what_is_measured_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    write(path, draw_rows(1, 20_000))
    assert_true(path)
    write(path, draw_rows(9_001, 30_000, seed=1), cut=9_000)
    assert_true(path)
    assert len(pyramid_path(path).read_bytes()) < 0.2 * path.stat().st_size


@pytest.mark.parametrize(
    "fault", ["absent", "shorter", "of another stretch", "damaged", "torn", "of other columns", "a folder"]
)
def test_a_view_is_right_whatever_became_of_the_pyramid(tmp_path: Path, fault: str) -> None:
    path, other = tmp_path / "series.bin", tmp_path / "other" / "series.bin"
    other.parent.mkdir()
    rows = draw_rows(1, 50_000)
    rows["loss"][30_000] = SPIKE
    write(path, rows)
    pyramid = pyramid_path(path)
    content = pyramid.read_bytes()
    if fault == "of another stretch":  # an earlier version resumed the run, and it went on otherwise
        rest = draw_rows(1, 60_000, seed=1)
        rest["loss"][29_000] = 2 * SPIKE
        write(other, np.concatenate([rows[:20_000], rest[20_000:]]))
        content = pyramid_path(other).read_bytes()
    elif fault == "shorter":
        content = content[: len(content) // 2]
    elif fault == "damaged":
        at = len(content) // 3
        content = content[:at] + bytes([content[at] ^ 64]) + content[at + 1 :]
    elif fault == "torn":
        content = content[:-7]
    elif fault == "of other columns":
        content = content[:12] + b"\7" + content[13:]
    pyramid.unlink()
    if fault == "a folder":
        pyramid.mkdir()
    elif fault != "absent":
        pyramid.write_bytes(content)
    series = StoredSeries(path, keep=True)
    curve = series.curve("loss", series.steps)
    for first, last in ((1, 50_000), (25_000, 35_000), (29_990, 30_010)):
        xs, ys = curve.view(first, last, 300)
        assert np.nanmax(ys) == SPIKE
        assert xs[np.nanargmax(ys)] == 30_001
    assert np.isnan(curve.view(650, 760, 30)[1]).all()
    if fault not in ("a folder", "torn"):  # a bucket that is missing at the end is measured by each reader
        assert_true(path)


def test_a_growing_series_is_followed_and_one_that_was_cut_says_so(tmp_path: Path) -> None:
    path = tmp_path / "series.bin"
    write(path, draw_rows(1, 5_000))
    series = StoredSeries(path)
    write(path, draw_rows(5_000, 9_000))
    assert series.grow() == 4_000
    curve, fresh = series.curve("lr", series.steps), StoredSeries(path)
    for mine, theirs in zip(curve.view(1, 9e3, 50), fresh.curve("lr", fresh.steps).view(1, 9e3, 50), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7)
    write(path, draw_rows(3_001, 4_000), cut=3_000)
    assert series.grow() < 0
    assert len(curve.view(1, 9e3, 50)[0]) > 0  # what is gone is a gap until it is opened again
    path.unlink()
    assert np.isnan(curve.view(8_000, 8_050, 100)[1]).all()


def test_columns_of_other_names_have_one_too(tmp_path: Path) -> None:
    path, columns = tmp_path / "parts.bin", Columns(("a", "b"))
    rows = np.zeros(10_000, columns.row)
    rows["step"] = 10 * np.arange(1, 10_001)
    rows["values"] = np.random.default_rng(0).normal(size=(10_000, 2))
    rows["values"][7_777, 1] = SPIKE
    writer = ColumnsWriter(path, columns)
    pyramid = PyramidWriter(writer, 2)
    writer.append(rows)
    pyramid.close()
    writer.close()
    series = StoredSeries(path)
    xs, ys = series.curve("b", series.steps).view(0, 1e5, 100)
    assert (ys.max(), xs[ys.argmax()]) == (SPIKE, 77_780)
    assert_true(path)


def test_a_run_keeps_it_through_a_resume_and_a_rewind_and_copies_leave_it_out(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny("loop.epochs=12"), tmp_path).folder))
    assert_true(folder.series_file)
    resume_run(str(sorted(folder.checkpoints.iterdir())[-2]), tmp_path)
    assert len(StoredSeries(folder.series_file).steps) == 96
    assert_true(folder.series_file)
    assert pyramid_path(folder.series_file).name not in RECORDS


def test_a_run_goes_on_where_its_pyramid_cannot_be_written(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny("loop.epochs=1"), tmp_path).folder))
    pyramid_path(folder.series_file).unlink(missing_ok=True)
    pyramid_path(folder.series_file).mkdir()
    assert resume_run(str(sorted(folder.checkpoints.iterdir())[0]), tmp_path).status == "completed"
