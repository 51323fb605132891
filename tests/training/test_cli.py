"""The command line as other tools use it: exit codes, one clear sentence, one JSON line."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import CONTRACT, main
from training.runs.folder import RunFolder
from training.runs.history import read_history
from training.runs.manifest import digest, seal


def test_run_ends_stdout_with_the_contracts_json(config: Path, capsys: Captured, isolated_home: Path) -> None:
    assert main(["run", str(config), "--json"]) == 0
    record = json_line(capsys)
    assert tuple(record) == CONTRACT
    assert record["status"] == "completed"
    assert set(record["best"]) == {"metric", "value", "step", "checkpoint"}
    assert Path(record["folder"]).parent == isolated_home / "workspace" / "runs"
    assert Path(record["last_checkpoint"]).is_dir()
    assert {"val/accuracy", "val/loss", "train/loss"} <= set(record["metrics"])
    assert record["samples_per_second"] > 0


def test_workspace_and_set_are_obeyed(config: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments = ["run", str(config), "--set", "loop.epochs=1", "--workspace", str(tmp_path / "elsewhere"), "--json"]
    assert main(arguments) == 0
    record = json_line(capsys)
    assert record["epoch"] == 1
    assert Path(record["folder"]).parent == tmp_path / "elsewhere" / "runs"


def test_runs_show_and_resume_know_a_run_by_its_id(config: Path, capsys: Captured) -> None:
    main(["run", str(config), "--json"])
    run = json_line(capsys)["run"]
    assert main(["runs", "--json"]) == 0
    assert [record["run"] for record in json_line(capsys)["runs"]] == [run]
    assert main(["show", run, "--json"]) == 0
    shown = json_line(capsys)
    assert shown["checkpoints"][0]["labels"]
    assert shown["environment"]["torch"]
    assert main(["resume", run, "--json"]) == 0
    assert json_line(capsys)["step"] == 24
    assert main(["show", run]) == 0
    text = capsys.readouterr().out
    assert "[dataset]" in text
    kept = shown["evaluation"]["validation"]
    assert f"validation at step {kept['step']}" in text
    recall = kept["each"]["recall"][0]
    assert sum(kept["confusion"][0]) * recall == pytest.approx(kept["confusion"][0][0])
    assert [line.split()[3] for line in text.splitlines() if line.startswith("  arm 1")] == [f"{recall:.4g}"]


def test_presets_run_by_name(capsys: Captured) -> None:
    assert (
        main(["run", "preset:spiral", "--set", "loop.max_steps=5", "--set", "schedule.warmup_steps=0", "--json"]) == 0
    )
    assert json_line(capsys)["step"] == 5
    assert main(["run", "preset:spirl"]) == 2
    assert "spiral" in capsys.readouterr().err


def test_schema_is_json_schema(capsys: Captured) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"dataset", "model", "optimizer", "schedule", "loop"} <= set(schema["properties"])


def test_check_finds_nothing_wrong_with_a_good_config_and_writes_nothing(config: Path, capsys: Captured) -> None:
    assert main(["check", str(config), "--json"]) == 0
    report = json_line(capsys)
    assert report["ok"]
    text = " ".join(finding["title"] for finding in report["findings"])
    for word in ("data opens", "loss", "processor", "checkpoints"):
        assert word in text
    assert all("fix" in finding for finding in report["findings"])
    assert not Path(os.environ["TRAINWRIGHT_WORKSPACE"]).exists()


def refused(arguments: list[str], capsys: Captured) -> str:
    """The one sentence of a refusal."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    return captured.err


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["optimizer.lr=-1"], ["optimizer.lr", "greater than 0", "-1"]),
        (["loop.batchsize=3"], ["loop.batchsize", "batch_size"]),
        (["optimizer.kind=adamwe"], ["optimizer", "adamw"]),
        (
            ["dataset.kind=idx", "dataset.path=/no/such/place", "model.kind=small_cnn"],
            ["dataset.path", "does not exist"],
        ),
        (["model.kind=small_cnn"], ["model.kind", "mlp"]),
        (["nothing.at=1"], ["nothing", "dataset"]),
        (["loop"], ["section.key=value"]),
        (["loop.epochs=nan"], ["loop.epochs"]),
        (["precision.device=cuda:77"], ["precision.device"]),
    ],
)
def test_wrong_settings_are_one_sentence(
    command: str, overrides: list[str], words: list[str], config: Path, capsys: Captured
) -> None:
    options = [item for override in overrides for item in ("--set", override)]
    if command == "check" and "cuda" in overrides[0]:
        pytest.skip("check reports a missing device as a finding")
    message = refused([command, str(config), *options], capsys)
    for word in words:
        assert word in message
    assert not Path(os.environ["TRAINWRIGHT_WORKSPACE"], "runs").exists() or not any(
        Path(os.environ["TRAINWRIGHT_WORKSPACE"], "runs").iterdir()
    )


def test_a_missing_or_broken_config_is_one_sentence(tmp_path: Path, capsys: Captured) -> None:
    assert "no such file" in refused(["run", str(tmp_path / "none.toml")], capsys)
    (tmp_path / "broken.toml").write_text("[loop\nepochs = 3")
    assert "not valid TOML" in refused(["run", str(tmp_path / "broken.toml")], capsys)
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    assert "cannot be read as text" in refused(["run", str(tmp_path / "binary.toml")], capsys)


