"""Whether somebody else trains on the device: a run that was started by hand is waited for."""

from __future__ import annotations

from pathlib import Path

from training.queue.entries import ALL_DEVICES, AUTO
from training.runs.folder import RunFolder, owner_of
from training.runs.owner import OWNER_FILE
from training.runs.records.environment import read_environment


def find_running(workspace: Path, worker: str) -> RunFolder | None:
    """A run of ``workspace`` that a process is working on where a worker of that device would train; None where there is none."""
    for claim in sorted((workspace / "runs").glob(f"*/{OWNER_FILE}")):
        run = RunFolder(claim.parent)
        if owner_of(run.path) is not None and _is_on(run, worker):
            return run
    return None


def _is_on(run: RunFolder, worker: str) -> bool:
    if worker == ALL_DEVICES:
        return True
    config = run.readable_config()
    device = read_environment(run).device or (config.precision.device if config is not None else AUTO)
    if device == AUTO:  # the first GPU, else the CPU
        return worker in ("cpu", "mps", "cuda:0")
    return worker == ("cuda:0" if device == "cuda" else device)
