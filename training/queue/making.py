"""From an entry to its run."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from training.config import RunConfig
from training.errors import ConfigError
from training.queue.entries import ALL_DEVICES, AUTO, Entry
from training.queue.store import Queue
from training.runs.folder import RunFolder, create_run
from training.runs.kept_files import hand_on_files
from training.runs.relocation import require_places
from training.system.atomic import sync_folder


def check_entry(queue: Queue, entry: Entry, worker: str) -> RunConfig:
    """The configuration that was queued, as a worker of that device trains it. Raises InputError, saying why it cannot be trained:
    data that was moved, code that nobody agrees to any more."""
    folder = queue.folder_of(entry)
    config = folder.config()
    try:
        require_places(folder, config)
    except ConfigError as error:
        raise ConfigError(error.problems) from error  # who tells this names the entry beside it
    if entry.device == AUTO and worker != ALL_DEVICES:
        precision = config.precision.model_copy(update={"device": worker})
        config = config.model_copy(update={"precision": precision})
    return config


def make_run(queue: Queue, entry: Entry, config: RunConfig, note: Callable[[str], object]) -> RunFolder:
    """The entry's run, not begun: its folder with ``config`` and what was kept with it. ``note`` is told the run's id before the folder
    counts as a run. Raises InputError where the disk does not take it."""
    kept = queue.folder_of(entry)
    _clear_unfinished(queue, entry)

    def prepare(run: RunFolder) -> None:
        sync_folder(run.path.parent)
        note(run.id)
        hand_on_files(kept, run)

    return create_run(queue.workspace, config, prepare=prepare)


def _clear_unfinished(queue: Queue, entry: Entry) -> None:
    """Delete what a worker that was killed left of the entry's run: a folder that was no run yet."""
    place = queue.place_of_run(entry)
    if place is not None and not place.status().status and not any(place.checkpoints.glob("*")):
        shutil.rmtree(place.path, ignore_errors=True)
