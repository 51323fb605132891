"""``python -m training doctor``: the same words as while the run trained, and nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.diagnosis.judges import CODES
from training.events import encode, warn
from training.findings import RULES
from training.runs.folder import RunFolder
from training.runs.records.about import About, write_about
from training.runs.records.history import read_history

# A rate that is harmless while it is low, and throws the weights away once it has risen.
SICK = (
    *("--set", "optimizer.kind=sgd", "--set", "optimizer.lr=90", "--set", "optimizer.momentum=0"),
    *("--set", "schedule.kind=linear", "--set", "schedule.warmup=50 %", "--set", "schedule.warmup_start_factor=0.0001"),
    *("--set", "loop.clip_norm=0", "--set", "loop.epochs=20", "--set", "checkpoints.every_steps=1000"),
    *("--set", "optimizer.nesterov=false", "--set", "model.dropout=0", "--set", "loop.decision_boundary=off"),
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_judged_as_it_was_while_it_trained(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), *SICK, "--json"]) == 0
    record = json_line(capsys)
    folder = RunFolder(Path(record["folder"]))
    before = contents(folder.path)
    assert main(["doctor", record["run"], "--json"]) == 2
    judged = json_line(capsys)
    assert contents(folder.path) == before
    [diverged] = [each for each in judged["findings"] if each["code"] == "loss.diverged"]
    assert diverged["level"] == "error"
    assert diverged["fix"] == {"optimizer.lr": 0.05}
    assert 0 < diverged["since"] < diverged["step"] < 160
    live = [each for each in read_history(folder.events_file).findings if each.code in CODES]
    assert [(each.code, each.step, each.since, each.title) for each in live] == [
        (each["code"], each["step"], each["since"], each["title"])
        for each in judged["findings"]
        if each["code"] in CODES
    ]
    assert main(["doctor", record["run"]]) == 2
    told = capsys.readouterr().out
    assert "ERROR    The training loss" in told
    assert f"[loss.diverged] Since step {diverged['since']}." in told


def test_a_healthy_run_is_told_to_be_so(config: Path, capsys: Captured) -> None:
    main(["run", str(config), "--set", "loop.epochs=12", "--set", "checkpoints.every_steps=1000", "--json"])
    record = json_line(capsys)
    assert main(["doctor", record["run"]]) == 0
    told = capsys.readouterr().out
    assert "warning" not in told
    folder = RunFolder(Path(record["folder"]))
    with folder.events_file.open("ab") as stream:
        stream.write(encode(warn("What the events told.", step=3)))
        stream.write(encode(RULES["lr.unusual"].find("warning", "The rate is unusual.")))
        stream.write(encode(RULES["lr.unusual"].find("error", "The rate is none.", place="b")))
    assert main(["doctor", record["run"], "--json"]) == 2
    assert [each["title"] for each in json_line(capsys)["findings"] if each["level"] != "info"] == [
        "The rate is none.", "What the events told.", "The rate is unusual."
    ]  # fmt: skip
    write_about(folder, About(dismissed=("lr.unusual",)))  # no problem, says the person; an error is one
    assert main(["doctor", record["run"], "--json"]) == 2
    judged = json_line(capsys)
    assert [each["title"] for each in judged["findings"] if each["level"] != "info"] == [
        "The rate is none.", "What the events told."
    ]  # fmt: skip
    assert [each["code"] for each in judged["dismissed"]] == ["lr.unusual"]
    main(["doctor", record["run"]])
    assert "put away The rate is unusual. No problem in this run, you said. [lr.unusual]" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["empty", "series", "config", "events"])
def test_what_is_no_run_or_damaged_is_refused_in_a_sentence(config: Path, capsys: Captured, damage: str) -> None:
    main(["run", str(config), "--json"])
    record = json_line(capsys)
    folder = RunFolder(Path(record["folder"]))
    if damage == "empty":
        for path in (folder.events_file, folder.series_file):
            path.unlink()
    elif damage == "series":
        folder.series_file.write_bytes(b"no series at all" * 10)
    elif damage == "config":
        folder.config_file.write_text("[loop", encoding="utf-8")
    else:
        folder.events_file.write_text(json.dumps({"kind": "attempt_started"}) + "\n\0\n", encoding="utf-8")
    assert main(["doctor", record["folder"]]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1


def test_a_run_that_recorded_less_is_judged_by_what_there_is(config: Path, capsys: Captured) -> None:
    main(["run", str(config), "--json"])
    record = json_line(capsys)
    folder = RunFolder(Path(record["folder"]))
    for path in (folder.telemetry_file, folder.layers_file, folder.series_file, folder.status_file):
        path.unlink(missing_ok=True)
    assert main(["doctor", record["folder"]]) == 0
