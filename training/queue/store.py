"""The queue in the files of a workspace: read by anybody, changed by one process at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from training.config import RunConfig, parse_config
from training.config.files import config_data, save_config
from training.config.paths import with_absolute_paths
from training.errors import InputError
from training.launch.share import Tell, ignore, refuse_here, refuse_one_device, with_slots
from training.queue.entries import FORMAT, Content, Entry, Removed, name_device, without
from training.runs.folder import RunFolder
from training.runs.kept_files import keep_files
from training.system.atomic import sync_folder, write_text
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import MEGABYTE, read_bytes

QUEUE = "queue"
FILE = "queue.json"
_WAIT_SECONDS = 30.0
_MOST_BYTES = 64 * MEGABYTE
TOP, BOTTOM = "top", "bottom"
_MOST_REMOVED = 100


class Queue:
    """The queue of ``workspace``. What changes it raises InputError, having changed nothing. It waits for other processes, but no
    longer once ``is_left`` says that nobody waits for it."""

    def __init__(self, workspace: Path, is_left: Callable[[], bool] = lambda: False) -> None:
        self.workspace = workspace
        self.is_left = is_left
        self.folder = workspace / QUEUE

    def read(self) -> Content:
        """What it holds now; nothing where there is no queue yet. Raises InputError for a file that cannot be understood."""
        path = self.folder / FILE
        try:
            content = Content.model_validate_json(read_bytes(path, _MOST_BYTES))
        except FileNotFoundError:
            return Content()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is damaged"
            raise InputError(
                f"{path}: cannot be read ({why}); bring it back from a copy, or delete it to begin with an empty queue."
            ) from error
        if is_later_format(content.format, FORMAT):
            raise InputError(explain_format(path, content.format, FORMAT), UPDATE)
        return content

    def folder_of(self, entry: Entry) -> RunFolder:
        """Where its configuration is kept."""
        return RunFolder(self.folder / "entries" / entry.id)

    def place_of_run(self, entry: Entry) -> RunFolder | None:
        """Where its run lies, or would; None before it has one."""
        if not entry.run or Path(entry.run).name != entry.run:
            return None
        return RunFolder(self.workspace / "runs" / entry.run)

    def run_of(self, entry: Entry) -> RunFolder | None:
        """Its run; None before it has one, and where that was deleted."""
        run = self.place_of_run(entry)
        return run if run is not None and run.status().status else None

    @contextmanager
    def change(self) -> Iterator[Change]:
        """Inside, no other process changes it; what the ``Change`` holds in the end is written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock").acquire(timeout=_WAIT_SECONDS, cancel_check=self.is_left):
                before = self.read()
                change = Change(before)
                yield change
                if change.content != before:
                    write_text(self.folder / FILE, change.content.model_dump_json(indent=1) + "\n")
        except Timeout as error:
            raise InputError(
                f"{self.folder}: another process has held the queue for {_WAIT_SECONDS:.0f} s; try again."
            ) from error
        except OSError as error:
            raise InputError(
                f"The queue in {self.folder} cannot be written ({error.strerror or error}); free some space or make it writable."
            ) from error

    def add(self, config: RunConfig, top: bool = False, python: str = "", ranks: int = 1, tell: Tell = ignore) -> Entry:
        """Queue ``config`` as it is now, with the code and the exclude list that it names as they are now, for the engine of ``python`` and
        ``ranks`` processes; ``tell`` hears into how many slots its batches are cut for them."""
        if ranks > 1:
            refuse_here()
            refuse_one_device(config.precision.device, ranks)
            config = with_slots(config, ranks, tell)
        config = parse_config(with_absolute_paths(config_data(config), Path.cwd()))
        with self.change() as change:
            self._clear_away(change.content)  # before, so that a folder of this very id is gone, too
            key, device = str(change.content.next_id), config.precision.device
            device = device if ranks > 1 else name_device(device)  # of which each process takes its own
            entry = Entry(id=key, name=config.name, device=device, python=python, ranks=ranks, added=time.time())
            folder = self.folder_of(entry)
            folder.path.mkdir(parents=True)
            try:
                keep_files(folder, config)
                save_config(config, folder.config_file)
                sync_folder(folder.path.parent)
            except BaseException:
                shutil.rmtree(folder.path, ignore_errors=True)
                raise
            change.put(entry, top)
            change.update(next_id=change.content.next_id + 1)
        return entry

    def move(self, key: str, place: str) -> Entry:
        """Have an entry that waits do so in ``place``: "top", "bottom", or its number among those that wait, from 1."""
        with self.change() as change:
            entry = change.content.find(key)
            if entry.state != "waiting":
                raise InputError(f"{key}: {entry.name} does not wait ({entry.state}), so it has no place to move to.")
            others = [each for each in change.content.waiting if each.id != key]
            others.insert(_parse_place(place, len(others)), entry)
            rest = tuple(each for each in change.content.entries if each.state != "waiting")
            change.update(entries=(*rest, *others))
        return entry

    def remove(self, key: str, is_held: Callable[[Entry], bool]) -> Entry:
        """Take an entry out; its run stays, and it can be put back. ``is_held`` tells whether a worker has one that is at work."""
        return self.remove_all([key], is_held)[0]

    def remove_all(self, keys: Sequence[str], is_held: Callable[[Entry], bool]) -> list[Entry]:
        """Take out all of them, or none; ``put_back_all`` brings back all of them."""
        gone = []
        with self.change() as change:
            for key in keys:
                entry = change.content.find(key)
                if is_held(entry):
                    raise InputError(
                        f"{key}: {entry.name} is at work; stop it first: python -m training queue stop {key}"
                    )
                gone.append(Removed(entry=entry, place=change.content.entries.index(entry)))
                change.update(entries=without(change.content.entries, key))
            change.update(removed=(*change.content.removed, *gone)[-max(_MOST_REMOVED, len(gone)) :])
        return [each.entry for each in gone]

    def put_back(self, key: str) -> Entry:
        """Bring an entry that was removed back to where it was; one that was at work then, and lost its worker, waits."""
        return self.put_back_all([key])[0]

    def put_back_all(self, keys: Sequence[str]) -> list[Entry]:
        """Bring back all that were removed in this order, or none."""
        with self.change() as change:
            return [
                self._put_back(change, key) for key in reversed(keys)
            ]  # a place is among those that were there then

    def _put_back(self, change: Change, key: str) -> Entry:
        found = next((each for each in change.content.removed if each.entry.id == key), None)
        if found is None or not self.folder_of(found.entry).config_file.is_file():
            known = ", ".join(each.entry.id for each in change.content.removed)
            hint = f"of those that were removed, these can be: {known}." if known else "nothing was removed lately."
            raise InputError(f"{key}: cannot be put back; {hint}")
        entry = found.entry
        if entry.state == "at work":  # of a worker that was gone; a live one of its name would count as having it
            entry = entry.model_copy(update={"state": "waiting", "reason": ""})
        entries = list(change.content.entries)
        entries.insert(found.place, entry)
        rest = tuple(each for each in change.content.removed if each is not found)
        change.update(entries=tuple(entries), removed=rest)
        return entry

    def stop(self, key: str, is_held: Callable[[Entry], bool]) -> Entry:
        """Have the worker of an entry stop and keep its run, and go on with the next one."""
        with self.change() as change:
            entry = change.content.find(key)
            if not is_held(entry):
                state = "interrupted" if entry.state == "at work" else entry.state
                raise InputError(f"{key}: {entry.name} is not at work ({state}), so there is nothing to stop.")
            change.note(key, stop=True)
        return entry

    def set_paused(self, paused: bool) -> None:
        """Let workers begin nothing more, or go on; what is at work is finished."""
        with self.change() as change:
            change.update(paused=paused)

    def retry(self, key: str, python: str | None = None) -> Entry:
        """Have an entry that failed, was stopped or was passed over wait for another turn, in which its run goes on where it has one, by
        the engine of ``python`` (None: by its own)."""
        with self.change() as change:
            entry = change.content.find(key)
            if entry.state in ("waiting", "at work"):
                raise InputError(f"{key}: {entry.name} is {entry.state}; there is nothing to retry.")
            if entry.state == "done":
                raise InputError(f"{key}: {entry.name} is done; to train it once more, add it again.")
            run = entry.run if self.run_of(entry) is not None else ""
            changes: dict[str, object] = {
                "state": "waiting",
                "reason": "",
                "stop": False,
                "run": run,
                "began": None,
                "ended": None,
            }
            entry = entry.model_copy(update=changes if python is None else changes | {"python": python})
            change.update(entries=without(change.content.entries, key))
            change.put(entry, top=False)
        return entry

    def note(self, key: str, **changes: object) -> None:
        """Change what is said of an entry; without effect where it was removed."""
        with self.change() as change:
            change.note(key, **changes)

    def _clear_away(self, content: Content) -> None:
        """Delete what is kept of entries that cannot be put back any more, and what a killed process left of one that it did not add."""
        known = {entry.id for entry in (*content.entries, *(each.entry for each in content.removed))}
        for path in (self.folder / "entries").glob("*"):
            if path.name not in known:
                shutil.rmtree(path, ignore_errors=True)


class Change:
    """The content while it is being changed."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def update(self, **changes: object) -> None:
        """Replace fields of the content."""
        self.content = self.content.model_copy(update=changes)

    def put(self, entry: Entry, top: bool) -> None:
        """Have an entry wait before or after all others."""
        entries = self.content.entries
        self.update(entries=(entry, *entries) if top else (*entries, entry))

    def note(self, key: str, **changes: object) -> None:
        """Replace fields of an entry."""
        self.update(
            entries=tuple(each.model_copy(update=changes) if each.id == key else each for each in self.content.entries)
        )


def _parse_place(text: str, others: int) -> int:
    if text in (TOP, BOTTOM):
        return 0 if text == TOP else others
    try:
        place = int(text)
    except ValueError:
        place = 0
    if place < 1:
        raise InputError(f"{text}: must be top, bottom or a place from 1 (the next one) on.")
    return min(place - 1, others)
