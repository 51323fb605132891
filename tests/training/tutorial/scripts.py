"""Running a short script as a student would: a process of its own, beside its files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.training.tiny import tiny
from training.config import RunConfig
from training.export.short_script import export_short_script


def write(config: RunConfig, folder: Path, to: str = "tutorial") -> Path:
    """The short script of ``config`` in ``folder``, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(export_short_script(config, to, folder / "script.py").path)


def write_trees(folder: Path, *overrides: str) -> RunConfig:
    """Rows with a target of three classes, one of two, one of numbers and one of few whole numbers that are amounts."""
    draws, lines = np.random.default_rng(0), ["size,weight,kind,height,age,stands"]
    for _ in range(300):
        size, weight = draws.normal(size=2)
        kind, stands = ("oak", "ash", "elm")[int(size > 0) + int(weight > 0)], str(size > weight).lower()
        lines.append(f"{size:.4f},{weight:.4f},{kind},{300 + 40 * (size - weight):.3f},{3 + int(size > 0)},{stands}")
    (folder / "trees.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    targets = 'dataset.targets=["kind", "height", "age", "stands"]'
    dataset = ("dataset.kind=table", f"dataset.path={folder / 'trees.csv'}", "dataset.task=tasks", targets)
    chosen = ('dataset.numeric_targets=["age"]', "objective.kind=multi_task", "precision.device=cpu")
    return tiny(*dataset, *chosen, *overrides)


def run(script: Path, *arguments: str) -> str:
    """What it prints, with one thread and without a GPU."""
    quiet = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, script.name, *arguments], cwd=script.parent, env=quiet, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def best_metric(told: str) -> float:
    """The best validation metric, from the last line."""
    return float(re.findall(r"best val \S+: (\S+)", told)[-1])


def complaints(script: Path) -> str:
    """What ruff has against it: its own rules and this project's length of lines, but for the docstrings of networks."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--line-length",
        "120",
        "--output-format",
        "concise",
    ]
    done = subprocess.run([*command, script.name], cwd=script.parent, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout
