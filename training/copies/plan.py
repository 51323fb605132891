"""What of a run is copied: checkpoints by their labels, and the files that training changes as they are at one moment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from training.copies.record import RECORDS
from training.copies.source import Source, hold, take_source
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.records.manifest import LAST, MANIFEST, list_checkpoints, read_labels, read_manifest
from training.runs.set_aside import link
from training.sidecars.faults import Away

PINNED: Final = "pinned"
_TEMPORARY: Final = ".new"
_TRIES: Final = 5


def choose_checkpoints(folder: RunFolder, keep: str) -> list[str]:
    """The names of those that are to be copied, in this order: that which a resume goes on from first."""
    labels = read_labels(folder)
    known = [info.name for info in list_checkpoints(folder)]
    chosen = [name for name in known if keep == "all" or name in labels.values()]
    return sorted(chosen, key=lambda name: name != labels.get(LAST, known[0]))


def pin(folder: RunFolder, checkpoint: str) -> Path | None:
    """Hold on to the files of a checkpoint while they are sent, though the run deletes it meanwhile; None where it has."""
    place = folder.copies / PINNED
    new = place / _TEMPORARY
    shutil.rmtree(place, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        for path in sorted((folder.checkpoints / checkpoint).iterdir()):
            link(path, new / path.name)
        read_manifest(new)
    except (OSError, CheckpointError):
        return None
    new.rename(place / checkpoint)
    return place / checkpoint


def find_pinned(folder: RunFolder) -> Path | None:
    """The checkpoint that was being sent when the process ended."""
    with suppress(OSError):
        for path in (folder.copies / PINNED).iterdir():
            if path.name != _TEMPORARY:
                return path
    return None


def unpin(folder: RunFolder) -> None:
    """Let go of it."""
    shutil.rmtree(folder.copies / PINNED, ignore_errors=True)


def checkpoint_sources(pinned: Path) -> Iterator[tuple[str, Source]]:
    """Its files by their names in the run; the manifest comes last."""
    for name, facts in read_manifest(pinned).files.items():
        yield f"checkpoints/{pinned.name}/{name}", Source(pinned / name, facts)
    yield f"checkpoints/{pinned.name}/{MANIFEST}", take_source(pinned / MANIFEST)


def take_records(folder: RunFolder, checkpoints: Collection[str]) -> dict[str, Source]:
    """The files beside the checkpoints, all of one moment, with labels of no others than ``checkpoints``. Raises Away while the run
    goes back to another state, and where it was deleted: of that nothing is copied over what is there."""
    for _ in range(_TRIES):
        before = _state_number(folder)
        with suppress(FileNotFoundError):
            found = {
                name: take_source(folder.path / name) for name in sorted(RECORDS) if (folder.path / name).is_file()
            }
            labels = {label: name for label, name in read_labels(folder).items() if name in checkpoints}
            text = json.dumps(labels, indent=1) + "\n"
            found[folder.labels_file.name] = hold(folder.labels_file, text.encode())
            if _state_number(folder) == before and folder.config_file.name in found:
                return found
    raise Away(f"{folder.path}: goes back to another state just now, or is gone.")


def _state_number(folder: RunFolder) -> tuple[int, ...]:
    """What changes when another state takes the place of this one."""
    return tuple(path.stat().st_ino if path.exists() else 0 for path in (folder.events_file, folder.series_file))