def test_an_empty_folder_is_one_sentence(tmp_path: Path, config: Path, capsys: Captured) -> None:
    (tmp_path / "empty").mkdir()
    options = ["--set", "dataset.kind=image_folder", "--set", f"dataset.path={tmp_path / 'empty'}"]
    code = main(["run", str(config), *options, "--set", "model.kind=small_cnn"])
    error = capsys.readouterr().err
    assert code == 2
    assert str(tmp_path / "empty") in error
    assert "Traceback" not in error


def test_resume_of_nothing_is_one_sentence(tmp_path: Path, capsys: Captured) -> None:
    assert "no such run" in refused(["resume", "nothing"], capsys)


@pytest.mark.parametrize(
    "arguments", [["resume"], ["show"], ["run"], ["check"], ["export", "--to", "script", "--out", "o"]]
)
@pytest.mark.parametrize("path", ["~nobody-of-that-name/run", "x" * 300, "", ".", "two\nlines"])
def test_odd_paths_are_one_sentence(arguments: list[str], path: str, capsys: Captured) -> None:
    message = refused([arguments[0], path, *arguments[1:]], capsys)
    assert len(message) < 500


def test_a_config_that_is_a_folder_is_called_so(tmp_path: Path, capsys: Captured) -> None:
    assert "is a folder" in refused(["run", str(tmp_path)], capsys)


def test_odd_workspaces_are_one_sentence(config: Path, tmp_path: Path, capsys: Captured) -> None:
    assert "home folder" in refused(["runs", "--workspace", "~nobody-of-that-name/x"], capsys)
    assert str(config) in refused(["run", str(config), "--workspace", str(config)], capsys)


def test_one_set_sets_one_thing(config: Path, capsys: Captured) -> None:
    assert "loop.epochs" in refused(["run", str(config), "--set", "loop.epochs=1\nseed=2"], capsys)


def test_the_json_is_strict_whatever_the_metrics_became(config: Path, capsys: Captured) -> None:
    wild = ("optimizer.kind=sgd", "optimizer.lr=100.0", "optimizer.weight_decay=10.0", "schedule.kind=constant")
    options = [item for setting in (*wild, "loop.clip_norm=none", "loop.epochs=1") for item in ("--set", setting)]
    assert main(["run", str(config), *options, "--json"]) == 0
    line = capsys.readouterr().out.strip().splitlines()[-1]

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    assert json.loads(line, parse_constant=refuse)["metrics"]["val/loss"] is None


class Evil:
    """What an attacker would put into a checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return (shutil.copy, (str(self.path), f"{self.path}.executed"))


def test_a_hostile_pickle_is_refused_and_not_executed(config: Path, tmp_path: Path, capsys: Captured) -> None:
    main(["run", str(config), "--json"])
    checkpoint = Path(json_line(capsys)["last_checkpoint"])
    state = checkpoint / "state.pt"
    state.write_bytes(pickle.dumps(Evil(config)))
    assert checkpoint.name in refused(["resume", str(checkpoint)], capsys)  # its digest is wrong
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    manifest["files"]["state.pt"] = {"bytes": state.stat().st_size, "sha256": digest(state)}
    (checkpoint / "manifest.json").write_text(json.dumps(seal(manifest)))
    code = main(["resume", str(checkpoint)])
    assert code == 2
    assert "not loaded" in capsys.readouterr().err
    assert not Path(f"{config}.executed").exists()


def test_a_dry_run_tells_what_a_resume_would_do_and_does_nothing(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    before = {path: path.stat().st_mtime_ns for path in Path(run["folder"]).rglob("*")}
    options = ["--set", "optimizer.kind=sgd", "--set", "loader.workers=0", "--dry-run"]
    assert main(["resume", run["run"], *options]) == 0
    text = capsys.readouterr().err
    assert "branches off and goes on where the checkpoint stands" in text
    assert "  restored  the weights\n" in text
    assert "  changed   optimizer.kind: adamw → sgd\n" in text
    assert "  ignored   AdamW's moments and step counts, because the optimizer is SGD now\n" in text
    assert "  note      no result depends on loader.workers\n" in text
    assert main(["resume", run["run"], *options, "--json"]) == 0
    sheet = json_line(capsys)
    assert not sheet["same_run"]
    assert sheet["continues"]
    assert {"setting": "optimizer.kind", "from": "adamw", "to": "sgd"} in sheet["changed"]
    assert Path(sheet["checkpoint"]).name == "step-00000008"
    assert {path: path.stat().st_mtime_ns for path in Path(run["folder"]).rglob("*")} == before
    assert len(list(Path(run["folder"]).parent.iterdir())) == 1


def test_a_dry_run_of_what_is_refused_is_the_refusal(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    for options in (["--dry-run"], []):
        assert "another model" in refused(["resume", run["run"], "--set", "model.hidden=[8, 8]", *options], capsys)


def test_a_resume_with_set_tells_its_sheet_before_it_trains(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    assert main(["resume", run["run"], "--set", "optimizer.weight_decay=0.5"]) == 0
    text = capsys.readouterr().err
    assert text.index("  changed   optimizer.weight_decay: 0.01 → 0.5") < text.index("epoch   2")
    assert main(["resume", run["run"], "--set", "checkpoints.keep_last=9"]) == 0
    text = capsys.readouterr().err
    assert text.startswith("The same run goes on.\n")
    assert "no result depends on checkpoints.keep_last" in text


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
    assert f"branch of  {long['run']}, step-00001200" in capsys.readouterr().out


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
    assert "ran on     processor with " in text
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
    assert read_history(folder.events_file).attempts[0].environment["code"]["config"]["dirty"]
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
