"""The names inside a run folder, and who is working in it.

config.toml        as it ran, never edited        status.json   the run in one record (the command line's JSON)
environment.json   versions, device, threads      events.jsonl  rare events        series.bin     one row a step
data.json          what the dataset held          commands.jsonl requests          telemetry.bin  one row a flush
splits.safetensors which sample is in which part  owner.json    the working process   log.txt
checkpoints/step-00000100/ {model.safetensors, state.pt, manifest.json}    labels.json    exports/
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from training.atomic import write_text
from training.config import RunConfig, parse_config
from training.config.files import read_config_text, read_toml, save_config
from training.errors import InputError, RunBusyError
from training.reading import MEGABYTE, parse_json, read_bytes
from training.runs.record import sound_record


@dataclass(frozen=True)
class RunFolder:
    """One run's folder; ``id`` is its name."""

    path: Path

    @property
    def id(self) -> str:
        """The run's identity: the folder's own name."""
        return self.path.name

    @property
    def config_file(self) -> Path:
        """The configuration as it ran."""
        return self.path / "config.toml"

    @property
    def status_file(self) -> Path:
        """The run in one record."""
        return self.path / "status.json"

    @property
    def events_file(self) -> Path:
        """Rare events, one JSON line each."""
        return self.path / "events.jsonl"

    @property
    def series_file(self) -> Path:
        """One row for each step."""
        return self.path / "series.bin"

    @property
    def telemetry_file(self) -> Path:
        """One row for each flush."""
        return self.path / "telemetry.bin"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def labels_file(self) -> Path:
        """Which checkpoint is last, best or kept."""
        return self.path / "labels.json"

    @property
    def splits_file(self) -> Path:
        """Sample indices of each part."""
        return self.path / "splits.safetensors"

    @property
    def data_file(self) -> Path:
        """The dataset's report."""
        return self.path / "data.json"

    @property
    def environment_file(self) -> Path:
        """Versions and device of the first attempt."""
        return self.path / "environment.json"

    @property
    def log_file(self) -> Path:
        """The technical record."""
        return self.path / "log.txt"

    @property
    def exports(self) -> Path:
        """Where exports go unless told otherwise."""
        return self.path / "exports"

    def config(self) -> RunConfig:
        """The run's configuration; raises InputError when the file is missing or damaged."""
        text = read_config_text(self.config_file)
        return parse_config(read_toml(text, str(self.config_file)), str(self.config_file), paths=False)

    def status(self) -> dict[str, Any]:
        """The status record; "interrupted" for a run that says running while no process works on it.

        A record that is lost or damaged is begun anew from the configuration; empty when that cannot be read either.
        """
        record = read_json(self.status_file)
        if "run" not in record:
            try:
                record = first_record(self, self.config(), self.config_file.stat().st_mtime)
            except (InputError, OSError):
                return {}
        if record.get("status") in ("running", "paused", "created") and owner_of(self) is None:
            record["status"] = "interrupted"
        return sound_record(record) | {"run": self.id, "folder": str(self.path)}  # folders may have been moved since

    def write_status(self, record: Mapping[str, Any]) -> None:
        """Replace the status record; not waiting for the disk, since every line of it can be told from other files."""
        write_text(self.status_file, json.dumps(dict(record), indent=1) + "\n", durable=False)


def create_run(workspace: Path, config: RunConfig, parent: Mapping[str, Any] | None = None) -> RunFolder:
    """Make a new run folder in ``workspace`` holding ``config`` and a first status record."""
    slug = re.sub(r"[^a-z0-9]+", "-", config.name.lower()).strip("-")[:40] or "run"
    run_id = f"{slug}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    folder = RunFolder(workspace / "runs" / run_id)
    try:
        folder.checkpoints.mkdir(parents=True)
    except OSError as error:
        raise InputError(
            f"The workspace {workspace} cannot be written ({error.strerror}); choose another with --workspace."
        ) from error
    save_config(config, folder.config_file)
    folder.write_status(first_record(folder, config, time.time()) | {"parent": dict(parent) if parent else None})
    return folder


