"""The laboratory's report over seven real runs, made in this process: its figures are what the runs' folders say."""

from __future__ import annotations

import io
import json
import math
import shlex
import shutil
import xml.etree.ElementTree as ET
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.engine.runs.run import Hooks, resume_run, start_run
from training.events import EpochEnded, Event
from training.laboratory import runner
from training.laboratory.child import Ended
from training.laboratory.plan import data_overrides, step_config
from training.laboratory.record import KILLED_SERIES, RECORD, Kill, LabRecord
from training.laboratory.steps import STEPS
from training.presets import load_preset
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import WEIGHTS, digest, list_checkpoints
from training.runs.records.series import read_series

pytestmark = pytest.mark.slow  # seven runs are trained first

SMALL = (
    "dataset.samples=641",  # 513 to train on: the last one joins the batch before it
    "dataset.image_size=16",
    "model.channels=[4, 8]",
    "model.hidden=16",
    "loop.epochs=4",
    "checkpoints.every_steps=3",
)
ARGUMENTS = ["lab", "--json", *(word for text in SMALL for word in ("--set", text))]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven finished runs, noted as the laboratory notes them; the last was stopped in epoch 3 and resumed."""
    workspace = tmp_path_factory.mktemp("workspace")
    record = LabRecord(workspace / "laboratory", workspace)
    record.folder.mkdir()
    for step in STEPS:
        config = step_config(step, [*data_overrides(None, 1.0), *SMALL])
        if step is not STEPS[-1]:
            record.begin(step.key, RunFolder(Path(start_run(config, workspace).folder)))
            continue
        hooks = Hooks()

        def stop(event: Event, hooks: Hooks = hooks) -> None:
            if isinstance(event, EpochEnded) and event.epoch == 3:
                hooks.control.request_stop()

        hooks.watch = stop
        run = RunFolder(Path(start_run(config, workspace, hooks).folder))
        record.begin(step.key, run)
        rows = read_series(run.series_file)
        (record.folder / KILLED_SERIES).write_bytes(run.series_file.read_bytes())
        record.note_kill(Kill(len(rows), 2, read_history(run.events_file).epochs[-1].time))
        resume_run(str(run.path), workspace)
    return workspace


def lab(workspace: Path, capsys: Captured, code: int = 0) -> dict[str, Any]:
    assert main([*ARGUMENTS, "--workspace", str(workspace)]) == code
    return json_line(capsys)


@pytest.fixture(scope="module")
def found(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the laboratory says of them; "report" is a copy, which later reports of other tests leave alone."""
    before = sorted(path.name for path in (workspace / "runs").iterdir())
    with redirect_stdout(io.StringIO()) as output:
        assert main([*ARGUMENTS, "--workspace", str(workspace)]) == 0
    assert sorted(path.name for path in (workspace / "runs").iterdir()) == before  # nothing is trained twice
    record: dict[str, Any] = json.loads(output.getvalue())
    report, copy = Path(record["report"]), tmp_path_factory.mktemp("first") / "report"
    shutil.copytree(report.parent, copy)
    return record | {"report": str(copy / report.name)}


def test_all_figures_are_the_runs_own(found: dict[str, Any]) -> None:
    assert found["status"] == "completed"
    assert [step["key"] for step in found["steps"]] == [step.key for step in STEPS]
    for step in found["steps"]:
        figures, run = step["figures"], RunFolder(Path(step["figures"]["folder"]))
        status, history, rows = run.status(), read_history(run.events_file), read_series(run.series_file)
        assert figures["val_accuracy"] == status.metrics["val/accuracy"]
        assert figures["val_loss"] == status.metrics["val/loss"]
        assert figures["train_loss"] == status.metrics["train/loss"]
        assert status.best is not None
        assert figures["best_val_accuracy"] == status.best.value
        assert figures["epoch_accuracies"] == [event.metrics["val/accuracy"] for event in history.validations]
        assert figures["steps"] == len(rows) == 4 * figures["steps_per_epoch"] == 16
        assert figures["skipped"] == 0
        assert figures["checkpoint_mb"] == list_checkpoints(run)[0].size / 1e6
        assert history.final is not None
        assert figures["seconds"] <= history.final.time - history.attempts[0].time + 1e-6
        assert figures["samples_per_second"] > 0
        if figures["clip_norm"]:
            assert figures["steady_from"] == 13
            assert figures["clipped"] == pytest.approx(np.mean(rows["grad_norm"] > 1.0))
            assert figures["clipped_steady"] == pytest.approx(np.mean(rows["grad_norm"][12:] > 1.0))
        else:
            assert figures["clipped"] is None


