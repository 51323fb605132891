"""Portable mode: all of it in one folder, and nothing elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.config.files import save_config
from training.engines.places import engines_folder
from training.runs.workspace import default_workspace
from training.system.places import BESIDE, VARIABLE, become_portable, portable_folder, settings_folder

ROOT = Path(__file__).parents[2]
WINDOW = """
import sys
from PySide6.QtCore import QTimer
import studio.launch
from training.system.places import become_portable
become_portable()
opened = studio.launch.Application.open_window
def open_and_close(application, *words):
    opened(application, *words)
    application.settings.update(theme="dark")
    QTimer.singleShot(0, application.window.close)
studio.launch.Application.open_window = open_and_close
from studio.app import main
sys.exit(main([]))
"""


def list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of somebody who has nothing yet; the variables are all that a program could find a home by."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "stick" / BESIDE).mkdir(parents=True)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "TRAINWRIGHT_", "TORCHIND"))
    }
    places = {"HOME": str(home), "USERPROFILE": str(home), VARIABLE: str(tmp_path / "stick" / BESIDE)}
    return {**kept, **places, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}


def call(environment: dict[str, str], *words: str) -> None:
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["training", "runs"], ["studio", "--new-window"], ["studio", "runs"]])
def test_a_folder_that_is_not_there_is_named_and_not_made(
    tmp_path: Path, environment: dict[str, str], words: list[str]
) -> None:
    wrong = tmp_path / "stikc"
    command = [sys.executable, "-m", *words]
    done = subprocess.run(
        command, env={**environment, VARIABLE: str(wrong)}, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 2
    assert done.stderr == f"{VARIABLE}: there is no folder {wrong}; put its path right, or make it.\n"
    assert not wrong.exists()


@pytest.mark.slow
def test_nothing_lies_elsewhere(tmp_path: Path, environment: dict[str, str]) -> None:
    config, folder = tmp_path / "tiny.toml", tmp_path / "stick" / BESIDE
    save_config(tiny("loop.epochs=1"), config)
    call(environment, "-m", "studio", "--check")
    call(environment, "-m", "training", "run", str(config))
    call(environment, "-m", "training", "engines", "list", "--try")
    call(environment, "-c", WINDOW)
    assert list_files(tmp_path / "home") == set()
    found = list_files(folder)
    assert {"settings/settings.json", "logs/trainwright.log", "data/engines.json"} <= found
    assert len(list((folder / "workspace" / "runs").glob("tiny-*/config.toml"))) == 1


def test_the_folder_beside_the_installed_program_is_taken(
    tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "Trainwright" / "usr" / "lib" / "trainwright" / "trainwright"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "Trainwright" / "AppRun").touch()
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.delenv("TRAINWRIGHT_WORKSPACE")
    environ: dict[str, str] = {}
    (tmp_path / "Trainwright" / BESIDE).mkdir()
    become_portable(environ)
    assert environ == {}  # no installed program
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    become_portable(environ)
    assert environ[VARIABLE] == str(tmp_path / "Trainwright" / BESIDE)
    assert environ["TORCH_HOME"].startswith(environ[VARIABLE])
    assert portable_folder() is None
    monkeypatch.setenv(VARIABLE, environ[VARIABLE])
    for place in (settings_folder(), engines_folder(), default_workspace()):
        assert tmp_path / "Trainwright" / BESIDE in place.parents
    given = {VARIABLE: str(tmp_path / "mine")}
    (tmp_path / "mine").mkdir()
    become_portable(given)
    assert given[VARIABLE] == str(tmp_path / "mine")
