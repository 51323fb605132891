"""``python -m training lab`` as a person uses it, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.training.commands import Captured
from tests.training.tiny import write_idx
from training.cli import main
from training.config import parse_config
from training.config.diff import diff
from training.data.arrays.idx_file import read_idx
from training.laboratory.child import Ended
from training.laboratory.plan import device_overrides, step_config, write_share
from training.laboratory.record import KILLED_SERIES, RECORD
from training.laboratory.steps import STEPS
from training.presets import preset_text
from training.report.chart import Curve, line_drawing, smooth
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.series import read_series
from training.toml_text import read_toml


def refusal(arguments: list[str], capsys: Captured) -> str:
    assert main(["lab", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--share", "0"], ["--share 0", "at most 1"]),
        (["--share", "1.5"], ["--share 1.5", "at most 1"]),
        (["--share", "nan"], ["--share nan"]),
        (["--data", "/no/such/place"], ["--data /no/such/place", "does not exist"]),
        (["--data", __file__], ["is a file"]),
        (["--set", "loop.epochs=2"], ["loop.epochs", "at least 3"]),
        (["--set", "loop.max_steps=50"], ["loop.max_steps", "--share"]),
        (["--set", "precision.device=cuda:77"], ["precision.device"]),
        (["--set", "loop.epoch=5"], ["loop.epoch", "epochs"]),
        (["--set", "dataset.kind=spiral"], ["model.kind"]),
        (["--out", f"{__file__}/below"], ["--out", "cannot be made"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    arguments: list[str], words: list[str], capsys: Captured
) -> None:
    sentence = refusal(arguments, capsys)
    for word in words:
        assert word in sentence
    assert not Path(os.environ["TRAINWRIGHT_WORKSPACE"], "runs").exists()


def test_a_folder_without_mnist_files_is_told_of_with_a_share_and_without(tmp_path: Path, capsys: Captured) -> None:
    for share in ([], ["--share", "0.5"]):
        assert main(["lab", "--data", str(tmp_path), *share]) == 2
        (sentence,) = capsys.readouterr().err.splitlines()  # and no step was begun
        assert "train-images-idx3-ubyte" in sentence
    runs = Path(os.environ["TRAINWRIGHT_WORKSPACE"], "runs")
    assert not runs.exists() or not list(runs.iterdir())


def test_too_small_a_share_is_told(tmp_path: Path, capsys: Captured) -> None:
    data = write_idx(tmp_path / "data")
    assert "larger share" in refusal(["--data", str(data), "--share", "0.01"], capsys)


def test_a_share_that_shows_nothing_is_told_of_at_once(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.laboratory.runner.train", lambda *_: Ended(2, "Not today."))
    monkeypatch.setattr("training.laboratory.runner.describe_expected_time", lambda *_: "")
    data = write_idx(tmp_path / "data", samples=960)
    for arguments, steps in (
        (["--data", str(data), "--share", "0.5"], "3 steps"),  # four fifths of 480 in batches of 128
        (["--data", str(data), "--share", "0.5", "--set", "dataset.validation=test"], "4 steps"),
        (["--share", "0.1"], "4 steps"),
    ):
        assert main(["lab", *arguments]) == 2
        warning, first, *_ = capsys.readouterr().err.splitlines()
        assert warning.startswith(f"With this share an epoch has {steps}: ")
        assert f"due every 100 steps, and a run has {5 * int(steps[0])}: steps 6 and 7" in warning
        assert first.startswith("[1/7]")
    assert main(["lab"]) == 2
    assert capsys.readouterr().err.startswith("[1/7]")


def test_a_share_is_the_first_images_of_each_class(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data", samples=240)
    folder = write_share(data, 0.25, tmp_path / "out")
    for prefix, count in (("train", 60), ("t10k", 16)):
        labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte", dimensions=1)
        images = read_idx(folder / f"{prefix}-images-idx3-ubyte", dimensions=3)
        whole = read_idx(data / f"{prefix}-images-idx3-ubyte.gz", dimensions=3)
        assert np.bincount(labels).tolist() == [count // 4] * 4
        assert np.array_equal(images, whole[:count])  # the classes come in turns there
    assert write_share(data, 0.25, tmp_path / "out") == folder
    assert write_share(data, 0.5, tmp_path / "out") != folder


CHANGES = {
    "one_cycle": {"schedule.kind", "optimizer.lr"},
    "clip": {"loop.clip_norm"},
    "accumulation": {"loop.batch_size", "loop.accumulation"},
    "amp": {"precision.compute"},
    "checkpoints": {"checkpoints.every_steps"},
    "crash": set(),
}


def test_each_step_has_one_thing_more_than_the_one_before() -> None:
    configs = [
        parse_config(read_toml(preset_text(step.preset), step.preset), step.preset, paths=False) for step in STEPS
    ]
    for step, before, after in zip(STEPS[1:], configs, configs[1:], strict=False):
        told = {change.path for change in diff(before, after)} - {"name"}
        if step.key == "one_cycle":  # another kind brings its other settings along
            told = {path for path in told if path in CHANGES[step.key] or not path.startswith("schedule.")}
        assert told == CHANGES[step.key], step.key
        assert preset_text(step.preset).startswith("# The references' laboratory")


def test_on_nvidia_gpus_mixed_precision_is_fp16_with_a_scaler_and_every_step_repeats() -> None:
    for step in STEPS:
        assert device_overrides(step, "cpu") == []
        config = step_config(step, ["dataset.kind=shapes", *device_overrides(step, "cuda")])
        assert config.deterministic
        mixed = step.key in ("amp", "checkpoints", "crash")
        assert config.precision.compute == ("fp16" if mixed else "fp32")


def test_no_spike_is_lost_where_a_curve_has_more_points_than_the_drawing() -> None:
    values = np.ones(100_000)
    values[77_777] = 50.0
    drawing = line_drawing("t", "x", "y", [Curve("c", 0, np.arange(100_000.0), values)])
    points = drawing.curves[0].points.split()
    assert len(points) <= 1700
    highest = min(float(point.split(",")[1]) for point in points)
    assert highest < drawing.top + 0.05 * (drawing.bottom - drawing.top)


def test_an_average_begins_unbiased_and_passes_over_what_is_no_number() -> None:
    values = np.array([4.0, 4.0, np.nan, 4.0])
    assert smooth(values)[np.isfinite(values)].tolist() == [4.0] * int(np.isfinite(values).sum())
    long = smooth(np.array([2.0, 0.0] * 500))
    assert long[0] == 2.0
    assert abs(long[-1] - 1.0) < 0.1


@pytest.mark.server  # many minutes
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_the_whole_laboratory_stopped_once_and_gone_on_with(tmp_path: Path) -> None:
    """Real processes, a real kill -9, Ctrl+C in step 2; the second start goes on and ends with every promise kept."""
    data = write_idx(tmp_path / "data", samples=6000, size=8)
    command = [sys.executable, "-m", "training", "lab", "--data", str(data), "--share", "0.8", "--json"]
    command += ["--workspace", str(tmp_path / "w"), "--set", "loop.epochs=6", "--set", "checkpoints.keep_last=50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith("[2/7]"):
                    break
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "Go on with: python -m training lab" in errors
    first = json.loads(output.strip().splitlines()[-1])
    assert first["steps"][0]["figures"]["status"] == "completed"
    assert first["status"] == "stopped"

    second = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert second.returncode == 0, second.stderr
    assert "[1/7] Baseline: done before" in second.stderr
    steps = {step["key"]: step for step in json.loads(second.stdout.strip().splitlines()[-1])["steps"]}
    for key in ("baseline", "one_cycle", "accumulation", "amp", "checkpoints", "crash"):
        assert steps[key]["met"], steps[key]["found"]
    crash, unbroken = (RunFolder(Path(steps[key]["figures"]["folder"])) for key in ("crash", "checkpoints"))
    history = read_history(crash.events_file)
    assert len(history.attempts) == 2
    per_epoch = steps["crash"]["figures"]["steps_per_epoch"]
    assert 0 < history.attempts[1].step <= 3 * per_epoch  # what waited for the disk was lost with the process
    assert crash.series_file.read_bytes() == unbroken.series_file.read_bytes()
    folder = tmp_path / "w" / "laboratory"
    kill = json.loads((folder / RECORD).read_text())["kill"]
    assert kill["epochs"] == 2
    assert len(read_series(folder / KILLED_SERIES)) == kill["step"] <= 3 * per_epoch

    third = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert third.returncode == 0
    assert third.stderr.count("done before") == 7