def test_the_verdicts_follow_from_the_figures(found: dict[str, Any]) -> None:
    steps = {step["key"]: step for step in found["steps"]}
    for key in ("baseline", "amp"):  # 16 steps hardly teach anything
        figures = steps[key]["figures"]
        accuracy, guessed, count = (figures[name] for name in ("val_accuracy", "commonest_class", "validation_samples"))
        assert count == 128
        assert steps[key]["met"] == (accuracy > guessed + 3 * math.sqrt(guessed * (1 - guessed) / count))
    assert steps["one_cycle"]["met"]
    assert " were clipped (asked for: fewer than 5%), and " in steps["clip"]["found"]
    assert steps["clip"]["met"] == (steps["clip"]["figures"]["clipped_steady"] < 0.05)
    assert steps["accumulation"]["met"]
    assert steps["accumulation"]["figures"]["steps"] == steps["clip"]["figures"]["steps"]
    assert "bf16" in steps["amp"]["found"]
    for key, other in (("checkpoints", "amp"), ("crash", "checkpoints")):
        same = steps[key]["sameness"]
        assert same["curve"]
        assert same["weights"]
        assert same["whole"]
        runs = [RunFolder(Path(steps[name]["figures"]["folder"])) for name in (key, other)]
        last = [list_checkpoints(run)[0].path for run in runs]
        assert same["digest"] == digest(last[0] / WEIGHTS) == digest(last[1] / WEIGHTS)
    assert steps["checkpoints"]["met"]
    assert steps["crash"]["met"]
    assert steps["crash"]["figures"]["resumed_at"] == [12]


def test_the_page_needs_nothing_else_and_knows_both_themes(found: dict[str, Any]) -> None:
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in page
    for outside in ("http:", "https:", "src=", "<script", "<link", "@import", "url("):
        assert outside not in page
    drawings = [
        ET.fromstring(part[: part.index("</svg>") + 6]) for part in (f"<svg{rest}" for rest in page.split("<svg")[1:])
    ]
    assert len(drawings) == 6
    for drawing in drawings:
        numbers = [
            float(number)
            for line in drawing.iter("polyline")
            for point in line.attrib["points"].split()
            for number in point.split(",")
        ]
        assert all(math.isfinite(number) and -1 <= number <= 881 for number in numbers)
    assert len(list(drawings[0].iter("polyline"))) == 14  # each step's own loss and its average
    for step in found["steps"]:
        assert step["title"] in page
        assert f"{step['figures']['val_accuracy']:.2%}" in page
    text = Path(found["report"]).with_name("report.md").read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 9
    assert len({line.count("|") for line in table}) == 1
    assert json.loads(Path(found["report"]).with_name("report.json").read_text())["steps"] == found["steps"]


def test_a_step_can_be_run_alone_as_the_report_says(found: dict[str, Any]) -> None:
    """The command that stands beside a step gives the configuration that ran."""
    text = Path(found["report"]).with_name("report.md").read_text(encoding="utf-8")
    commands = [line.split("`")[1] for line in text.splitlines() if line.startswith("* Alone: ")]
    assert len(commands) == 7
    for command, step in zip(commands, found["steps"], strict=True):
        words = shlex.split(command)
        assert words[:4] == ["python", "-m", "training", "run"]
        config = load_preset(words[4].removeprefix("preset:"), [word for word in words[5:] if word != "--set"])
        assert config == RunFolder(Path(step["figures"]["folder"])).config()


def test_data_that_changed_between_two_steps_is_told(workspace: Path, capsys: Captured) -> None:
    events = RunFolder(Path(lab(workspace, capsys)["steps"][0]["figures"]["folder"])).events_file
    content = events.read_text()
    fingerprint = read_history(events).attempts[0].environment.data or ""
    events.write_text(content.replace(fingerprint, "another"))
    try:
        assert "changed between two steps" in lab(workspace, capsys)["data"]
    finally:
        events.write_text(content)
    assert "changed" not in lab(workspace, capsys)["data"]


def test_a_histogram_holds_every_step(found: dict[str, Any]) -> None:
    page = Path(found["report"]).read_text(encoding="utf-8")
    drawing = next(f"<svg{part}" for part in page.split("<svg") if 'aria-label="Gradient norm (pre-clip)"' in part)
    titles = [title.text or "" for title in ET.fromstring(drawing[: drawing.index("</svg>") + 6]).iter("title")]
    assert sum(int(title.split(": ")[1].split(" steps")[0]) for title in titles) == 16
    assert "limit 1" in drawing


def test_a_resumed_run_that_differs_in_one_bit_is_told(workspace: Path, capsys: Captured) -> None:
    record = json.loads((workspace / "laboratory" / RECORD).read_text())
    series = RunFolder(workspace / "runs" / record["steps"]["crash"]).series_file
    content = series.read_bytes()
    changed = bytearray(content)
    changed[-8] ^= 1  # the last step's loss
    series.write_bytes(changed)
    try:
        step = lab(workspace, capsys)["steps"][-1]
    finally:
        series.write_bytes(content)
    assert not step["met"]
    assert "at step 16 (loss)" in step["found"]


def test_a_step_that_fails_is_in_the_report_and_in_the_exit_code(
    workspace: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 5's process dies; the others are there. What it left is gone on with at the next start."""
    record_file = workspace / "laboratory" / RECORD
    before = record_file.read_text()
    record = json.loads(before)
    kept = record["steps"].pop("amp")
    record_file.write_text(json.dumps(record))
    monkeypatch.setattr(runner, "train", lambda *_: Ended(1, "<b>The disk</b> has gone."))
    try:
        found = lab(workspace, capsys, code=1)
        broken = json.loads(record_file.read_text())["steps"]["amp"]
    finally:
        record_file.write_text(before)
    assert broken != kept
    assert found["status"] == "failed"
    step = next(step for step in found["steps"] if step["key"] == "amp")
    assert step["failure"] == "<b>The disk</b> has gone."
    assert step["figures"] is None
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "&lt;b&gt;The disk&lt;/b&gt; has gone." in page
    assert "<b>" not in page
