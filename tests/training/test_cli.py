"""The command line as other tools use it: exit codes, one clear sentence, one JSON line."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import main
from training.cli.train import CONTRACT
from training.runs.records.manifest import digest, seal


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
    main(["run", str(config), "--json", "--set", "checkpoints.every_steps=none"])
    run = json_line(capsys)["run"]
    assert f"; the newest is {run}." in refused(["show", "nothing"], capsys)
    assert main(["runs", "--json"]) == 0
    assert [record["run"] for record in json_line(capsys)["runs"]] == [run]
    assert main(["show", run, "--json"]) == 0
    shown = json_line(capsys)
    assert shown["checkpoints"][0]["labels"]
    assert shown["environment"]["torch"]
    capsys.readouterr()
    assert main(["resume", run, "--json"]) == 0
    again = capsys.readouterr()
    record = json.loads(again.out)
    assert (tuple(record), record["step"], record["status"]) == (CONTRACT, 24, "completed")
    begun, _, command = again.err.splitlines()[-1].partition("python -m training ")
    assert begun == f"The run {run} is complete at step 24 (all steps done); to train longer, branch from it: "
    assert refused(["resume", run, "--branch"], capsys).strip().endswith(again.err.splitlines()[-1])
    assert main(["resume", run, "--set", "loader.workers=0"]) == 0  # changes nothing, so there is nothing to do either
    assert "epoch   4" not in capsys.readouterr().err
    assert main([*shlex.split(command), "--json"]) == 0  # as it was told
    longer = json_line(capsys)
    assert (longer["step"], longer["run"] != run) == (48, True)
    shutil.rmtree(longer["folder"])
    assert main(["show", run]) == 0
    text = capsys.readouterr().out
    assert "[dataset]" in text
    assert 'every_steps = "" # unset' in text
    kept = shown["evaluation"]["validation"]
    assert f"validation at step {kept['step']}" in text
    recall = kept["each"]["recall"][0]
    assert sum(kept["confusion"][0]) * recall == pytest.approx(kept["confusion"][0][0])
    assert [line.split()[3] for line in text.splitlines() if line.startswith("  arm 1")] == [f"{recall:.2%}"]


def test_a_run_shorter_than_an_epoch_tells_its_steps_and_their_loss(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--set", "loop.max_steps=6", "--set", "loop.validate_every_steps=6"]) == 0
    told = capsys.readouterr().err
    assert "started: 6 steps (loop.max_steps) in epochs of 8 steps on " in told
    assert "epoch   1  step       6  val/loss" in told
    assert "epoch   1  step       6  train/loss" in told
    assert main(["run", str(config), "--set", "loop.epochs=1"]) == 0
    told = capsys.readouterr().err
    assert "started: 1 epoch of 8 steps on " in told
    assert told.count("train/loss") == told.count("epoch   1  step       8  ") == told.count("val/loss") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "A command is missing; there are run, resume, check, "),
        ("--verbose", "A command is missing; there are run, resume, check, "),
        ("resum x", "There is no command 'resum'; did you mean resume?"),
        ("what x", "There is no command 'what'; there are run, resume, check, "),
        ("run", "The following arguments are required: CONFIG.toml. See python -m training run --help."),
        (
            "run c.toml --wrkspace x",
            "python -m training run has no option '--wrkspace'. See python -m training run --help.",
        ),
        ("runs extra", "python -m training runs does not take 'extra'."),
        ("run c.toml --set", "--set: expected one argument."),
        ("lab --share much", "--share: invalid float value: 'much'."),
        ("generate x --tokens 1.5", "--tokens: invalid int value: '1.5'."),
        ("export x --to zip --out y", "--to: invalid choice: 'zip'"),
    ],
)
def test_words_that_cannot_be_meant_are_told_in_one_sentence(words: str, said: str, capsys: Captured) -> None:
    assert main(words.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(said)
    assert "serve" not in told.err
    assert told.err.count("\n") == 1
    assert "--help." in told.err


def test_presets_run_by_name(capsys: Captured) -> None:
    assert main(["run", "preset:spiral", "--set", "loop.max_steps=5", "--set", "schedule.warmup=0", "--json"]) == 0
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
    for word in ("data opens", "loss", "CPU", "checkpoints"):
        assert word in text
    assert all("fix" in finding for finding in report["findings"])
    assert not Path(os.environ["TRAINWRIGHT_WORKSPACE"]).exists()


def test_check_proposes_settings_as_they_are_typed(config: Path, capsys: Captured) -> None:
    assert main(["check", str(config), "--set", "loop.batch_size=100000"]) == 0
    assert (
        "warning  loop.batch_size is 100,000, more than the 240 training samples: an epoch is a single step. Only steps "
        "change the weights; take smaller batches. Try --set loop.batch_size=8. [batch.too_large]"
    ) in capsys.readouterr().err.splitlines()
    assert main(["check", str(config), "--set", "loop.batch_size=240", "--set", "loop.epochs=100"]) == 0
    assert "--set" not in capsys.readouterr().err
    rows = [f"2025-01-{row % 28 + 1:02d},{row * 7 % 11},{row % 2}" for row in range(120)]
    table = config.with_name("t.csv")
    table.write_text("\n".join(["signup date,x,y", *rows]) + "\n", encoding="utf-8")
    assert main(["check", "preset:table-classes", "--set", f"dataset.path={table}"]) == 0
    assert "Try --set 'dataset.time_column=signup date'." in capsys.readouterr().err


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
        (
            ["loop.epochs=-1", "loop.batch_size=0"],
            ["loop.epochs: must be at least 1, but is -1; loop.batch_size: must be at least 1, but is 0.\n"],
        ),
        (["dataset.limit=1200"], ["[dataset] with kind 'spiral'; known are validation_fraction, "]),
        (["dataset.kind=shapes", "dataset.limit=1200"], ["; the nearest of its ", "are flip, "]),
        (["dataset.kind=torchvision", "dataset.dataset=MNIST"], ["; did you mean 'name'?"]),
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
    (tmp_path / "quote.toml").write_text('[loop]\nname = "a\nepochs = 3')
    assert "(at line 2, column 10). Is the closing quote missing?" in refused(
        ["run", str(tmp_path / "quote.toml")], capsys
    )
    (tmp_path / "bare.toml").write_text("[model]\nkind = mlp")
    assert "Put text into quotes" in refused(["run", str(tmp_path / "bare.toml")], capsys)
    (tmp_path / "twice.toml").write_text("[model]\n[loop]\n[model]")
    assert "Is it there twice?" in refused(["run", str(tmp_path / "twice.toml")], capsys)
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
    "arguments", [["resume"], ["show"], ["run"], ["check"], ["export", "--to", "script", "--out", "o.py"]]
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
    assert main(["runs", "--workspace", str(tmp_path / "nowhere"), "--where", "star"]) == 0
    assert capsys.readouterr() == (f"No runs: there is no folder {tmp_path / 'nowhere'}.\n", "")


def test_a_place_that_no_export_can_take_is_told_before_the_run_is_looked_for(
    config: Path, tmp_path: Path, capsys: Captured
) -> None:
    for form, words in (
        ("onnx", "holds other files"),
        ("openvino", "holds other files"),
        ("script", "a script's name"),
    ):
        assert words in refused(["export", "nosuch", "--to", form, "--out", str(config.parent)], capsys)


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
