"""Runs that are sent to trackers: what is there afterwards is what the run's own files say, once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.training.commands import Captured, json_line, stopped_run
from tests.training.tiny import tiny
from tests.training.tracking.offline_file import read_offline_run
from training.cli import main
from training.engine.runs.run import Hooks, start_run
from training.engine.session import Session
from training.errors import InputError
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.series import read_series
from training.tracking.settings import settings_file
from training.tracking.sidecar import track


def read_scalars(folder: RunFolder) -> dict[str, dict[int, float]]:
    """By TensorBoard's own reader; a step that is there twice is a fault."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder.tracking / "tensorboard"), {"scalars": 0, "images": 0})
    events.Reload()
    found = {}
    for tag in events.Tags()["scalars"]:
        points = events.Scalars(tag)
        assert max(Counter(point.step for point in points).values()) == 1, tag
        found[tag] = {point.step: point.value for point in points}
    assert len(events.Tags()["images"]) == 1
    return found


def expect_all(folder: RunFolder) -> None:
    scalars, rows = read_scalars(folder), read_series(folder.series_file)
    for tag, name in (("train/loss", "loss"), ("train/lr", "lr"), ("train/grad_norm", "grad_norm")):
        assert list(scalars[tag]) == rows["step"].tolist()
        assert np.array_equal(np.array(list(scalars[tag].values()), "f4"), rows[name].astype("f4"))
    validations = {item.step: item.metrics["val/loss"] for item in read_history(folder.events_file).validations}
    assert scalars["val/loss"] == pytest.approx(validations, rel=1e-6)


def test_a_resume_repeats_no_point(config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    track = ["track", run["run"], "--to", "tensorboard"]
    assert main(track) == 0
    assert "tensorboard: all is delivered." in capsys.readouterr().err
    expect_all(folder)
    shutil.rmtree(folder.checkpoints / "step-00000008")  # four steps are computed again
    assert main(["resume", run["run"], "--json"]) == 0
    (event_file,) = (folder.tracking / "tensorboard").iterdir()
    with event_file.open("ab") as stream:
        stream.write(b"what a kill left")
    assert main(track) == 0
    assert "not exact" not in capsys.readouterr().err
    expect_all(folder)
    before = event_file.read_bytes()
    assert main(track) == 0
    assert event_file.read_bytes() == before


def test_points_that_differ_when_computed_again_are_told(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    track = ["track", run["run"], "--to", "tensorboard"]
    assert main(track) == 0
    data = bytearray(folder.series_file.read_bytes())
    data[32 + 5 * 32 + 24 : 32 + 5 * 32 + 28] = np.float32(7).tobytes()  # the loss of step 6
    folder.series_file.write_bytes(data)
    capsys.readouterr()
    assert main(track) == 0
    assert "The resume was not exact: at step 6 loss was" in capsys.readouterr().err
    expect_all(folder)
    assert main(["show", run["run"]]) == 0
    assert "not exact: at step 6" in capsys.readouterr().out


def test_a_run_that_is_sent_has_the_bits_of_one_that_is_not(config: Path, capsys: Captured) -> None:
    pytest.importorskip("tensorboard")
    series = []
    for options in ([], ["--track", "tensorboard"]):
        assert main(["run", str(config), *options, "--json"]) == 0
        folder = RunFolder(Path(json_line(capsys)["folder"]))
        series.append(folder.series_file.read_bytes())
    assert series[0] == series[1]
    assert main(["track", folder.id, "--to", "tensorboard"]) == 0  # waits for the process that the run began
    expect_all(folder)


def test_what_cannot_be_is_said_in_one_sentence(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)["run"]
    assert main(["track", run]) == 2
    assert "No tracker is chosen" in capsys.readouterr().err
    path = settings_file()
    path.parent.mkdir(parents=True)
    for text, words in (
        ("[mlflow]\nurl = 'http://me:secret@host'", "mlflow.url"),
        ("[mlflow]\nurl = 'https://secret@host'", "mlflow.url"),
        ("[mlflaw]", "mlflaw"),
        ("[wandb]\nmode = 'never'", "wandb.mode"),
    ):
        path.write_text(text)
        assert main(["track", run]) == 2
        told = capsys.readouterr().err
        assert words in told
        assert str(path) in told
        assert "secret@" not in told
    assert main(["run", str(config), "--json"]) == 0  # which needs no tracker
    assert json_line(capsys)["status"] == "completed"


def test_a_server_that_is_away_is_told_with_the_way_on(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setattr("training.sidecars.process._PATIENCE_OF_A_PERSON", 0.0)
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    path = settings_file()
    path.parent.mkdir(parents=True)
    path.write_text("[mlflow]\non = false\nurl = 'http://127.0.0.1:9'")
    assert main(["track", run["run"], "--to", "mlflow"]) == 1
    told = capsys.readouterr().err
    assert "cannot be reached" in told
    assert "24 steps wait; send them with: python -m training track" in told


def test_a_tracker_asked_for_at_a_resume_waits_for_no_other_whose_server_is_away(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    run = stopped_run(config, capsys, monkeypatch)
    path = settings_file()
    path.parent.mkdir(parents=True)
    path.write_text("[mlflow]\non = false\nurl = 'http://127.0.0.1:9'")
    begun: list[object] = []
    monkeypatch.setattr("training.tracking.sidecar.start_process", lambda *given: begun.append(given))
    assert main(["resume", run["run"], "--track", "tensorboard", "--json"]) == 0
    assert len(begun) == 1  # it would wait for the process of before, which this is:
    told: list[str] = []
    folder = RunFolder(Path(run["folder"]))
    assert not track(folder, ["mlflow"], True, told.append, 0.0)
    assert told[-1] == "tensorboard: all is delivered."
    expect_all(folder)


def test_a_run_that_is_refused_is_sent_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr("training.tracking.sidecar.start_process", lambda *given: begun.append(given))

    def refuse(_session: Session) -> Sequence[Finding]:
        raise InputError("Not this one.")

    with pytest.raises(InputError, match="Not this one"):
        start_run(tiny(), tmp_path, Hooks(trackers=("tensorboard",), judge=refuse))
    assert begun == []
    start_run(tiny(), tmp_path, Hooks(trackers=("tensorboard",)))
    assert len(begun) == 1


@pytest.mark.slow
def test_offline_weights_and_biases_gets_one_whole_run(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb")
    run = stopped_run(config, capsys, monkeypatch)
    path = settings_file()
    path.parent.mkdir(parents=True)
    path.write_text("[wandb]\nmode = 'offline'")
    track = [sys.executable, "-m", "training", "track", run["run"], "--to", "wandb"]  # its client ends with its process
    subprocess.run(track, check=True)
    path.write_text("[wandb]\non = false\nmode = 'offline'")
    assert main(["resume", run["run"], "--json"]) == 0
    subprocess.run(track, check=True)
    folder = RunFolder(Path(run["folder"]))
    (offline,) = (folder.tracking / "wandb").glob("offline-run-*")
    rows = read_offline_run(next(offline.glob("*.wandb"))).rows
    assert [int(row["_step"]) for row in rows] == list(range(1, 25))
    assert [row["train/loss"] for row in rows] == read_series(folder.series_file)["loss"].astype(float).tolist()
    assert sum("val/loss" in row for row in rows) == len(read_history(folder.events_file).validations)