def first_record(folder: RunFolder, config: RunConfig, created: float) -> dict[str, Any]:
    """The status record of a run that has done nothing yet."""
    return {
        "run": folder.id,
        "name": config.name,
        "folder": str(folder.path),
        "status": "created",
        "created": created,
        "step": 0,
        "epoch": 0,
        "best": None,
        "last_checkpoint": None,
        "metrics": {},
        "skipped_steps": 0,
        "samples_per_second": 0.0,
        "reason": None,
        "fix": {},
        "dataset": config.dataset.kind,
        "model": getattr(config.model, "name", config.model.kind),
        "parent": None,
    }


def delete_run(folder: RunFolder) -> None:
    """Remove a run's folder; raises RunBusyError while a process works on it."""
    owner = owner_of(folder)
    if owner is not None:
        raise RunBusyError(f"The run {folder.id} is being trained by process {owner['pid']}; stop it first.")
    if folder.path.is_symlink():
        raise InputError(f"{folder.path}: is a link to another place; delete the link, or the folder it leads to.")
    shutil.rmtree(folder.path)


def read_json(path: Path, most: int = 64 * MEGABYTE) -> dict[str, Any]:
    """The JSON object in ``path``, or an empty one when the file is missing, damaged or of more than ``most`` bytes."""
    try:
        data = parse_json(read_bytes(path, most))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def owner_of(folder: RunFolder) -> dict[str, Any] | None:
    """The live process working on ``folder`` ({"pid", "started", "host"}), or None.

    A process id alone would lie after a reboot, so the process's start time must agree too.
    """
    record = read_json(folder.path / "owner.json")
    if not record or record.get("host") != socket.gethostname():
        return None
    try:
        pid, claimed = int(record["pid"]), float(record.get("started", 0.0))
        process = psutil.Process(pid)
        started = process.create_time()
        if process.status() == psutil.STATUS_ZOMBIE:  # dead, and nobody has taken its exit code yet
            return None
    except (psutil.Error, KeyError, TypeError, ValueError, OverflowError):
        return None
    return record | {"pid": pid} if abs(started - claimed) < 2.0 else None


def claim(folder: RunFolder) -> None:
    """Become the process that works on ``folder``; raises RunBusyError when another live one does."""
    _refuse_links(folder)
    record = {"pid": os.getpid(), "started": psutil.Process().create_time(), "host": socket.gethostname()}
    with _alone(folder):
        owner = owner_of(folder)
        if owner is not None and owner["pid"] != os.getpid():
            raise RunBusyError(
                f"The run {folder.id} is already being trained by process {owner['pid']}; stop that one or wait for it."
            )
        write_text(folder.path / "owner.json", json.dumps(record))


def _refuse_links(folder: RunFolder) -> None:
    """Working in ``folder`` appends to its files and tidies its checkpoints: a link would lead that somewhere else, and a
    pipe or a device would block it. Raises InputError for either."""
    with os.scandir(folder.path) as entries:
        for entry in entries:
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                what = "a link" if entry.is_symlink() else "no ordinary file"
                raise InputError(
                    f"{folder.path / entry.name}: is {what}, but a run is worked on in its own folder only; put an ordinary "
                    "file or folder in its place."
                )


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """Inside, no other process claims ``folder``: of two that start at the same moment one has to see the other.

    The lock is on the configuration, the one file that is never replaced; far behind its end, where nobody reads.
    """
    with folder.config_file.open("r+b") as stream:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(1 << 30)
            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            with suppress(OSError):  # a network drive without locks: there the record alone has to do
                fcntl.lockf(stream, fcntl.LOCK_EX, 1, 1 << 30)
        yield  # closing the file gives the lock back


def release(folder: RunFolder) -> None:
    """Give ``folder`` back; other processes may work on it now."""
    (folder.path / "owner.json").unlink(missing_ok=True)
