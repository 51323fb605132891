"""A queue as a person uses it, runs that take their time, and processes that work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from training.cli import main

NETWORK = """
import os
import time
import torch

class Network(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.layer = torch.nn.Linear(features, classes)
        self.passes = 0

    def forward(self, x):
        self.passes += self.training
        time.sleep({seconds})
        end = time.monotonic() + 2
        while self.passes > {held} and (
            os.path.exists({hold!r}) or os.path.exists({slow!r}) and time.monotonic() < end
        ):
            time.sleep(0.02)
        if self.passes > {most}:
            raise ValueError("enough of it")
        return self.layer(x)

def build(features, classes):
    return Network(features, classes)
"""


PATIENCE = 120
"""Seconds that something may take to come."""


class Person:
    """Somebody at the command line, with a workspace and a folder of files."""

    def __init__(self, folder: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.config, self.workspace = folder, config, folder / "ws"
        self._capsys = capsys

    def types(self, *words: str, code: int = 0) -> str:
        """``python -m training queue``; what it said on standard error."""
        self._capsys.readouterr()
        assert main(["queue", *words, "--workspace", str(self.workspace)]) == code
        return self._capsys.readouterr().err

    def adds(self, name: str, *words: str) -> None:
        self.types("add", str(self.config), "--set", f"name={name}", *words)

    @property
    def hold(self) -> Path:
        """While this file is there, a network waits behind the steps after which it is ``held``."""
        return self.folder / "hold"

    @property
    def slow(self) -> Path:
        """While this file is there, each of those steps takes seconds: time for a signal to come through before the last one."""
        return self.folder / "slow"

    def adds_network(
        self, name: str, seconds: float = 0.0, most: int = 1_000_000, epochs: int = 3, held: int = 1_000_000
    ) -> Path:
        """A run of 8 steps in each of ``epochs``, each of which takes as many ``seconds`` and more, and of which the one after ``most``
        fails."""
        file = self.folder / f"{name}.py"
        text = NETWORK.format(seconds=seconds, most=most, held=held, hold=str(self.hold), slow=str(self.slow))
        file.write_text(text, encoding="utf-8")
        settings = ("model.kind=user_file", f"model.path={file}", f"loop.epochs={epochs}")
        self.adds(name, *(word for setting in settings for word in ("--set", setting)), "--trust")
        return file

    def sees(self) -> dict[str, Any]:
        """``queue list --json``"""
        self._capsys.readouterr()
        assert main(["queue", "list", "--json", "--workspace", str(self.workspace)]) == 0
        told: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        return told

    def entry(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.sees()["entries"] if each["name"] == name)
        return found

    @property
    def states(self) -> dict[str, str]:
        """By names, in the order of the list."""
        return {each["name"]: each["state"] for each in self.sees()["entries"]}

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in (self.workspace / "runs").glob("*"))

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """``queue work`` in a process of its own, which does not outlive the block."""
        command = [sys.executable, "-m", "training", "queue", "work", "--workspace", str(self.workspace)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def waits_for_checkpoint(self, name: str) -> Path:
        """Until the entry's run has saved something; its folder."""

        def look() -> Path | None:
            folder = self.entry(name)["folder"]
            return Path(folder) if folder and any(Path(folder).glob("checkpoints/step-*/manifest.json")) else None

        return wait_until(look)


def wait_until(look: Callable[[], Any]) -> Any:
    """What ``look`` finds as soon as that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
