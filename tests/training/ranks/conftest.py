"""Runs in several processes of this machine, by the command line."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from training.runs.records.ranks import read_ranks
from training.runs.records.series import STEP_ROW

NETWORK = Path(__file__).with_name("network.py")
CONFIG = """
name = "ranks"
seed = 3
[dataset]
kind = "shapes"
samples = 500
flip = true
rotation = 10
[model]
kind = "user_file"
path = "{network}"
[optimizer]
kind = "sgd"
lr = 0.02
[precision]
threads = 1
[loop]
epochs = 100
max_steps = 50
batch_size = 48
accumulation = 2
slots = 12
[checkpoints]
every_steps = 5
"""


@dataclass
class Ranks:
    """Starts runs of one configuration: augmentation, accumulation, a short last batch, dropout and batch norm."""

    config: Path
    workspace: Path

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "training", *words, "--workspace", str(self.workspace)]

    def run(self, count: int, *settings: str) -> dict[str, Any]:
        """Train to the end in so many processes; returns what the command line tells."""
        return finish(self.begin(count, *settings))

    def begin(self, count: int, *settings: str) -> subprocess.Popen[str]:
        sets = [word for setting in settings for word in ("--set", setting)]
        return start([*self.command("run", str(self.config), "--trust", "--json", "--ranks", str(count)), *sets])

    def resume(self, folder: Path, count: int) -> dict[str, Any]:
        return finish(start(self.command("resume", str(folder), "--trust", "--json", "--ranks", str(count))))

    def folder(self) -> Path:
        """That of the only run, once its processes make steps together."""
        return next(iter((self.workspace / "runs").iterdir()))

    def await_step(self, step: int) -> Path:
        """The folder of the only run, once it has made so many steps."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for folder in (self.workspace / "runs").glob("*"):
                series = folder / "series.bin"  # begins with as many bytes as a row has
                if series.exists() and series.stat().st_size > step * STEP_ROW.itemsize and read_ranks(folder):
                    return folder
            time.sleep(0.02)
        raise TimeoutError("the run made no steps")


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What it tells at its end, with its exit code and what it said."""
    output, said = process.communicate(timeout=900)
    lines = output.strip().splitlines()
    return {**(json.loads(lines[-1]) if lines else {}), "code": process.returncode, "said": said}


def digest(record: dict[str, Any]) -> str:
    """Of the weights of its last checkpoint."""
    path = Path(record["last_checkpoint"]) / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_processes(run: subprocess.Popen[str], folder: Path) -> dict[str, psutil.Process]:
    """Everything that works on a run, by its name: "command", "agent" (torch's launcher), "0", "1"..."""
    record = read_ranks(folder)
    assert record is not None
    command = psutil.Process(run.pid)
    found = {"command": command, "agent": next(iter(command.children()))}
    return found | {str(each.rank): psutil.Process(each.process) for each in record.ranks}


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(network=NETWORK), encoding="utf-8")
    return Ranks(config, tmp_path / "workspace")


@pytest.fixture
def make_ranks(tmp_path: Path) -> Callable[[], Ranks]:
    """Each with a workspace of its own."""
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(network=NETWORK), encoding="utf-8")
    made: list[Ranks] = []

    def make() -> Ranks:
        made.append(Ranks(config, tmp_path / f"workspace-{len(made)}"))
        return made[-1]

    return make
