"""Our engine as a person runs it: ``python -m training run`` with guard, clip, logging, checkpoints and validation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.config import RunConfig
from training.config.files import dump_config, parse_config
from training.events import Completed
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


def run(folder: Path) -> dict[str, Any]:
    """One run of the job in ``folder``, beside which the workspace stays: what our engine keeps between runs (decoded
    images, compiled code) was kept."""
    record = json.loads((folder / "task.json").read_text())
    return measure(record["config"], record["warm_up_epochs"], folder / "workspace")


def measure(config: Mapping[str, Any], warm_up: int, workspace: Path) -> dict[str, Any]:
    """Seconds of one run from the first step, or the end of the warm-up, to the last validation, by its own events."""
    ended = complete(parse_config(dict(config)), workspace)
    history = read_history(ended.events_file)
    assert isinstance(history.final, Completed)
    validated = [item for item in history.validations if "val/loss" in item.metrics]
    began = validated[warm_up - 1].time if warm_up else history.attempts[0].time
    shutil.rmtree(ended.path)
    return {
        "seconds": validated[-1].time - began,
        "loss": validated[-1].metrics["val/loss"],
        "accuracy": validated[-1].metrics["val/accuracy"],
        "steps": history.final.step,
    }


def complete(config: RunConfig, workspace: Path, *switches: str) -> RunFolder:
    """The folder of a run of ``config``, made by the command line in a process of its own and trained to its end."""
    workspace.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "job.toml"
        file.write_text(dump_config(config))
        settings = ["--workspace", str(workspace), *switches, "--json"]
        command = [sys.executable, "-m", "training", "run", str(file), *settings]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return RunFolder(Path(json.loads(done.stdout.strip().splitlines()[-1])["folder"]))
