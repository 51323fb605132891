"""A run brought back from its copy: every file of the digest that the copy tells, or no run at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from filelock import FileLock, Timeout

from training.copies.places import open_store
from training.copies.record import RECORD, CopyRecord, key_of, read_record
from training.copies.settings import parse_address
from training.copies.source import BLOCK
from training.copies.store import Missing, Store
from training.errors import CheckpointError, InputError, format_bytes
from training.runs.folder import RunFolder
from training.runs.records.forms import FileFacts
from training.runs.records.manifest import read_manifest
from training.sidecars.faults import Away, Refused
from training.sidecars.process import Say
from training.system.atomic import sync_folder

_FOLDER = "fetching"
_TRIES = 5


def fetch(address: str, workspace: Path, say: Say) -> RunFolder:
    """Bring the run at ``address`` into ``workspace``; what was fetched before a kill is not fetched again. Raises InputError for a
    place without a copy, a run that is here already, and for files that are not those the copy tells of."""
    store = open_store(parse_address(address))
    record = _find_copy(store)
    folder = RunFolder(workspace / "runs" / record.run)
    if os.path.lexists(folder.path):
        raise InputError(
            f"{folder.path}: is here already; resume it, or fetch the copy into another workspace with --workspace."
        )
    place = workspace / _FOLDER / record.run
    place.mkdir(parents=True, exist_ok=True)
    folder.path.parent.mkdir(exist_ok=True)
    try:
        with FileLock(place.with_name(f"{place.name}.lock"), timeout=0):
            record = _fetch_newest(store, record, place)
            _check(record, place)
            _put_in_place(record, place, folder)
    except Timeout as error:
        raise InputError(f"{place}: another process fetches this run just now; wait until it is done.") from error
    if not any(path.is_dir() for path in place.parent.iterdir()):
        shutil.rmtree(place.parent, ignore_errors=True)
    if not record.ended:
        say("The run was at work when this was copied; what it did since is not in the copy.")
    return folder


def _find_copy(store: Store) -> CopyRecord:
    record = read_record(store)
    if record is not None:
        return record
    names = [name for name in store.list_folders() if store.read(f"{name}/{RECORD}", 1 << 26)]
    known = f"there are {', '.join(names[-5:])}; add one of these names" if names else "check the address"
    raise InputError(f"{store.address}: no run is copied to here; {known}.")


def _fetch_newest(store: Store, record: CopyRecord, place: Path) -> CopyRecord:
    """All files of the copy, also of one that is brought up to date meanwhile; returns what it says of itself then."""
    for _ in range(_TRIES):
        _make_room(record, place)
        try:
            for name, facts in record.files.items():
                _fetch_file(store, key_of(name, facts), facts, place / name)
            return record
        except Missing:
            record = _find_copy(store)
    raise Away(f"{store.address}: the copy changes faster than it can be fetched; try again when the run has ended.")


def _make_room(record: CopyRecord, place: Path) -> None:
    """Delete what belongs to another state of the copy; raise InputError where the disk has too little room for the rest."""
    here = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()}
    for name, path in here.items():
        if name not in record.files:
            path.unlink()
    needed = record.size - sum(path.stat().st_size for name, path in here.items() if name in record.files)
    free = shutil.disk_usage(place).free
    if needed > free:
        raise InputError(
            f"{place}: the run needs {format_bytes(needed)} more and {format_bytes(free)} are free; free some space."
        )


def _fetch_file(store: Store, key: str, facts: FileFacts, path: Path) -> None:
    """Go on behind what is here of it, and from its start where that was of another file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if _go_on(store, key, facts, path) or _go_on(store, key, facts, path):
        return
    raise Refused(
        f"{store.address}/{key}: is not what the copy tells of it; nothing was taken from it. Use another copy."
    )


def _go_on(store: Store, key: str, facts: FileFacts, path: Path) -> bool:
    """Returns whether the file is here now; deletes what is not it."""
    known = hashlib.sha256()
    with path.open("a+b") as stream:
        stream.seek(0)
        while block := stream.read(BLOCK):
            known.update(block)
        begin = stream.tell()
        for block in store.read_blocks(key, begin, facts.bytes):
            known.update(block)
            stream.write(block)
        stream.flush()
        if stream.tell() > begin:
            os.fsync(stream.fileno())
        whole = stream.tell() == facts.bytes and known.hexdigest() == facts.sha256
    if not whole:
        path.unlink()
    return whole


def _check(record: CopyRecord, place: Path) -> None:
    """Raise CheckpointError where a checkpoint's own manifest tells of other files."""
    for name in record.checkpoints:
        checkpoint = place / "checkpoints" / name
        told = {f"checkpoints/{name}/{file}": facts for file, facts in read_manifest(checkpoint).files.items()}
        if not told.items() <= record.files_of(name).items():
            raise CheckpointError(
                f"{checkpoint}: its manifest tells of other files than the copy; do not trust its source."
            )


def _put_in_place(record: CopyRecord, place: Path, folder: RunFolder) -> None:
    if "config.toml" in record.files:  # whose time is the run's among others
        os.utime(place / "config.toml", (record.created, record.created))
    (place / "checkpoints").mkdir(exist_ok=True)
    for inner in (*(place / "checkpoints").iterdir(), place / "checkpoints", place):
        sync_folder(inner)
    place.rename(folder.path)
    sync_folder(folder.path.parent)
