"""The study of seeds, and what all studies have in common: said first, resumable, made of ordinary runs."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.laboratory import child
from training.runs.folder import RunFolder
from training.runs.records.about import read_about
from training.runs.records.series import STEP_ROW, count_rows
from training.studies import trainer
from training.studies.folder import list_studies
from training.studies.spread import compare_pairs, measure_values
from training.system.interpreter import engine_environment


def runs_of(told: dict[str, object], workspace: Path) -> dict[str, RunFolder]:
    details = told["details"]
    assert isinstance(details, dict)
    return {key: RunFolder(workspace / "runs" / name) for key, name in details["runs"].items()}


def test_the_spread_of_seeds_is_that_of_runs_that_anybody_could_have_trained(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str]
) -> None:
    workspace = ["--workspace", str(tmp_path / "ws")]
    assert main(["study", "seeds", str(config), "--seeds", "3", *workspace, "--json"]) == 0
    out, said = capsys.readouterr()
    assert said.index("3 runs of 24 steps each: about ") < said.index("[1/3] tiny seed 0")
    told = json.loads(out.strip().splitlines()[-1])
    found = []
    for seed, run in enumerate(runs_of(told, tmp_path / "ws").values()):
        assert read_about(run).tags == (told["study"],)
        assert (
            main(["run", str(config), "--set", f"seed={seed}", "--set", f"name=tiny seed {seed}", "--json", *workspace])
            == 0
        )
        alone = json_line(capsys)
        assert (Path(alone["folder"]) / "series.bin").read_bytes() == run.series_file.read_bytes()
        found.append(alone["metrics"]["val/accuracy"])
    details = told["details"]
    assert details["values"]["val/accuracy"] == found
    assert details["mean"] == pytest.approx(np.mean(found))
    assert details["std"] == pytest.approx(np.std(found, ddof=1))
    half = 4.303 * details["std"] / math.sqrt(3)  # Student's t with two degrees of freedom
    assert details["high"] - details["mean"] == pytest.approx(half, rel=0.01)
    assert details["noise"] == pytest.approx((details["high"] - details["mean"]) * math.sqrt(6), rel=1e-6)


@pytest.mark.slow
def test_settings_that_change_nothing_are_noise_and_those_that_break_the_run_are_worse(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str]
) -> None:
    command = ["study", "seeds", str(config), "--seeds", "3", "--workspace", str(tmp_path / "ws"), "--json"]
    fixed = ["--set", "checkpoints.monitor=val/loss", "--set", "loop.epochs=20", "--set", "schedule.kind=constant"]
    assert main([*command, *fixed, "--set", "optimizer.lr=0.01", "--against", "optimizer.lr=1e-7"]) == 0
    assert json_line(capsys)["details"]["better"] is False
    assert main([*command, *fixed, "--set", "optimizer.lr=0.01", "--against", "model.dropout=0.11"]) == 0
    told = json_line(capsys)
    assert told["details"]["better"] is None
    assert "it is noise: " in told["sentence"]


def test_runs_that_are_all_alike_tell_nothing_of_chance(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.studies.seeds.read_metrics", lambda _run: {"val/accuracy": 0.5})
    words = ["study", "seeds", str(config), "--seeds", "2", "--set", "checkpoints.monitor=val/accuracy"]
    assert main([*words, "--workspace", str(tmp_path / "ws"), "--json"]) == 0
    sentence = json_line(capsys)["sentence"]
    assert "the same over 2 seeds. Since they do not differ, they do not tell" in sentence
    assert "by up to 0 points" not in sentence


def test_what_was_trained_is_not_trained_again(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = ["--workspace", str(tmp_path / "ws"), "--json"]
    real = vars(trainer)["train"]

    def interrupt_the_second(run: RunFolder, say: child.Say, interrupt: child.Interrupt, look: object) -> child.Ended:
        if len(in_process) == 1:
            interrupt.ask()
            return child.Ended(130, "")
        ended: child.Ended = real(run, say, interrupt, look=look)
        return ended

    with monkeypatch.context() as person:
        person.setattr(trainer, "train", interrupt_the_second)
        assert main(["study", "seeds", str(config), "--seeds", "2", *workspace]) == 130
    stopped = json_line(capsys)
    assert stopped["status"] == "stopped"
    (study,) = list_studies(tmp_path / "ws")
    assert study.result() is None
    assert main(["study", "--resume", study.id[:8], *workspace]) == 0
    assert in_process == ["tiny seed 0", "tiny seed 1"]
    told = json_line(capsys)
    assert len(list((tmp_path / "ws" / "runs").iterdir())) == 2
    assert main(["study", "--resume", study.id, *workspace]) == 0  # told again
    assert json_line(capsys) == told
    assert len(in_process) == 2


def test_a_run_that_was_made_just_before_a_kill_is_not_made_twice(
    config: Path, tmp_path: Path, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    workspace = ["--workspace", str(tmp_path / "ws")]
    with monkeypatch.context() as killer:
        killer.setattr("training.studies.folder.StudyFolder.note_run", die)
        with pytest.raises(Killed):
            main(["study", "seeds", str(config), "--seeds", "2", *workspace])
    (study,) = list_studies(tmp_path / "ws")
    assert main(["study", "--resume", study.id, *workspace]) == 0
    assert len(list((tmp_path / "ws" / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["seeds"], "A study takes a kind"),
        (["seeds", "CONFIG", "--seeds", "1"], "--seeds 1: must be from 2 to 100"),
        (["seeds", "CONFIG", "--against", "seed=0"], "is what the configuration says already"),
        (["seeds", "CONFIG", "--out", "CONFIG"], "is there already"),
        (["--resume", "seeds-1"], "--resume seeds-1: no such study in"),
        (["--resume", "seeds-1", "--set", "seed=1"], "the study knows its kind and configuration"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_leaves_nothing(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], words: list[str], sentence: str
) -> None:
    given = [str(config) if word == "CONFIG" else word for word in words]
    assert main(["study", *given, "--workspace", str(tmp_path / "ws")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "ws").exists()


def test_a_disk_without_room_is_told_before_anything_begins(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("training.studies.folder.shutil.disk_usage", lambda _path: full)
    assert main(["study", "seeds", str(config), "--workspace", str(tmp_path / "ws")]) == 2
    assert "are needed and 1 kB are free" in capsys.readouterr().err
    assert not (tmp_path / "ws").exists()


def test_a_person_at_a_terminal_is_asked(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    words = ["study", "seeds", str(config), "--seeds", "2", "--workspace", str(tmp_path / "ws")]
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(words) == 130
    assert "Nothing was begun." in capsys.readouterr().err
    assert not (tmp_path / "ws").exists()
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(words) == 0
    assert main(["study", "--list", "--workspace", str(tmp_path / "ws"), "--json"]) == 0
    out, told = capsys.readouterr()
    assert "over 2 seeds" in told
    assert json.loads(out)["studies"][0]["complete"] is True


def test_pairs_tell_what_single_runs_cannot() -> None:
    before, after = [0.50, 0.60, 0.70], [0.52, 0.621, 0.719]
    effect = compare_pairs("val/accuracy", before, after)
    assert effect.better is True
    assert effect.difference.value == pytest.approx(0.02)
    assert compare_pairs("val/loss", before, after).better is False
    assert compare_pairs("val/loss", before, after[::-1]).better is None
    assert measure_values([0.5]).n == 1
    assert math.isnan(measure_values([0.5]).noise)


@pytest.mark.server  # many minutes
@pytest.mark.skipif(os.name != "posix", reason="kills by signals")
def test_a_study_killed_in_the_middle_of_a_run_goes_on_to_the_very_same_end(tmp_path: Path, capsys: Captured) -> None:
    save_config(tiny("loop.epochs=400", "loop.layer_norms=false"), tmp_path / "tiny.toml")
    command = ["study", "seeds", str(tmp_path / "tiny.toml"), "--seeds", "2", "--json", "--yes"]
    assert main([*command, "--workspace", str(tmp_path / "unbroken")]) == 0
    unbroken = json_line(capsys)
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "training", *command, "--workspace", str(killed)],
        env=engine_environment(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while sum(count_rows(path, STEP_ROW) for path in killed.glob("runs/tiny-seed-1-*/series.bin")) < 200:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (study,) = list_studies(killed)
    first = study.run_of("as-is-0")
    assert first is not None
    events = first.events_file.read_bytes()
    assert main(["study", "--resume", study.id, "--workspace", str(killed), "--json"]) == 0
    told = json_line(capsys)
    assert first.events_file.read_bytes() == events
    assert told["details"]["values"] == unbroken["details"]["values"]
    broken, whole = runs_of(told, killed), runs_of(unbroken, tmp_path / "unbroken")
    assert len(list((killed / "runs").iterdir())) == 2
    for key, run in whole.items():
        assert broken[key].series_file.read_bytes() == run.series_file.read_bytes()
