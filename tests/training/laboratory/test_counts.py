"""Announced and made steps where one sample is left over, through the command line; and the script beside the report."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.engine.runs.run import resume_run
from training.laboratory import runner
from training.laboratory.child import Ended
from training.laboratory.criteria import judge
from training.laboratory.measure import measure
from training.laboratory.short_script import SCRIPT
from training.runs.folder import RunFolder
from training.runs.records.series import read_series

TINY = (
    "dataset.samples=2401",  # 1,921 to train on: 60 times 32 and one that joins the batch before it
    "dataset.image_size=16",
    "model.channels=[2, 4]",
    "model.hidden=4",
    "loop.epochs=3",
)


@pytest.mark.slow
def test_a_sample_left_over_is_no_missed_step(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps 3 and 4 are trained in this process; the others end at once."""

    def train(run: RunFolder, *_rest: object, **_more: object) -> Ended:
        if run.config().name not in ("lab 3 clip", "lab 4 accumulation"):
            return Ended(1, "Not today.")
        resume_run(str(run.path), run.path.parent.parent)
        return Ended(0, "")

    monkeypatch.setattr(runner, "train", train)
    told = [word for text in TINY for word in ("--set", text)]
    assert main(["lab", "--json", "--workspace", str(tmp_path), *told]) == 1
    report = json_line(capsys)
    steps = {step["key"]: step for step in report["steps"]}
    figures = steps["accumulation"]["figures"]
    assert figures["training_samples"] == 1921
    assert steps["accumulation"]["met"], steps["accumulation"]["found"]
    assert "60 batches of 32 and 15 steps an epoch" in steps["accumulation"]["found"]
    text = (tmp_path / "laboratory" / "report.md").read_text()
    for key in ("clip", "accumulation"):
        figures = steps[key]["figures"]
        assert len(read_series(RunFolder(Path(figures["folder"])).series_file)) == figures["announced_steps"] == 45
        assert figures["epoch_steps"] == [15, 15, 15]
    assert text.count("Announced and made: 45 steps, 15 an epoch.") == 2

    mine = measure(RunFolder(Path(steps["accumulation"]["figures"]["folder"])))
    assert mine.figures.as_announced
    cut = replace(mine.figures, announced_steps=25, steps=25, steps_per_epoch=10, epoch_steps=(10, 10))
    assert cut.as_announced  # by loop.max_steps
    assert not replace(cut, epoch_steps=(10, 5)).as_announced
    stopped = "early stopping: val/accuracy has not improved for 2 validations"
    before = measure(RunFolder(Path(steps["clip"]["figures"]["folder"])))
    early = replace(mine.figures, steps=30, epoch_steps=(15, 15), epoch_seconds=(1.0, 1.0), reason=stopped)
    assert early.as_announced
    assert not replace(early, epoch_steps=(15,)).as_announced
    assert not replace(early, reason="").as_announced
    assert (
        early.counts == f"Announced: 45 steps, 15 an epoch; made: 30 steps in 2 whole epochs, ended early ({stopped})."
    )
    before = measure(RunFolder(Path(steps["clip"]["figures"]["folder"])))
    verdict = judge("accumulation", {"accumulation": replace(mine, figures=early), "clip": before}, {})
    assert verdict.met
    assert verdict.found.endswith(f" The run ended early at step 30 ({stopped}).")
    rough = replace(before.figures, clipped_steady=0.47)
    assert "a larger share of the data" in judge("clip", {"clip": replace(before, figures=rough)}, {}).found
    long = replace(rough, steps=2000, announced_steps=2000, epoch_steps=(15,) * 133)
    assert "a larger share" not in judge("clip", {"clip": replace(before, figures=long)}, {}).found
    wrong = replace(mine, figures=replace(mine.figures, announced_steps=48))
    verdict = judge("accumulation", {"accumulation": wrong}, {})
    assert not verdict.met
    assert verdict.found == "Announced: 48 steps, 15 an epoch; made: 45 steps in 3 whole epochs."


@pytest.mark.slow
def test_the_short_script_beside_the_report_runs(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "train", lambda *_rest, **_more: Ended(1, "Not today."))
    small = ["dataset.samples=300", *TINY[1:]]
    told = [word for text in small for word in ("--set", text)]
    assert main(["lab", "--json", "--workspace", str(tmp_path), *told]) == 1
    script = tmp_path / "laboratory" / json_line(capsys)["script"]["file"]
    for page in ("report.html", "report.md"):
        assert script.name in script.with_name(page).read_text()
    lines = script.read_text().splitlines()
    assert len(lines) <= 150
    assert any(line.lstrip().startswith("class ") for line in lines)
    ended = subprocess.run(
        [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "accuracy" in ended.stdout


def test_a_file_of_ones_own_in_the_place_of_the_short_script_is_kept_and_told_of(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "train", lambda *_rest, **_more: Ended(1, "Not today."))
    out = tmp_path / "laboratory"
    out.mkdir()
    (out / SCRIPT).write_text("mine")
    told = [word for text in ("dataset.samples=300", *TINY[1:]) for word in ("--set", text)]
    assert main(["lab", "--json", "--workspace", str(tmp_path), *told]) == 1
    assert json_line(capsys)["script"]["file"] == ""
    assert (out / SCRIPT).read_text() == "mine"
    for page in ("report.html", "report.md"):
        text = (out / page).read_text()
        assert "no short script beside this page" in text
        assert "is there already and not an export of ours" in text
