"""What the tests of launches share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.runs.folder import RunFolder

ODD = 'a user\'s "runs" at 50%, $HOME `id` (é)'
"""A workspace whose name every language quotes in another way."""


def write_tiny(place: Path, *overrides: str) -> str:
    """The file of a small configuration."""
    save_config(tiny(*overrides), place / "tiny.toml")
    return str(place / "tiny.toml")


def launch(
    place: Path, capsys: Captured, *words: str, overrides: tuple[str, ...] = (), workspace: str = ODD
) -> RunFolder:
    """``python -m training launch`` of a small configuration; returns its run."""
    config = write_tiny(place, *overrides)
    capsys.readouterr()
    assert main(["launch", config, *words, "--workspace", str(place / workspace), "--json"]) == 0
    return RunFolder(Path(json_line(capsys)["folder"]))


def refuse(capsys: Captured, *words: str) -> str:
    """What is said of words that are refused."""
    capsys.readouterr()
    assert main(["launch", *words]) == 2
    return capsys.readouterr().err


def put_program(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``name`` mean this shell script."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)
    if str(folder) not in os.environ["PATH"]:
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
