"""``runs`` and ``show``: what the command line tells of runs that were made."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import main
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


def test_runs_are_listed_in_columns_and_branches_are_marked(config: Path, capsys: Captured) -> None:
    options = ["--set", "loop.batch_size=1", "--set", "loop.epochs=5", "--set", "checkpoints.every_steps=none"]
    main(["run", str(config), *options, "--json"])
    long = json_line(capsys)
    main(["run", str(config), "--set", "name=a rather longer name than the other", "--json"])
    main(["resume", long["run"], "--set", "loop.epochs=6", "--json"])
    branch = json_line(capsys)
    assert main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({line.index(" step ") for line in lines}) == 1
    assert len({line.index("val/accuracy") for line in lines}) == 1
    assert "step 1,200/1,200" in lines[2]
    assert lines[0].startswith(branch["run"])
    assert lines[0].endswith(f"branch of {long['run']}")
    assert main(["show", branch["run"]]) == 0
    told = capsys.readouterr().out
    assert f"branch of  {long['run']}, step-00001200" in told
    assert len(re.findall(r"^(?:train|val)/\w+ +[\d.,%]+ at step 1,440$", told, re.MULTILINE)) >= 3
    exported = ["export", branch["run"], "--to", "safetensors", "--out"]
    for out, is_told in ((config.parent / "far" / "away" / "model", True), (config.parent / "far" / "model", False)):
        assert main([*exported, str(out)]) == 0
        assert (f"The folder {config.parent / 'far'} was not there and was made." in capsys.readouterr().err) is is_told


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    ended = subprocess.run(["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_show_tells_what_a_run_ran_on_and_the_commit_of_its_configuration(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    git(config.parent, "init", "-q")
    git(config.parent, "add", config.name)
    git(config.parent, "commit", "-q", "-m", "Begin")
    run = stopped_run(config, capsys, monkeypatch)
    main(["resume", run["run"], "--set", "checkpoints.keep_last=7"])
    capsys.readouterr()
    assert main(["show", run["run"], "--json"]) == 0
    shown = json_line(capsys)
    first, second = shown["attempts"]
    commit = git(config.parent, "rev-parse", "HEAD")
    assert first["environment"]["code"]["config"] == {"file": str(config), "commit": commit, "dirty": False}
    assert (first["step"], second["step"]) == (0, 8)
    assert second["changes"] == ["checkpoints.keep_last: 3 → 7"]
    facts = shown["environment"]
    assert facts == second["environment"]
    for name in (
        "torch",
        "python",
        "numpy",
        "processor",
        "instructions",
        "platform",
        "threads",
        "device",
        "data",
        "optimizer",
    ):
        assert facts[name], name
    assert facts["seeds"] == {"seed": 0, "dataset.split_seed": 0, "dataset.data_seed": 0}
    assert facts["variables"]["OMP_NUM_THREADS"] == "1"
    assert main(["show", run["run"]]) == 0
    text = capsys.readouterr().out
    assert "attempt    2, " in text
    assert "from step 8, with checkpoints.keep_last: 3 → 7\n" in text
    assert "ran on     CPU with " in text
    assert "variables  " in text
    assert "completed: all steps done\n" in text
    config.write_text(config.read_text() + "\n# changed\n")
    main(["run", str(config), "--json"])
    main(["show", json_line(capsys)["run"]])
    assert f"config at commit {commit}, with changes that are not committed\n" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_hostile_repository_around_a_configuration_runs_nothing(
    config: Path, tmp_path: Path, capsys: Captured
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitattributes").write_text("* filter=evil diff=evil\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Begin")
    done = tmp_path / "executed"
    for key in (
        "core.fsmonitor",
        "core.hooksPath",
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.textconv",
        "core.pager",
    ):
        git(tmp_path, "config", key, f"sh -c 'touch {done}'")
    config.write_text(config.read_text() + "\n# changed\n")
    assert main(["run", str(config), "--json"]) == 0
    folder = RunFolder(Path(json_line(capsys)["folder"]))
    assert read_history(folder.events_file).attempts[0].environment.code["config"].dirty
    assert not done.exists()
    subprocess.run(["git", "-C", str(tmp_path), "status"], capture_output=True, check=False)
    assert done.exists()  # the trap was a real one


def test_show_tells_the_findings_of_the_last_attempt_and_why_it_ended(config: Path, capsys: Captured) -> None:
    wild = ("optimizer.kind=sgd", "optimizer.lr=100.0", "optimizer.weight_decay=10.0", "schedule.kind=constant")
    more = ("loop.clip_norm=none", "loop.max_skipped_steps=3", "loop.epochs=8")
    options = [item for setting in (*wild, *more) for item in ("--set", setting)]
    assert main(["run", str(config), *options, "--json"]) == 1
    run = json_line(capsys)["run"]
    main(["show", run])
    text = capsys.readouterr().out
    assert "failed: The gradient was not finite in" in text
    assert "skipped    step " in text
    assert main(["show", run, "--json"]) == 0
    shown = json_line(capsys)
    assert shown["findings"]
    assert shown["skipped"][-1]["samples"]
    assert [item["level"] for item in shown["findings"]] == [
        line.split()[0] for line in text.splitlines() if line.startswith(("info ", "warning ", "error "))
    ]
