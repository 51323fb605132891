"""Memory that really runs out: a process of its own whose allocator is refused by the system."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, save_config
from training.engine.runs.run import start_run
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_manifest
from training.runs.records.series import read_series

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts all private memory in RLIMIT_DATA")

COMMAND = """
import resource, runpy, sys
import psutil, torch
import training.engine.runs.run, training.runs.index
torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # loads what its first use loads
limit = psutil.Process().memory_info().data + int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
runpy.run_module("training", run_name="__main__")
"""
"""``python -m training`` that may take only so many bytes more than the loaded program has."""

ENOUGH = 220 * 10**6  # for batches of 5,000 with 50 MB to spare, and not for 10,000


def wide(*overrides: str) -> RunConfig:
    """Windows of 20,000 samples, each with 2048 numbers in the middle: far more than ``ENOUGH`` in one batch."""
    return tiny(
        "dataset.samples=25000",
        "model.hidden=[2048]",
        "loop.batch_size=20000",
        "loop.epochs=2",
        "precision.threads=1",
        *overrides,
    )


def train(arguments: list[str], workspace: Path) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON record and what was said, of a process that has ``ENOUGH``."""
    command = [sys.executable, "-c", COMMAND, str(ENOUGH), *arguments, "--workspace", str(workspace), "--json"]
    # Every large block is given back at once: the limit counts what the heap keeps for later, which the system's killer
    # would not.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.stdout, done.stderr
    record: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return done.returncode, record, done.stderr


def weights(checkpoint: str | None) -> str:
    return str(read_manifest(Path(str(checkpoint))).files["model.safetensors"].sha256)


@pytest.mark.slow
def test_refused_by_the_system_a_run_says_what_fits_and_that_does(tmp_path: Path) -> None:
    save_config(wide(), tmp_path / "wide.toml")
    code, record, said = train(["run", str(tmp_path / "wide.toml")], tmp_path)
    assert (code, record["status"], record["step"]) == (1, "failed", 0)
    assert "in step 1 with batches of 20,000" in record["reason"]
    assert "that this process may use (ulimit -d)" in record["reason"]
    assert "more were asked for" in record["reason"]
    for _ in range(3):  # what is proposed was tried, but in a process that had just been out of memory
        assert record["fix"]["loop.batch_size"] * record["fix"]["loop.accumulation"] == 20000
        command = said.strip().splitlines()[-1].removeprefix("Go on with: python -m training ")
        assert command != said.strip().splitlines()[-1]
        code, record, said = train(shlex.split(command), tmp_path)
        if code == 0:
            break
        assert record["status"] == "failed"
    assert (code, record["status"], record["step"]) == (0, "completed", 2)


@pytest.mark.slow
def test_refused_by_the_system_a_run_goes_on_in_smaller_batches(tmp_path: Path) -> None:
    save_config(wide("loop.on_out_of_memory=smaller_batches"), tmp_path / "wide.toml")
    code, record, said = train(["run", str(tmp_path / "wide.toml")], tmp_path)
    assert (code, record["status"]) == (0, "completed"), said
    folder = RunFolder(Path(record["folder"]))
    fixes = [item.fix for item in read_history(folder.events_file).findings if "Memory ran out" in item.title]
    assert fixes
    assert all(
        isinstance(item, Finding) and item.level == "warning" for item in read_history(folder.events_file).findings
    )
    small = start_run(wide(*(f"{name}={value}" for name, value in fixes[-1].items())), tmp_path / "small")
    assert weights(record["last_checkpoint"]) == weights(small.last_checkpoint)
    assert read_series(folder.series_file).tobytes() == read_series(RunFolder(Path(small.folder)).series_file).tobytes()
