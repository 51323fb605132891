"""One arm: a run of its own in the proof's folder that begins at the checkpoint, or fresh, and ends after so many steps."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig, parse_config
from training.control import Control
from training.data.prepared import PreparedData
from training.engine.recovery.restore import Branch, refuse_by_sheet
from training.engine.runs.attempt import run_attempt
from training.engine.runs.hooks import Hooks
from training.engine.session import Session
from training.errors import InputError, TrainingError
from training.events import Event, PhaseChanged
from training.exclude_list import add_to_list, read_exclude_list
from training.predictions import read
from training.predictions.record import evaluation_folder
from training.prove.plan import ProofPlan, count_arm_steps
from training.prove.progress import Arm, arm_folder
from training.prove.verdict import NOT_FINITE, Terms, find_fault
from training.runs.folder import RunFolder, write_first
from training.runs.records.forms import Manifest, StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import verify
from training.runs.records.proofs import ArmResult, Measurement
from training.runs.records.series import read_steps
from training.runs.relocation import require_places, with_moved
from training.runs.resume_plan import plan_branch

_SINGLE = ("classification", "binary", "multi_label", "regression", "user_loss", "distillation")
"""Tasks whose samples are single answers: what is kept of each is small."""


class Trained(NamedTuple):
    """What became of an arm."""

    result: ArmResult
    terms: Terms


def train_arm(
    plan: ProofPlan,
    arm: Arm,
    checkpoint: Path | None,
    control: Control,
    kept: PreparedData,
    report: Callable[[str, int, int], None],
) -> Trained | None:
    """Train it, from ``checkpoint``, which holds what the plan's does, or from step 0; None where ``control`` was told to stop. ``report`` hears the phase, and the step of so many.

    Raises InputError where it cannot begin, and TrainingError where it failed for another reason than its numbers. Nothing is left of it
    on the disk."""
    steps = count_arm_steps(plan, arm.with_fix)
    config, folder = make_config(plan, arm), arm_folder(plan.run, plan.key)
    require_places(plan.run, config)
    shutil.rmtree(folder.path, ignore_errors=True)
    began = time.monotonic()

    def limit(session: Session) -> None:
        """The schedule, which knows the whole length, is made by now."""
        session.total_steps = min(plan.start + steps, session.total_steps)
        data = session.data
        data.splits = {part: numbers for part, numbers in data.splits.items() if part != "test"}

    def tell(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase != "training":
            report(event.phase, 0, steps)

    def look(_row: Any, newest: Any) -> None:
        report("training", int(newest["step"][-1]) - plan.start, steps)

    hooks = Hooks(watch=tell, flushed=look, control=control, kept=kept, ready=limit, followed=False)
    try:
        restore = _find_origin(plan.run, checkpoint, config)
        _make(plan.run, folder, config, plan)
        record = run_attempt(folder, config, hooks, restore, new=True)
        if control.stop:
            return None
        return _read_result(plan, folder, record, steps, time.monotonic() - began)
    finally:
        shutil.rmtree(folder.path, ignore_errors=True)


def make_config(plan: ProofPlan, arm: Arm) -> RunConfig:
    """The settings of an arm: those of the run, or with the fix, on the order of the data that is meant. Only what decides nothing about
    a step is otherwise: every step is made, none is compiled, and as little is kept as can be."""
    config = plan.after if arm.with_fix else plan.before
    loop = config.loop.model_copy(
        update={
            "keep_predictions": config.objective.kind in _SINGLE,
            "early_stopping_patience": None,
            "stopping_threshold": None,
            "after_skips": "stop",
            "decision_boundary": "off",
        }
    )
    return config.model_copy(
        update={
            "seed": seed_of(plan, arm.order),
            "loop": loop,
            "precision": config.precision.model_copy(update={"compile": "off", "cuda_graphs": "off"}),
            "checkpoints": config.checkpoints.model_copy(update={"every_steps": 10**9, "keep_last": 1}),
        }
    )


def seed_of(plan: ProofPlan, order: int) -> int:
    """What decides the order of the data and its augmentation, and at step 0 the initial weights; of the first order the run's own."""
    return (plan.before.seed + order - 1) % 2**31


