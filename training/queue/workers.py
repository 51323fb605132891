"""Who works off the queue: one process for each device, or one for everything.

A worker holds a lock as long as it lives, which the system takes from it however it ends, and says beside it who it is. After a restart of the
machine the record is that of a process of another start of it, and nobody holds the lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from training.errors import InputError
from training.queue.entries import ALL_DEVICES, Entry
from training.queue.store import Queue
from training.runs.owner import Owner, this_process
from training.system.atomic import write_text
from training.system.locks import look_for_holder
from training.system.process import birth
from training.system.untrusted import MEGABYTE, parse_json, read_bytes

_PATIENCE = 2.0  # seconds: who only looks holds a lock for a moment


def worker_of(queue: Queue, device: str) -> Owner | None:
    """The live process that works off the queue of ``device``, or None."""
    record = _read(queue, device)
    if record is None or not record.is_elsewhere:
        return record if record is not None and birth(record.pid) == record.born else None
    try:
        with look_for_holder(_place(queue, device).with_suffix(".lock")) as is_held:
            if not is_held:
                leave(queue, device)  # once it is known to be gone nobody has to ask for the lock again
                return None
    except OSError:  # a folder that cannot be written: nobody works there
        return None
    now = _read(queue, device)
    return now if now == record else worker_of(queue, device)  # another became the worker meanwhile


def _read(queue: Queue, device: str) -> Owner | None:
    try:
        return Owner.model_validate(parse_json(read_bytes(_place(queue, device).with_suffix(".json"), MEGABYTE)))
    except (OSError, ValueError):
        return None


def workers(queue: Queue) -> dict[str, Owner]:
    """All that live, by their devices."""
    names = sorted(path.stem.replace("-", ":") for path in (queue.folder / "workers").glob("*.json"))
    found = {name: worker_of(queue, name) for name in names}
    return {name: owner for name, owner in found.items() if owner is not None}


def is_held(queue: Queue, entry: Entry) -> bool:
    """Whether a live worker has the entry."""
    return entry.state == "at work" and worker_of(queue, entry.worker) is not None


@contextmanager
def be_worker(queue: Queue, device: str) -> Iterator[None]:
    """Be the only worker of ``device``. Raises InputError, naming the other one."""
    place = _place(queue, device)
    lock = FileLock(place.with_suffix(".lock"), timeout=_PATIENCE)
    with queue.change():  # of two that start at the same moment one has to see the other
        place.parent.mkdir(exist_ok=True)
        refuse_worker(queue, device)
        try:
            lock.acquire()
        except Timeout as error:
            raise _explain(device, worker_of(queue, device)) from error
        write_text(place.with_suffix(".json"), this_process().model_dump_json(), durable=False)
    try:
        yield
    finally:
        leave(queue, device)
        lock.release()


def refuse_worker(queue: Queue, device: str) -> None:
    """Raise InputError, naming it, where a live worker takes what one of ``device`` would."""
    for name, owner in workers(queue).items():
        if name == device or ALL_DEVICES in (name, device):
            raise _explain(name, owner)


def leave(queue: Queue, device: str) -> None:
    """Be no worker any more in the eyes of others, for good; called while the queue is held, so that who adds to it afterwards
    knows that a worker has to be started."""
    with suppress(OSError):  # the workspace is gone, or cannot be written any more: this process ends soon anyway
        _place(queue, device).with_suffix(".json").unlink(missing_ok=True)


def describe(device: str) -> str:
    """Which runs a worker of ``device`` takes, in words."""
    return "all devices" if device == ALL_DEVICES else device


def _explain(device: str, owner: Owner | None) -> InputError:
    who = f"by {owner}" if owner is not None else "by another process"
    return InputError(
        f"The queue is being worked off for {describe(device)} {who}; one is enough.",
        "What is added is trained by that one; to have one for each device, stop it and start each with --device.",
    )


def _place(queue: Queue, device: str) -> Path:
    return queue.folder / "workers" / device.replace(":", "-")
