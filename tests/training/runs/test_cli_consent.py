"""Whose word lets a file of code run: a person's on the command line, never the configuration's own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.training.commands import Captured, json_line
from tests.training.data.text_sample import write_text
from training.cli import main
from training.config.consent import is_agreed
from training.runs.cli_consent import code_to_agree
from training.runs.folder import RunFolder

CODE = """
from pathlib import Path

import torch
from torch import nn

(Path(__file__).parent / "trace").touch()


def build(features: int, classes: int, width: int = 4) -> nn.Module:
    return nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, classes))
"""
SPELLER = """
from torch import nn


def build(vocabulary: int, context: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(vocabulary, 4), nn.Linear(4, vocabulary))
"""
RUN = """
[dataset]
kind = "spiral"
samples = 60
[loop]
max_steps = 2
batch_size = 12
[schedule]
kind = "constant"
[precision]
device = "cpu"
"""
OWN = '{}[model]\nkind = "user_file"\npath = "network.py"\n{}'


def digest_of(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A configuration that brings its code, and that code's digest, along."""
    (tmp_path / "network.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "run.toml").write_text(OWN.format(RUN, f'trusted = "{digest_of(CODE)}"\n'), encoding="utf-8")
    return tmp_path / "run.toml"


def forget(home: Path) -> None:
    """As on the computer of somebody who was never asked."""
    stores = list(home.rglob("trusted.json"))
    assert stores
    for store in stores:
        store.unlink()
    assert not is_agreed(digest_of(CODE))


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_configuration_cannot_agree_to_its_own_code(command: str, stranger: Path, capsys: Captured) -> None:
    assert main([command, str(stranger), "--json"]) == 2
    told = capsys.readouterr()
    assert "model.trusted: nobody has agreed on this computer to run network.py; read it" in told.err
    assert not (stranger.parent / "trace").exists()
    assert not is_agreed(digest_of(CODE))
    assert main([command, str(stranger), "--set", "loop.max_steps=1", "--json"]) == 2  # no word about the code either
    assert main([command, str(stranger), "--trust", "--json"]) == 0
    assert (stranger.parent / "trace").exists()


def test_a_preset_cannot_either(
    stranger: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("training.presets.preset_text", lambda _name: stranger.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "preset:spiral"]) == 2
    assert "nobody has agreed on this computer" in capsys.readouterr().err
    assert not (tmp_path / "trace").exists()
    assert main(["run", "preset:spiral", "--trust"]) == 0


def test_a_digest_that_somebody_types_is_no_word(stranger: Path, capsys: Captured) -> None:
    other = digest_of(CODE + "\n")
    assert main(["check", str(stranger), "--set", f"model.trusted={other}"]) == 2
    assert "has changed since you agreed" in capsys.readouterr().err
    assert not (stranger.parent / "trace").exists()
    assert main(["run", str(stranger), "--set", f"model.trusted={digest_of(CODE)}"]) == 2
    assert "nobody has agreed on this computer" in capsys.readouterr().err
    assert not (stranger.parent / "trace").exists()


def test_what_is_no_digest_is_no_word(stranger: Path, capsys: Captured) -> None:
    for given, told in (
        (
            "true",
            "model.trusted: cannot be True; leave it out, read the file, then agree to run it (on the command line: --trust)",
        ),
        (
            "yes",
            "model.trusted: needs your consent: read network.py, then agree to run it (on the command line: --trust)",
        ),
    ):
        assert main(["check", str(stranger), "--set", f"model.trusted={given}"]) == 2
        assert told in capsys.readouterr().err
    assert not (stranger.parent / "trace").exists()


def test_a_parameter_of_build_is_told_where_it_belongs(stranger: Path, capsys: Captured) -> None:
    assert main(["check", str(stranger), "--set", "model.width=8"]) == 2
    told = "model.width: unknown key in [model] with kind 'user_file'; did you mean model.arguments.width?"
    assert told in capsys.readouterr().err


def test_a_teachers_code_needs_a_word_too(
    stranger: Path, isolated_home: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", str(stranger), "--trust", "--json"]) == 0
    teacher = json_line(capsys)["folder"]
    pupil = tmp_path / "pupil.toml"
    task = f'[objective]\nkind = "distillation"\nteacher = "{Path(teacher).as_posix()}"\n'
    pupil.write_text(f'{RUN}{task}[model]\nkind = "mlp"\nhidden = [4]\n', encoding="utf-8")
    forget(isolated_home)
    (tmp_path / "trace").unlink()
    for command in ("check", "run"):
        assert main([command, str(pupil)]) == 2
        told = capsys.readouterr().err
        assert f"objective.teacher: the network of {teacher}" in told
        assert "nobody has agreed on this computer to run network.py" in told
        assert "model.trusted" not in told
        assert not (tmp_path / "trace").exists()
    assert main(["check", str(pupil), "--trust"]) == 0
    forget(isolated_home)
    assert main(["run", str(pupil), "--trust", "--json"]) == 0
    taught = json_line(capsys)["run"]
    forget(isolated_home)
    assert main(["resume", taught, "--set", "loop.max_steps=3"]) == 2
    assert "objective.teacher: the network of" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    short = f"objective.teacher={os.path.relpath(teacher)}"
    assert main(["resume", taught, "--set", "loop.max_steps=3", "--set", short, "--trust", "--json"]) == 0
    assert json_line(capsys)["step"] == 3
    forget(isolated_home)
    export = ["export", taught, "--to", "script", "--out", str(tmp_path / "script.py")]
    assert main(export) == 2
    assert "nobody has agreed on this computer to run network.py" in capsys.readouterr().err
    assert main([*export, "--trust"]) == 0


def test_a_teacher_in_a_file_needs_a_word_too(stranger: Path, tmp_path: Path, capsys: Captured) -> None:
    digest, trace = digest_of(CODE), tmp_path / "trace"
    layers = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    torch.save(layers.state_dict(), tmp_path / "teacher.pth")
    pupil = tmp_path / "pupil.toml"
    task = '[objective]\nkind = "distillation"\nteacher = "network.py"\nteacher_weights = "teacher.pth"\n'
    pupil.write_text(
        f'{RUN}{task}teacher_trusted = "{digest}"\n[model]\nkind = "mlp"\nhidden = [4]\n', encoding="utf-8"
    )
    assert main(["run", str(pupil)]) == 2
    assert "objective.teacher_trusted: nobody has agreed on this computer to run network.py" in capsys.readouterr().err
    assert not trace.exists()
    assert main(["check", str(pupil), "--set", f"objective.teacher_trusted={digest}"]) == 2
    assert main(["check", str(pupil), "--trust"]) == 0
    stranger.with_name("network.py").write_text(CODE + "\n", encoding="utf-8")
    trace.unlink()
    assert main(["run", str(pupil)]) == 2
    assert not trace.exists()
    assert main(["run", str(pupil), "--trust", "--set", "checkpoints.every_steps=1", "--json"]) == 0
    begun = Path(json_line(capsys)["folder"]) / "checkpoints" / "step-00000001"
    stranger.with_name("network.py").write_text(CODE, encoding="utf-8")
    assert main(["resume", str(begun), "--trust"]) == 2
    assert "is another teacher than the run began with" in capsys.readouterr().err


def test_a_teacher_without_a_checkpoint_is_told_before_it_is_agreed_to(
    stranger: Path, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    task = '[objective]\nkind = "distillation"\nteacher = "empty"\n'
    (tmp_path / "pupil.toml").write_text(RUN + task, encoding="utf-8")
    assert main(["run", str(tmp_path / "pupil.toml"), "--trust"]) == 2
    assert "objective.teacher: the run in" in capsys.readouterr().err


def test_generating_takes_a_word(isolated_home: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "network.py").write_text(SPELLER, encoding="utf-8")
    text = write_text(tmp_path / "data").as_posix()
    data = f'[dataset]\nkind = "text"\npath = "{text}"\ncontext = 16\n[objective]\nkind = "language_model"\n'
    rest = RUN[RUN.index("[loop]") :]
    (tmp_path / "run.toml").write_text(OWN.format(data + rest, ""), encoding="utf-8")
    assert main(["run", str(tmp_path / "run.toml"), "--trust", "--json"]) == 0
    run = json_line(capsys)["run"]
    forget(isolated_home)
    assert main(["generate", run, "--tokens", "3"]) == 2
    assert "--trust" in capsys.readouterr().err
    assert main(["generate", run, "--tokens", "3", "--trust", "--json"]) == 0
    assert len(json_line(capsys)["text"]) == 4


def test_a_runs_own_data_and_loss_need_a_word_to_go_on(isolated_home: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "data.py").write_text(
        "def build(split: str):\n    return [([i, 1.0], i % 2) for i in range(20)]\n", encoding="utf-8"
    )
    (tmp_path / "loss.py").write_text(
        "from torch import nn\n\n\ndef build():\n    return nn.CrossEntropyLoss()\n", encoding="utf-8"
    )
    own = '[dataset]\nkind = "user_dataset"\npath = "data.py"\n[objective]\nkind = "user_loss"\npath = "loss.py"\n'
    model = '[model]\nkind = "mlp"\nhidden = [4]\n'
    (tmp_path / "run.toml").write_text(own + model + RUN[RUN.index("[loop]") :], encoding="utf-8")
    assert main(["run", str(tmp_path / "run.toml"), "--trust", "--set", "checkpoints.every_steps=1", "--json"]) == 0
    run = Path(json_line(capsys)["folder"])
    forget(isolated_home)
    for name in ("data.py", "loss.py"):
        (tmp_path / name).unlink()
    assert code_to_agree(RunFolder(run)) == [run / "dataset.py", run / "loss.py"]
    first = str(run / "checkpoints" / "step-00000001")
    assert main(["resume", first]) == 2
    assert "nobody has agreed on this computer to run data.py" in capsys.readouterr().err
    assert main(["resume", first, "--trust", "--json"]) == 0
    assert json_line(capsys)["status"] == "completed"
    assert code_to_agree(RunFolder(run)) == []
