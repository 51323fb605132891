"""Whether a run fits in memory: measured with one real step, and reckoned for what comes later."""

from __future__ import annotations

import math
from dataclasses import dataclass

import psutil
import torch
from pydantic import JsonValue

from training.data import MicroBatches
from training.engine.device import describe_device, ran_out_of_memory
from training.engine.recovery.memory import (
    count_saved_bytes,
    describe_shortage,
    find_fitting_batches,
    format_settings,
    keep_steps,
    make_shortage,
    propose_smaller_batches,
)
from training.engine.recovery.validated import explain_first_batch
from training.engine.session import Session
from training.engine.step import train_step
from training.errors import format_bytes
from training.events import Finding
from training.findings.machine import MEMORY, TIGHT_SHARE
from training.findings.network import NONFINITE
from training.system.host_memory import forget_peak, host_memory, peak_resident


@dataclass(frozen=True)
class Trial:
    """One step that was tried: the loss before it, the bytes of the computer's memory that were held ``before`` it and at its
    ``peak``, and those at the most and in all ``on_gpu``."""

    loss: float
    before: int
    peak: int
    on_gpu: int


def try_step(session: Session) -> Trial:
    """One whole step on one real batch, as the run would make it; the session is spent afterwards."""
    on_gpu = session.device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(session.device)
    forget_peak()
    batch = next(iter(next(iter(session.data.steps(0)))))  # a teacher's answers to it need memory, too
    before = psutil.Process().memory_info().rss
    loss, _ = train_step(session, MicroBatches(len(batch.targets), 1, iter([batch])), session.next_lr())
    value = float(loss)
    return Trial(
        value, before, max(peak_resident(), before), torch.cuda.max_memory_reserved(session.device) if on_gpu else 0
    )


def step_findings(session: Session) -> list[Finding]:
    """What a step needs, and whether its loss is a number; the session is spent afterwards."""
    try:
        trial = try_step(session)
    except (RuntimeError, MemoryError) as error:
        if not ran_out_of_memory(error):
            raise
        message = describe_shortage(error, session)
    else:
        return [*_nonfinite(session, trial), *memory_findings(session, trial)]
    return [MEMORY.find_error(make_shortage(message, session, find_fitting_batches(session, train_step)))]


def _nonfinite(session: Session, trial: Trial) -> list[Finding]:
    if math.isfinite(trial.loss):
        return []
    if (found := explain_first_batch(session)) is not None:
        return [found]
    title = f"The loss of the first batch is {trial.loss}."
    return [NONFINITE.find("error", title, "Look for broken samples, or use fp32 instead of fp16.")]


def memory_findings(session: Session, trial: Trial) -> list[Finding]:
    """Whether there is room for what is still to come, when data, model and optimizer are in memory already."""
    found = [_host(session, trial)]
    if session.device.type == "cuda":
        found.append(_gpu(session, trial))
    return found


def _host(session: Session, trial: Trial) -> Finding:
    host, saved = host_memory(), count_saved_bytes(session)
    ahead = session.data.bytes_ahead(session.config.loader.prefetch_factor)
    grown, held = trial.peak - trial.before, psutil.Process().memory_info().rss
    need = max(trial.peak - held, 0) + saved + ahead  # what the step took, the allocator may hold still
    batches = session.data.report.batches
    data = f", {format_bytes(batches.bytes)} of samples" if batches.mode == "resident" else ""
    inside = f"{data}{_of_teacher(session)}" if session.device.type == "cpu" else ""
    parts = (
        f"{format_bytes(trial.before)} before the first step{inside}, {format_bytes(grown)} more for it "
        f"and {format_bytes(saved)} for the copy that a checkpoint is written from"
        + (f", and up to {format_bytes(ahead)} of batches that are read ahead" if ahead else "")
    )
    if need <= host.available:
        return MEMORY.ok(f"Memory: {parts}; {format_bytes(host.available)} are free.")
    fix = keep_steps(propose_smaller_batches(session), session)
    smaller = session.device.type == "cpu" and grown > saved and fix
    return MEMORY.find(
        "warning",
        f"Memory will hardly do: {parts}, but of the {format_bytes(host.total)} {host.bound} only "
        f"{format_bytes(host.available)} are free; the system may kill the run without a message.",
        advice=f"Close other programs, or use {format_settings(fix)}: the same samples in each step, with less memory."
        if smaller
        else f"Close other programs, or choose a smaller {'model or teacher' if _of_teacher(session) else 'model'}.",
        place="host",
        evidence={"needed_bytes": need, "free_bytes": host.available},
        fix=fix if smaller else {},
    )


def _gpu(session: Session, trial: Trial) -> Finding:
    free, total = torch.cuda.mem_get_info(session.device)
    others = max(total - free - torch.cuda.memory_reserved(session.device), 0)
    name = describe_device(session.device)
    needed = f"a step needs {format_bytes(trial.on_gpu)} of the {format_bytes(total)} of {name}{_of_teacher(session)}"
    text = f"GPU memory: {needed}; others hold {format_bytes(others)}"
    if trial.on_gpu + others <= TIGHT_SHARE * total:
        return MEMORY.ok(f"{text}.")
    fix = keep_steps(propose_smaller_batches(session), session)
    advice = f"Use {format_settings(fix)}: the same samples in each step, with less memory." if fix else ""
    evidence: dict[str, JsonValue] = {"step_bytes": trial.on_gpu, "others_bytes": others, "total_bytes": total}
    title = f"{text}, so a longer window may not fit."
    return MEMORY.find("warning", title, advice, place="gpu", evidence=evidence, fix=fix)


def _of_teacher(session: Session) -> str:
    """What of the memory that is held now is for the teacher's weights; "" without a teacher."""
    teacher = session.data.report.teacher
    return f", {format_bytes(teacher.bytes)} of the teacher's weights" if teacher and teacher.bytes else ""
