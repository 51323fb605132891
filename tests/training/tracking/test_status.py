"""What the window and the command line tell of trackers before, while and after a run is sent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import main
from training.runs.folder import RunFolder
from training.sidecars.process import be_alone, is_sending
from training.tracking.settings import (
    MLflow,
    TensorBoard,
    TrackerSettings,
    load_tracker_settings,
    save_tracker_settings,
    settings_file,
)
from training.tracking.status import read_tracker_statuses


def test_what_was_delivered_and_what_waits(config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    assert read_tracker_statuses(folder) == ()
    assert main(["track", run["run"], "--status"]) == 0
    assert capsys.readouterr().out == "The run is sent to no tracker.\n"
    assert main(["track", run["run"], "--to", "tensorboard"]) == 0
    (status,) = read_tracker_statuses(folder)
    assert (status.title, status.delivered, status.waiting, status.complete) == ("TensorBoard", 8, 0, True)
    assert status.problem == ""
    assert main(["resume", run["run"], "--json"]) == 0  # which sends it on
    assert main(["track", run["run"]]) == 0
    capsys.readouterr()
    assert main(["track", run["run"], "--status"]) == 0
    line = "tracker    tensorboard: 24 steps are in tracking/tensorboard, and how the run ended\n"
    assert capsys.readouterr().out == line
    assert main(["show", run["run"]]) == 0
    assert line in capsys.readouterr().out
    assert main(["show", run["run"], "--json"]) == 0
    shown = json_line(capsys)
    assert main(["track", run["run"], "--status", "--json"]) == 0
    assert json_line(capsys)["trackers"] == shown["trackers"]
    assert shown["trackers"][0]["delivered"] == 24


def test_steps_that_the_run_has_no_more_are_told(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    assert main(["run", str(config), "--set", "checkpoints.keep_last=9", "--json"]) == 0
    folder = RunFolder(Path(json_line(capsys)["folder"]))
    assert main(["track", folder.id, "--to", "tensorboard"]) == 0
    assert stopped_run(folder.checkpoints / "step-00000012", capsys, monkeypatch, 16, "resume")["step"] == 16
    assert main(["track", folder.id]) == 0
    (status,) = read_tracker_statuses(folder)
    assert (status.delivered, status.waiting) == (24, 0)
    told = "The last 8 steps there were made before the run went back to an earlier checkpoint: it has 16 now."
    assert status.notes == (told,)


def test_a_tracker_that_cannot_have_the_run_is_told_with_the_reason(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    (config.parent / "file").write_text("no folder")
    save_tracker_settings(TrackerSettings(tensorboard=TensorBoard(folder=str(config.parent / "file"))))
    pytest.importorskip("tensorboard")
    assert main(["track", run["run"]]) == 1
    (status,) = read_tracker_statuses(RunFolder(Path(run["folder"])))
    assert (status.delivered, status.waiting, status.complete) == (0, 24, False)
    assert status.describe().endswith("24 steps wait: " + status.problem.removesuffix("."))
    assert "cannot be written (a file is in the way); make it writable, or choose another folder." in status.problem
    capsys.readouterr()
    assert main(["track", "--test", "tensorboard"]) == 1
    assert "cannot be written (a file is in the way)" in capsys.readouterr().err


def test_whoever_sends_a_run_is_seen_while_it_does(tmp_path: Path) -> None:
    place = RunFolder(tmp_path).tracking
    assert not is_sending(place)
    with be_alone(place, follow=False):
        assert is_sending(place)
    assert not is_sending(place)


def test_a_moved_run_is_sent_no_second_time(config: Path, capsys: Captured, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    assert main(["track", run["run"], "--to", "tensorboard"]) == 0
    there = tmp_path / "elsewhere"
    shutil.move(run["folder"], there)
    before = [path.read_bytes() for path in (there / "tracking" / "tensorboard").iterdir()]
    assert main(["track", str(there), "--to", "tensorboard"]) == 0
    assert [path.read_bytes() for path in (there / "tracking" / "tensorboard").iterdir()] == before


def test_settings_are_written_with_the_person_s_comments(capsys: Captured) -> None:
    save_tracker_settings(TrackerSettings())
    assert settings_file().read_text() == ""
    settings_file().write_text("# mine\n[wandb]\nmode = 'offline' # for now\n")
    before = load_tracker_settings()
    save_tracker_settings(before.model_copy(update={"mlflow": MLflow(url="https://host/mlflow")}))
    assert load_tracker_settings() == TrackerSettings(mlflow=MLflow(url="https://host/mlflow"), wandb=before.wandb)
    assert "# mine" in settings_file().read_text()
    assert "# for now" in settings_file().read_text()


def test_a_connection_is_tried_without_a_run(capsys: Captured) -> None:
    pytest.importorskip("tensorboard")
    assert main(["track", "--test", "tensorboard", "--json"]) == 0
    assert json_line(capsys)["works"] is True
    for words in (["track"], ["track", "a-run", "--test", "tensorboard"]):
        assert main(words) == 2
        assert "Name a run to send, or with --test a tracker to ask" in capsys.readouterr().err
    assert main(["track", "--test", "neptune"]) == 2
    told = capsys.readouterr().err
    assert "neptune" in told
    assert "tensorboard" in told


@pytest.mark.parametrize("package", ["tensorboard", "mlflow", "wandb"])
def test_a_package_that_is_missing_is_one_sentence(package: str, tmp_path: Path) -> None:
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / f"{package}.py").write_text("raise ImportError('not here')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'hide')!r}); from training.cli import main; sys.exit(main({['track', '--test', package]!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{package} is not installed; pip install 'trainwright[{package}]'\n"


def test_the_window_s_part_loads_no_client_and_no_torch() -> None:
    code = (
        "import sys, json; import training.tracking.status, training.tracking.settings, training.sidecars.keys; "
        "print(json.dumps([name for name in ('torch', 'mlflow', 'wandb', 'tensorboard', 'keyring') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
