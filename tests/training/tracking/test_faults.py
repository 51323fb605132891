"""What goes wrong with one tracker stays with that one, and nothing counts as sent before it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.commands import Captured, json_line
from tests.training.small_files import files_no_larger_than
from tests.training.tracking.test_tracking import expect_all
from training.cli import main
from training.events import AttemptStarted
from training.runs.folder import RunFolder
from training.runs.records.series import FLUSH_ROW, SeriesReader, SeriesWriter
from training.tracking import delivery
from training.tracking.follower import StepTimes, assign_times
from training.tracking.status import read_tracker_statuses
from training.tracking.to_tensorboard import TensorBoardTarget

Finished = tuple[str, RunFolder]


@pytest.fixture
def finished(config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> Finished:
    pytest.importorskip("tensorboard")
    monkeypatch.setattr("training.sidecars.process._PATIENCE_OF_A_PERSON", 0.0)
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    return run["run"], RunFolder(Path(run["folder"]))


def failing(name: str) -> type[TensorBoardTarget]:
    """A tracker whose client breaks off in the method of that name, having done its work."""

    def fail(target: TensorBoardTarget, *given: Any) -> None:
        getattr(TensorBoardTarget, name)(target, *given)
        raise RuntimeError("nobody knows why")

    return type("Failing", (TensorBoardTarget,), {name: fail})


@pytest.mark.parametrize("name", ["open", "send_points", "send_measured", "send_file", "send_image", "commit", "end"])
def test_what_a_fault_broke_off_is_sent_again_and_once(
    finished: Finished, capsys: Captured, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run, folder = finished
    track = ["track", run, "--to", "tensorboard"]
    with monkeypatch.context() as broken:
        broken.setitem(delivery._TARGETS, "tensorboard", failing(name))
        assert main(track) == 1
    told = capsys.readouterr().err
    assert "TensorBoard's client failed unexpectedly (RuntimeError: nobody knows why)." in told
    assert "Traceback" not in told
    assert "RuntimeError: nobody knows why" in (folder.tracking / "log.txt").read_text()
    assert main(track) == 0
    expect_all(folder)  # with the one image
    (status,) = read_tracker_statuses(folder)
    assert (status.complete, status.problem) == (True, "")


def test_one_tracker_s_fault_leaves_the_others_alone(
    finished: Finished, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, folder = finished

    class Broken:
        def __init__(self, *_: object) -> None: ...

        def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
            raise ZeroDivisionError("in a client")

        def close(self) -> None:
            raise ZeroDivisionError("again")

    monkeypatch.setitem(delivery._TARGETS, "mlflow", Broken)
    assert main(["track", run, "--to", "mlflow", "--to", "tensorboard"]) == 1
    told = capsys.readouterr().err
    assert "mlflow: MLflow's client failed unexpectedly (ZeroDivisionError: in a client). 24 steps wait" in told
    assert "tensorboard: all is delivered." in told
    expect_all(folder)


@pytest.mark.parametrize("size", [40, 1200])
def test_a_full_disk_is_one_sentence_and_all_is_sent_when_there_is_room(
    finished: Finished, capsys: Captured, size: int
) -> None:
    run, folder = finished
    track = ["track", run, "--to", "tensorboard"]
    before = folder.status_file.read_bytes(), folder.series_file.read_bytes()
    with files_no_larger_than(size):
        code = main(track)
    assert code == 1
    told = capsys.readouterr().err
    assert "File too large" in told
    assert "free some space" in told.lower()
    assert told.count("\n") == 1
    assert (folder.status_file.read_bytes(), folder.series_file.read_bytes()) == before
    assert main(track) == 0
    expect_all(folder)


def test_each_look_at_the_engine_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = np.zeros(1000, FLUSH_ROW)
    looks["step"] = np.arange(1, 1001) * 10
    looks["time"] = 100.0 + np.arange(1, 1001) * 0.1 + np.random.default_rng(0).random(1000) * 0.05
    attempts = [
        AttemptStarted(attempt=1, step=0, time=100.0, total_steps=10_000, steps_per_epoch=10, epochs=1000, device="cpu")
    ]
    writer, times, read = SeriesWriter(tmp_path / "telemetry.bin", FLUSH_ROW), StepTimes(tmp_path / "telemetry.bin"), []
    real: Callable[[SeriesReader], Any] = SeriesReader.read

    def count(reader: SeriesReader) -> Any:
        cut, rows = real(reader)
        read.append(len(rows))
        return cut, rows

    monkeypatch.setattr(SeriesReader, "read", count)
    found = []
    for first in range(0, 1000, 50):
        writer.append(looks[first : first + 50])
        found.append(times.assign(np.arange(first * 10 + 1, first * 10 + 501), attempts))
    writer.close()
    assert sum(read) == 1000
    assert np.array_equal(np.concatenate(found), assign_times(np.arange(1, 10_001), attempts, looks))
