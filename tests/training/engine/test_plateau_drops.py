"""A drop of the plateau schedule is told: in the history of the run, in the terminal, and no more once a resume has made it void."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.cli import main
from training.config import RunConfig, dump_config
from training.engine.runs.run import resume_run, start_run
from training.events import RateDropped
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.series import read_series


def drops_always(*more: str) -> RunConfig:
    """A threshold that no progress reaches: the rate is halved at each validation but the first."""
    return tiny(
        "precision.device=cpu",
        "dataset.samples=60",
        "loop.batch_size=12",
        "loop.epochs=4",
        "checkpoints.every_steps=1",
        "checkpoints.keep_last=99",
        "checkpoints.monitor=val/loss",
        "optimizer.lr=0.01",
        "schedule.kind=plateau",
        "schedule.patience=0",
        "schedule.threshold=0.99",
        "schedule.factor=0.5",
        *more,
    )


def test_each_drop_is_an_event_that_agrees_with_the_rates(tmp_path: Path) -> None:
    record = start_run(drops_always(), tmp_path)
    folder = RunFolder(Path(record.folder))
    drops = read_history(folder.events_file).drops
    rates = read_series(folder.series_file)["lr"].tolist()
    assert len(drops) == 2  # behind the second and the third epoch of four: the last one has no step behind it
    for drop in drops:
        assert (rates[drop.step - 1], rates[drop.step]) == (drop.before, drop.after)
        assert drop.after == pytest.approx(drop.before / 2)
    assert drops[0].words == "0.01 → 0.005: no progress of val/loss in 1 validation"


def test_a_resume_makes_later_drops_void_and_tells_them_again(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(drops_always(), tmp_path).folder))
    once = [(drop.step, drop.before, drop.after) for drop in read_history(folder.events_file).drops]
    first = once[0][0]
    resume_run(str(folder.checkpoints / f"step-{first - 1:08}"), tmp_path)
    history = read_history(folder.events_file)
    assert [(drop.step, drop.before, drop.after) for drop in history.drops] == once
    told = [json.loads(line)["kind"] for line in folder.events_file.read_text().splitlines()]
    assert told.count(RateDropped.kind) == 2 * len(once)


def test_the_terminal_says_each_drop_below_its_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text(dump_config(drops_always()))
    assert main(["run", str(file), "--workspace", str(tmp_path / "runs"), "--json"]) == 0
    out, err = capsys.readouterr()
    lines = err.splitlines()
    at = next(number for number, line in enumerate(lines) if "lr 0.01 → 0.005" in line)
    assert lines[at].startswith("epoch   2")
    assert lines[at].endswith("no progress of val/loss in 1 validation")
    assert "val/loss" in lines[at - 1]
    assert lines[at - 1].startswith("epoch   2")
    assert main(["show", json.loads(out.splitlines()[-1])["folder"], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [drop["metric"] for drop in shown["rate_drops"]] == ["val/loss", "val/loss"]
