"""What a worker may begin, and when: not while the queue is paused or somebody else trains on its device. A run that was started by hand
is waited for, and one that lost its worker until it has stopped."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from training.queue.entries import ALL_DEVICES, AUTO, Content, Entry
from training.queue.store import Queue
from training.runs.folder import RunFolder, owner_of
from training.runs.owner import OWNER_FILE
from training.runs.records.environment import read_environment
from training.runs.records.ranks import read_ranks

PAUSED = "The queue is paused; python -m training queue go lets it go on."


def fits(queue: Queue, entry: Entry, worker: str) -> bool:
    """Whether a worker of that device may take the entry: a run that has begun goes on where it began, and several processes have a GPU
    each, or the CPU."""
    if entry.ranks > 1:
        return worker in (ALL_DEVICES, entry.device)
    if worker == ALL_DEVICES or entry.device == worker:
        return True
    run = queue.run_of(entry)
    return entry.device == AUTO and (run is None or _is_on(run, worker))


def explain_place(entry: Entry, workers: Collection[str]) -> str:
    """Why none of the ``workers``, each of a device, takes an entry of several processes; "" where one does, or there is none."""
    if entry.ranks == 1 or not workers or {ALL_DEVICES, entry.device} & {*workers}:
        return ""
    others = " or one for the CPU" if entry.device == "cpu" else ""
    return f"It needs {entry.ranks} processes, which only a worker for all devices{others} begins."


def explain_wait(queue: Queue, content: Content, worker: str) -> str:
    """Why a worker of that device has to wait; "" where it has not."""
    if content.paused:
        return PAUSED
    run = find_running(queue.workspace, worker)
    return explain_running(run) if run is not None else ""


def explain_running(run: RunFolder) -> str:
    """Why a worker waits for a run that is not its own."""
    return f"It waits for the end of the run {run.id}, which another process trains."


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
    owner, shared = owner_of(run.path), read_ranks(run.path)
    if owner is not None and shared is not None and shared.ranks[0].process == owner.pid:  # of the attempt at work
        return any(worker == "cpu" if each.device == "CPU" else f"({worker})" in each.device for each in shared.ranks)
    config, began = run.readable_config(), read_environment(run)
    device = config.precision.device if config is not None else AUTO
    if device == AUTO and began.device_type:
        device = f"cuda:{began.device_index or 0}" if began.device_type == "cuda" else began.device_type
    if device == AUTO:  # not known yet: the first GPU, else the CPU
        return worker in ("cpu", "mps", "cuda:0")
    return worker == ("cuda:0" if device == "cuda" else device)
