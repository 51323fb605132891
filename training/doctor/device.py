"""What a run is computed on and written to: the device, shared memory, the compiler, the disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import torch

from training.engine.compile import compile_session
from training.engine.device import describe_device
from training.engine.gpu_search import explain_cpu
from training.engine.machine import explain_shared_memory
from training.engine.recovery.memory import count_saved_bytes
from training.engine.session import Session
from training.errors import TrainingError, format_bytes, pluralize
from training.events import Finding
from training.findings.machine import COMPILE, DEVICE, DISK, DISK_SPARE, SLOW_FORMAT
from training.system.gpus import look_for_nvidia


def device_findings(session: Session) -> list[Finding]:
    """Which device it is, whether it could be a better one, and whether workers have room to hand over samples."""
    return [_device(session), *_missed_gpu(session), *_shared_memory(session)]


def _device(session: Session) -> Finding:
    threads = f", {pluralize(torch.get_num_threads(), 'thread')}" if session.device.type == "cpu" else ""
    name, compute = describe_device(session.device), session.config.precision.compute
    if session.device.type == "cpu" and compute in ("fp16", "bf16"):
        return SLOW_FORMAT.find(
            "info",
            f"The run works on the {name}{threads}, where {compute.upper()} is usually slower than FP32.",
            "Set precision.compute to fp32.",
            fix={"precision.compute": "fp32"},
        )
    return DEVICE.ok(f"The run works on the {name}{threads} in {compute.upper()}.")


def _missed_gpu(session: Session) -> list[Finding]:
    """A GPU that is there but cannot be used, where the device was left to the program."""
    if session.config.precision.device != "auto" or session.device.type != "cpu":
        return []
    reason = explain_cpu(look_for_nvidia())
    return [reason] if reason is not None else []


def _shared_memory(session: Session) -> list[Finding]:
    small = explain_shared_memory(session.data, session.config.loader.prefetch_factor)
    return [small] if small is not None else []


def compile_findings(session: Session, report: Callable[[str, float | None], None]) -> list[Finding]:
    """Where the step is to be compiled: whether that works here. What is compiled is kept for the run."""
    wanted = session.config.precision.compile
    try:
        compile_session(session, report)
    except TrainingError as error:
        return [COMPILE.find_error(error)]
    return [] if wanted == "off" else [COMPILE.ok(f"The {wanted} can be compiled here.")]


def disk_finding(session: Session, workspace: Path) -> Finding:
    """Whether the checkpoints that will lie on disk at once have room."""
    size = count_saved_bytes(session)
    count = session.config.checkpoints.keep_last + 2  # the best, and the one being written
    existing = next(folder for folder in (workspace, *workspace.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    text = (
        f"{count} checkpoints of {format_bytes(size)} need {format_bytes(count * size)}; {format_bytes(free)} are free"
    )
    if free < count * size * DISK_SPARE:
        advice = "Free some space, keep fewer, or choose another workspace."
        return DISK.find("error", f"{text}.", advice, evidence={"needed_bytes": count * size, "free_bytes": free})
    return DISK.ok(f"{text} in {existing}.")