def _find_origin(run: RunFolder, checkpoint: Path | None, config: RunConfig) -> Branch | None:
    if checkpoint is None:
        return None
    manifest = _with_seed(verify(checkpoint), config.seed)
    before = with_moved(run, parse_config(manifest.config, str(checkpoint), paths=False))
    refuse_by_sheet(checkpoint, plan_branch(before, config, manifest))
    return Branch(checkpoint, manifest, run)


def _with_seed(manifest: Manifest, seed: int) -> Manifest:
    """The checkpoint as one of a run whose data came in the order of ``seed``: another order is no reason to begin at step 0 here."""
    return manifest.model_copy(update={"config": {**manifest.config, "seed": seed}})


def _make(run: RunFolder, folder: RunFolder, config: RunConfig, plan: ProofPlan) -> None:
    """The arm's own folder, with the run's copies of code and lists where the fix names no others."""
    folder.path.mkdir()
    for name in ("code_file", "dataset_code_file", "loss_code_file"):
        kept: Path = getattr(run, name)
        if kept.is_file():
            shutil.copyfile(kept, getattr(folder, name))
    listed = [getattr(each.dataset, "exclude", None) for each in (plan.before, config)]
    if run.exclude_file.is_file() and listed[0] == listed[1]:
        add_to_list(folder.exclude_file, read_exclude_list(run.exclude_file))
    write_first(folder, config)


def _read_result(plan: ProofPlan, folder: RunFolder, record: StatusRecord, steps: int, seconds: float) -> Trained:
    rows = read_steps(folder.series_file, plan.start + 1, plan.start + steps)
    losses = rows["loss"].astype(np.float64)
    fault = find_fault(losses, rows["skipped"].astype(bool), plan.start)
    if record.status == "failed" and not fault.startswith(NOT_FINITE):
        raise TrainingError(f"An arm failed: {record.reason}", record.advice or "")
    history = read_history(folder.events_file)
    told = [event for event in history.validations if event.step > plan.start]
    validations = tuple(
        Measurement(step=event.step, metrics={name: _shorten(value) for name, value in event.metrics.items()})
        for event in told
    )
    result = ArmResult(
        losses=tuple(map(_shorten, losses.tolist())), validations=validations, fault=fault, seconds=round(seconds, 3)
    )
    terms = _read_terms(folder, told[-1].step) if told else {}
    means = told[-1].metrics if told else {}
    return Trained(result, {name: each for name, each in terms.items() if is_mean(each, means.get(name))})


def _read_terms(folder: RunFolder, step: int) -> Terms:
    """What each sample of the validation at ``step`` adds to its loss, and to its accuracy where that is a share of samples."""
    found: dict[str, NDArray[np.float32]] = {}
    with suppress(InputError):
        evaluation = read(evaluation_folder(folder, step, "validation"))
        if evaluation.record.has_losses:
            losses = np.array(evaluation.column("loss"), np.float32)
            if np.isfinite(losses).all():
                found["val/loss"] = losses
        if evaluation.record.target == "class" and evaluation.has("prediction"):
            right = evaluation.column("prediction") == evaluation.column("target")
            found["val/accuracy"] = np.asarray(right, np.float32)
    return found


def is_mean(terms: NDArray[np.float32], value: float | None) -> bool:
    """Whether the metric is the mean of them, and weighs none more than another."""
    return value is not None and bool(np.isclose(terms.mean(dtype=np.float64), value, rtol=1e-4, atol=1e-6))


def _shorten(value: float) -> float:
    """As many digits as tell one float32 from another."""
    return float(f"{value:.9g}")
