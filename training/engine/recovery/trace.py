"""A skipped step of a run computed again to the bit, whenever somebody asks: from the nearest checkpoint before it, step by step.

Nothing of the run is changed. Each step on the way is held against the loss that was recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from training.engine.assemble import assemble
from training.engine.compile import compile_session
from training.engine.device import choose_device, replace_missing_device
from training.engine.recovery.nonfinite import find_spoiled
from training.engine.recovery.preceding import look_back
from training.engine.recovery.replay import Skip, explain
from training.engine.recovery.restore import take_over
from training.engine.runs.environment import read_auto_settings, read_normalization
from training.engine.session import Session
from training.engine.step import train_step
from training.errors import CheckpointError
from training.events import Finding
from training.runs.records.manifest import verify
from training.runs.records.series import Rows, read_steps
from training.runs.relocation import config_here, require_places
from training.runs.trace_plan import TracePlan

Report = Callable[[str, float | None], None]


def trace_step(plan: TracePlan, report: Report = lambda phase, fraction: None) -> Finding:
    """What produced the first number of that step that is not finite. Raises InputError or CheckpointError where the data, the
    checkpoint or a person's own code is not what it was."""
    session = _open(plan, report)
    try:
        if plan.checkpoint is not None:
            take_over(plan.checkpoint, session)
        session.watches.clear()
        compile_session(session, report)
        rows = read_steps(plan.folder.series_file, plan.start + 1, plan.skip.step)
        begun_spoiled = find_spoiled(session) if plan.checkpoint is None else ""
        same, spoiled_at = _walk(session, rows, report)
        loss = float(rows["loss"][-1])
        at = session.progress
        skip = Skip(plan.skip.step, at.epoch, at.window, 1, loss, later=-1)
        before = look_back(plan.folder.series_file, skip.step)
        found = explain(session, skip, before=before, spoiled=begun_spoiled, stands=same)
        return replace(found, since=spoiled_at) if spoiled_at is not None else found
    finally:
        session.data.close()


def _open(plan: TracePlan, report: Report) -> Session:
    folder = plan.folder
    config = config_here(folder)
    device, _ = replace_missing_device(config.precision.device)
    config = config.model_copy(update={"precision": config.precision.model_copy(update={"device": device})})
    require_places(folder, config)
    auto = read_auto_settings(folder, config, choose_device(device))
    if plan.checkpoint is None:
        return assemble(config, report, auto, code=folder)
    manifest = verify(plan.checkpoint)
    auto = replace(auto, normalization=read_normalization(config, manifest))
    session = assemble(config, report, auto, loads=True, code=folder)
    if manifest.data.fingerprint != session.data.source.fingerprint:
        session.data.close()
        raise CheckpointError(
            f"{plan.checkpoint}: was trained on other data than there is now; put the old files back to trace a step."
        )
    return session


def _walk(session: Session, rows: Rows, report: Report) -> tuple[bool, int | None]:
    """Make the steps of all ``rows`` but the last again; returns whether each had the loss that was recorded, and the first step behind
    which a weight was not finite."""
    same, spoiled_at, told = True, None, time.monotonic()
    for done, row in enumerate(rows[:-1]):
        progress = session.progress
        window = session.data.rebuild_step(progress.epoch, progress.window)
        loss, _ = (session.compiled or train_step)(session, window, float(row["lr"]))
        progress.count_step()
        same &= bool(np.array_equal(np.float32(float(loss)), row["loss"], equal_nan=True))
        if spoiled_at is None and find_spoiled(session):
            spoiled_at = progress.step
        if progress.window == session.data.steps_per_epoch:
            session.end_epoch()
        if time.monotonic() - told > 1.0:
            told = time.monotonic()
            report(f"step {progress.step:,}", done / len(rows))
    return same, spoiled_at
