"""What the version before the settings, files and records got their present names has written is still understood: its
settings, presets, runs (one with steps set aside, one with a profile) and exports lie in ``version_0_1.zip``."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import parse_config
from training.errors import ConfigError
from training.toml_text import read_toml

ARCHIVE = Path(__file__).parent.parent / "earlier_version" / "version_0_1.zip"
ASKED_FOR = ("dataset.path", "model.path", "objective.teacher")
"""What has no default."""


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def spiral(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(earlier))
    return next((earlier / "runs").glob("spiral-*"))


def refused(data: dict[str, Any]) -> list[str]:
    try:
        parse_config(data, paths=False)
    except ConfigError as error:
        return [str(problem) for problem in error.problems if problem.path not in ASKED_FOR]
    return []


def test_every_key_of_every_kind_is_understood(earlier: Path) -> None:
    sections = json.loads((earlier / "every_key.json").read_text(encoding="utf-8"))
    assert sum(len(kinds) for kinds in sections.values()) > 50
    for section, kinds in sections.items():
        for kind, values in kinds.items():
            assert refused({section: {"kind": kind, **values} if kind else values}) == []


def test_its_presets_are_understood(earlier: Path) -> None:
    files = sorted((earlier / "presets").glob("*.toml"))
    assert len(files) > 20
    for file in files:
        assert refused(read_toml(file.read_text(encoding="utf-8"), file.name)) == []


def test_its_runs_open(spiral: Path, capsys: Captured) -> None:
    assert main(["runs", "--json"]) == 0
    assert sorted(run["name"] for run in json_line(capsys)["runs"]) == ["profiled", "shapes", "spiral"]
    for folder in spiral.parent.iterdir():
        assert main(["show", str(folder)]) == 0
        shown = capsys.readouterr().out
        assert "completed" in shown
        assert "val/accuracy" in shown


def test_a_run_of_it_goes_on(spiral: Path, capsys: Captured) -> None:
    assert main(["restore", str(spiral), "--list"]) == 0
    assert "steps-13-18" in capsys.readouterr().out
    assert main(["restore", str(spiral)]) == 0
    assert main(["resume", str(spiral / "checkpoints" / "step-00000012"), "--json"]) == 0
    assert json_line(capsys)["step"] == 18
    assert main(["resume", str(spiral), "--set", "loop.epochs=4", "--json"]) == 0
    assert json_line(capsys)["step"] == 24


@pytest.mark.parametrize(("form", "name"), [("safetensors", "model"), ("script", "train.py")])
def test_a_run_of_it_is_exported(spiral: Path, tmp_path: Path, form: str, name: str) -> None:
    out = tmp_path / "out" / name
    checkpoint = spiral / "checkpoints" / "step-00000018"
    assert main(["export", str(checkpoint), "--to", form, "--out", str(out)]) == 0
    assert out.exists()


def test_an_export_of_it_is_used_as_it_said_then(earlier: Path) -> None:
    folder = earlier / "exports" / "safetensors"
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    space: dict[str, Any] = {}
    exec("\n".join(facts["python"]), space)
    model, told = space["load_model"](str(folder))
    assert sum(parameter.numel() for parameter in model.parameters()) > 0
    assert told["classes"] == facts["classes"]


def test_an_export_of_it_is_replaced(spiral: Path, earlier: Path) -> None:
    folder = earlier / "exports" / "safetensors"
    checkpoint = spiral / "checkpoints" / "step-00000018"
    assert main(["export", str(checkpoint), "--to", "safetensors", "--out", str(folder)]) == 0
    assert "python" not in json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert (folder / "model.py").is_file()


@pytest.mark.slow
def test_a_script_of_it_runs(earlier: Path) -> None:
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=earlier / "exports", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 3" in " ".join(done.stdout.split())
