"""Other programs that look for faults, asked about the same runs: what each says above a note, and which causes that names."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo import sagemaker
from tests.doctor.zoo.case import Case, Healthy
from tests.doctor.zoo.trial import read_trial, trials
from training.diagnosis.recorded import Recorded, read_recorded
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.columns import Columns
from training.runs.records.layers import layer_norms, layers_of

NUMERIC = ("overflow", "module produces non-finite values", "non-finite values", "learning rate too high")
RUNMEDIC: Mapping[str, tuple[str, ...]] = {
    "non_finite": NUMERIC,
    "divergence": ("learning rate too high", "schedule ends late", "schedule too high"),
    "loss_spikes": ("learning rate too high", "outliers"),
    "grad_spikes": ("learning rate too high", "outliers"),
    "no_learning": (
        "learning rate too low",
        "learning rate too high",
        "frozen layers",
        "parameters without gradient",
        "wrong labels",
        "shifted labels",
        "dead initialization",
    ),
    "overfitting": ("too many epochs",),
    "val_below_train": ("duplicates across parts",),
    "constant_lr_plateau": ("schedule ends late",),
    "input_bound": ("slow loader",),
    "slow_steps": ("slow loader",),
}
GRADSNITCH: Mapping[str, tuple[str, ...]] = {
    "GS001": NUMERIC,
    "GS002": NUMERIC,
    "GS003": ("learning rate too high", "outliers"),
    "GS004": ("too many epochs",),
    "GS005": (
        "learning rate too low",
        "dead initialization",
        "symmetric initialization",
        "frozen layers",
        "parameters without gradient",
        "wrong labels",
        "shifted labels",
    ),
    "GS006": ("learning rate too high", "schedule too high", "schedule ends late"),
    "GS007": ("saturating activation", "dead initialization", "superfluous layers", "learning rate too low"),
    "GS008": ("learning rate too high", "learning rate too low"),
    "GS009": ("learning rate too high",),
    "GS010": ("schedule ends early",),
}
OPPONENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "SageMaker's rules": sagemaker.CAUSES,
    "runmedic 0.1.1": RUNMEDIC,
    "gradsnitch 0.1.0": GRADSNITCH,
}
"""What each says, and which causes its words name, generously."""
AMAZON, MEDIC, SNITCH = OPPONENTS

_SCRIPT = """
import json, sys
answers = {}
try:
    from runmedic import loaders, roles
    from runmedic.checks import run_checks
    found = [f for run in loaders.load(sys.argv[1]) for f in run_checks(run, roles.detect(run))]
    answers["runmedic 0.1.1"] = [f.check for f in found if f.severity != "info"]
except ImportError:
    pass
try:
    import gradsnitch, pandas
    rows = [{name: float(value) for name, value in json.loads(line).items()} for line in open(sys.argv[1])]
    found = sorted(gradsnitch.lint(pandas.DataFrame(rows)), key=lambda f: f.severity != "error")
    answers["gradsnitch 0.1.0"] = [f.code for f in found]
except ImportError:
    pass
print(json.dumps(answers))
"""
Answers = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By part ("case", "twin", "healthy") and program: what it says, in its own order."""


def find_reasons(venv: Path | None) -> Mapping[str, str]:
    """Why opponents are missing."""
    if venv is None:
        return dict.fromkeys((MEDIC, SNITCH), "no --opponents was given")
    listed = subprocess.run([_python(venv), "-m", "pip", "list"], capture_output=True, text=True, check=False).stdout
    return {name: f"not installed in {venv.name}" for name in (MEDIC, SNITCH) if name.split()[0] not in listed}


def ask_opponents(animal: Case | Healthy, out: Path, venv: Path | None) -> Answers:
    """What they say of the parts of ``animal`` that were trained. A run that never began says nothing to them."""
    return {part: _ask(out / animal.name / part, venv) for part, _ in trials(animal)}


def _ask(folder: Path, venv: Path | None) -> Mapping[str, tuple[str, ...]]:
    trial = read_trial(folder)
    if trial is None or trial.run is None:
        return {}
    try:
        run = read_recorded(RunFolder(trial.run))
    except InputError:  # it ended before its first step
        return {}
    answers = {AMAZON: sagemaker.judge(run)}
    if venv is None:
        return answers
    kept, log = folder / "opponents.json", folder / "log.jsonl"
    rows = "\n".join(json.dumps(row) for row in _rows(run)) + "\n"
    if not kept.exists() or not log.exists() or log.read_text() != rows:
        log.write_text(rows)
        words = [_python(venv), "-c", _SCRIPT, str(log)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
        kept.write_text(done.stdout)
    return answers | {name: tuple(said) for name, said in json.loads(kept.read_text()).items()}


def _python(venv: Path) -> str:
    return str(venv / "bin" / "python")


def _rows(run: Recorded) -> Iterator[dict[str, Any]]:
    """A row for each step, with all that they know the names of."""
    validations = {item.step: item.metrics["val/loss"] for item in run.validations if "val/loss" in item.metrics}
    ratios = _update_ratios(run)
    loads = {} if run.telemetry is None else {int(row["step"]): row for row in run.telemetry}
    size = run.config.loop.batch_size * run.config.loop.accumulation
    for row in run.steps:
        step = int(row["step"])
        told: dict[str, float] = {"train_loss": row["loss"], "grad_norm": row["grad_norm"], "lr": row["lr"]}
        if step in validations:
            told["val_loss"] = validations[step]
        if step in ratios:
            told["update_ratio"] = ratios[step]
        if (load := loads.get(step)) is not None and load["samples_per_second"] > 0:
            seconds = size / float(load["samples_per_second"])
            told |= {"step_time": seconds, "data_time": seconds * float(load["wait_share"])}
            told |= {"host_mem_rss": float(load["memory_mb"])}
        yield {"step": step, **{name: _plain(value) for name, value in told.items()}}


def _update_ratios(run: Recorded) -> dict[int, float]:
    """Of all weights together, at the steps at which layers were measured."""
    if run.layers is None or not layers_of(Columns(run.layers.names)):
        return {}
    update, weight = (
        np.sqrt(np.nansum(layer_norms(run.layers.rows, quantity).astype(float) ** 2, axis=1))
        for quantity in ("update", "weight")
    )
    return {int(step): u / w for step, u, w in zip(run.layers.rows["step"], update, weight, strict=True) if w > 0}


def _plain(value: Any) -> float | str:
    """As JSON has it, and both programs read it."""
    number = float(value)
    return number if math.isfinite(number) else str(number)
