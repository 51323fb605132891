"""Looks at the engine: a file that stays small however long a run is, and in which no extreme and no time is lost."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from training.runs.records.series import FLUSH_ROW, SeriesReader, SeriesWriter, read_series
from training.runs.records.telemetry import TelemetryWriter

MOST, COUNT = 512, 20_000


def looks() -> np.ndarray:
    """Two attempts, with one spike of each kind, over 20,000 looks."""
    rows, generator = np.zeros(COUNT, FLUSH_ROW), np.random.default_rng(0)
    rows["time"] = 1e9 + np.cumsum(generator.uniform(0.05, 0.15, COUNT))
    rows["time"][COUNT // 2 :] += 5000.0
    rows["step"] = np.arange(1, COUNT + 1) * 3
    rows["samples_per_second"] = generator.uniform(500, 1500, COUNT)
    rows["cpu_share"] = generator.uniform(0.4, 0.6, COUNT)
    rows["cpu_share"][1234], rows["cpu_share"][1300] = 1.0, 0.0
    rows["memory_mb"], rows["memory_mb"][4321] = 100.0, 900.0
    rows["gpu_share"] = np.nan
    rows["written_mb"] = np.arange(COUNT)
    return rows


def seconds(rows: np.ndarray) -> float:
    """What the steps took by the throughput, as the time axis of compared runs has it."""
    return float((np.diff(rows["step"]) / rows["samples_per_second"][1:].astype(float)).sum())


@pytest.mark.parametrize("chunk", [1, 97])
def test_older_looks_are_thinned_and_keep_extremes_and_time(tmp_path: Path, chunk: int) -> None:
    path, rows = tmp_path / "telemetry.bin", looks()[: COUNT if chunk > 1 else 2000]
    second = float(rows["time"][len(rows) // 2]) - 1.0
    writer, reader = TelemetryWriter(path, lambda: [1e9, second], MOST), SeriesReader(path, FLUSH_ROW)
    followed, cuts, largest = rows[:0], 0, 0
    for first in range(0, len(rows), chunk):
        writer.append(rows[first : first + chunk])
        largest = max(largest, writer.rows)
        if first % 3 == 0:
            cut, new = reader.read()
            followed, cuts = new if cut else np.concatenate([followed, new]), cuts + cut
    kept = read_series(path, FLUSH_ROW)
    cut, new = reader.read()
    followed = new if cut else np.concatenate([followed, new])
    assert np.array_equal(followed.view(np.uint8), kept.view(np.uint8))
    assert cuts > 2
    assert largest < MOST + 100 < len(rows)
    assert np.array_equal(kept[-100:].view(np.uint8), rows[-100:].view(np.uint8))
    for name in ("cpu_share", "memory_mb", "written_mb"):
        assert (kept[name].min(), kept[name].max()) == (rows[name].min(), rows[name].max())
    assert np.isnan(kept["gpu_share"]).all()
    assert set(kept["time"]) <= set(rows["time"])
    assert (np.diff(kept["time"]) > 0).all()
    assert (np.diff(kept["written_mb"]) > 0).all()
    assert rows["time"][rows["time"] < second].max() in kept["time"], "the end of an attempt is an end of a stretch"
    assert seconds(kept) == pytest.approx(seconds(rows), rel=1e-5)
    at = float(kept["time"][kept["memory_mb"].argmax()])
    if chunk > 1:
        assert abs(at - rows["time"][4321]) < 3000 / MOST * 16
    writer.close()
    again = TelemetryWriter(path, list, MOST)  # as a resume does
    again.append(rows[-1:])
    assert again.rows == len(kept) + 1
    again.close()


def test_a_file_replaced_between_the_look_at_it_and_the_reading_is_read_from_its_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / "telemetry.bin", looks()[:300]
    writer, reader = SeriesWriter(path, FLUSH_ROW), SeriesReader(path, FLUSH_ROW)
    writer.append(rows[:100])
    assert len(reader.read()[1]) == 100
    writer.append(rows[100:250])
    found = os.stat(path)
    writer.replace(rows[50:251])
    with monkeypatch.context() as patched:
        patched.setattr("training.runs.records.series.os.stat", lambda _path: found)
        cut, again = reader.read()
    assert cut
    assert np.array_equal(again.view(np.uint8), rows[50:251].view(np.uint8))
    assert [len(part) for part in reader.read()[1:]] == [0]
    writer.close()
