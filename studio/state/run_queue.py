"""The queue of the workspace as the window knows it: read again when any process changes its files, and changed in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal, Slot

from studio.services.background import Background, Refresher
from studio.services.settings import SettingsStore
from training.queue.entries import OVER
from training.queue.overview import Overview, Shown, look_at
from training.queue.start import start_worker
from training.queue.store import FILE, Queue
from training.runs.folder import AT_WORK
from training.runs.owner import Owner
from training.runs.records.forms import StatusRecord
from training.system.interpreter import engine_program

logger = logging.getLogger(__name__)

_SETTLE = 100  # milliseconds: a change of the queue is several of its folder
_BEAT = 2000  # milliseconds between two looks at processes that work, which say nothing when they are killed

_Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Found:
    """What a look found: the overview, the records of the entries' runs by their ids, and the folders in which changes will show."""

    overview: Overview
    records: dict[str, StatusRecord]
    stamp: _Stamp
    folders: frozenset[str]

    def says_the_same(self, other: Found) -> bool:
        """Whether a person could tell no difference."""
        return (self.overview, self.records) == (other.overview, other.records)


class RunQueue(QObject):
    """Signals:
    changed(): what is known is another, or it cannot be read; ``problem`` says why.
    runs_changed(): a run of it was made, or had its turn.
    """

    changed, runs_changed = Signal(), Signal()

    def __init__(
        self, workspace: Path, settings: SettingsStore, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.queue = Queue(workspace, lambda: background.is_closed)
        self.problem = ""
        self.starting: frozenset[str] = frozenset()  # devices whose worker is being started
        self._settings = settings
        self._found: Found | None = None
        self._is_due = True  # a look at all, not only at what was changed
        self._is_window_shown = True
        self._folders: frozenset[str] = frozenset()  # that are watched, as far as the system lets us
        self._reader = Refresher(background.make_other(), self._prepare, self._on_read, self._on_failed)
        self._writer, self._starter = background.make_other(), background.make_other()
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLE)
        self._beat = QTimer(self, interval=_BEAT)
        self._watcher.directoryChanged.connect(self._on_folder_changed)
        self._settle.timeout.connect(self._reader.ask)
        self._beat.timeout.connect(self.refresh)

    @property
    def loaded(self) -> bool:
        """Whether it was read, or could not be."""
        return self._found is not None or bool(self.problem)

    @property
    def overview(self) -> Overview:
        """What it held at the last look; nothing before the first."""
        return self._found.overview if self._found is not None else Overview(False, {}, ())

    def find_record(self, shown: Shown) -> StatusRecord | None:
        """How far the run of an entry is."""
        return self._found.records.get(shown.entry.run) if self._found is not None else None

    def list_runs(self) -> set[str]:
        """The ids of the runs that the queue will go on with by itself, once somebody works it off."""
        return {shown.entry.run for shown in self.overview.shown if shown.state not in OVER}

    @Slot()
    def refresh(self) -> None:
        """Look at all of it again."""
        self._is_due = True
        self._reader.ask()

    @Slot(bool)
    def set_window_shown(self, shown: bool) -> None:
        """Whether anybody can see what is told of it."""
        self._is_window_shown = shown
        self._set_beat()
        if shown:
            self.refresh()

    def submit(
        self,
        work: Callable[[Queue], Any],
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        """Change it; one change after another, as they were asked for."""
        self._submit(self._writer, partial(work, self.queue), handle_result, handle_failure)

    def start(
        self,
        device: str,
        handle_result: Callable[[Owner | None], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        """Begin a worker of ``device`` by the engine's Python. It is told who it is; None: it had nothing to do."""
        if device in self.starting:
            return
        self._set_starting(self.starting | {device})
        command = engine_program(self._settings.get().engine_python)

        def settle(then: Callable[[Any], object], outcome: Any) -> None:
            self._set_starting(self.starting - {device})
            then(outcome)

        work = partial(start_worker, self.queue, device, command)
        self._submit(self._starter, work, partial(settle, handle_result), partial(settle, handle_failure))

    def _submit(
        self,
        thread: Background,
        work: Callable[[], Any],
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        def settle(then: Callable[[Any], object], outcome: Any) -> None:
            self.refresh()
            then(outcome)

        thread.submit(work, partial(settle, handle_result), partial(settle, handle_failure))

    def _set_starting(self, devices: frozenset[str]) -> None:
        self.starting = devices
        self.changed.emit()

    # ------------------------------------------------------------------------------------------- reading

    def _prepare(self) -> Callable[[], Found | None]:
        known, due, self._is_due = self._found, self._is_due, False
        return partial(_read, self.queue, known, due or bool(self.problem))

    def _on_read(self, found: Found | None) -> None:
        if found is None:  # something else in the folder was changed
            return
        known, self._found = self._found, found
        problem, self.problem = self.problem, ""
        self._watch(found.folders)
        self._set_beat()
        if known is None or problem or not found.says_the_same(known):
            self.changed.emit()
        if known is not None and _list_turns(known) != _list_turns(found):
            self.runs_changed.emit()

    def _on_failed(self, error: Exception) -> None:
        problem, self.problem = self.problem, str(error)
        self._watch(_find_folders(self.queue))
        if problem != self.problem:
            logger.warning("The queue could not be read: %s", error)
            self.changed.emit()

    def _watch(self, folders: frozenset[str]) -> None:
        watched = set(self._watcher.directories())
        if gone := watched - folders:
            self._watcher.removePaths(sorted(gone))
        if new := folders - watched:
            self._watcher.addPaths(sorted(new))
        if folders != self._folders:  # what was changed in them since they were read
            self._folders = folders
            self._settle.start()

    @Slot()
    def _on_folder_changed(self) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def _set_beat(self) -> None:
        if self._is_window_shown and self.overview.workers:
            self._beat.start()
        else:
            self._beat.stop()


def describe_queue(queue: RunQueue) -> str:
    """In a few words, as the foot of the window has them; "" where nothing is at work and nothing waits."""
    if queue.problem:
        return "Queue cannot be read"
    overview = queue.overview
    states = (("at work", "running"), ("interrupted", "interrupted"), ("waiting", "waiting"))
    counts = [f"{len(found):,} {word}" for state, word in states if (found := overview.list_state(state))]
    if not counts:
        return ""
    if overview.left_alone and not overview.paused:
        counts.append("starting" if queue.starting else "not started")
    return f"Queue{' paused' if overview.paused else ''}: {', '.join(counts)}"


def explain_sharing(queue: RunQueue) -> str:
    """What a run that is started now will share its device with; "" where nothing of the queue is at work."""
    names = [f"“{shown.entry.name}”" for shown in queue.overview.list_state("at work")]
    return (
        f"The queue is training {' and '.join(names)}: a run started now shares the machine with it." if names else ""
    )


def _read(queue: Queue, known: Found | None, due: bool) -> Found | None:
    """In the background thread; None where no file was changed since, no folder came, and no other look is due."""
    folders, stamp = _find_folders(queue), _stamp(queue)
    if known is not None and (known.folders, known.stamp) == (folders, stamp) and not due:
        return None
    overview = look_at(queue)
    earlier = known.records if known is not None else {}
    records = {}
    for shown in overview.shown:
        run = shown.entry.run
        record = earlier.get(run)
        if shown.state not in OVER or record is None or record.status in AT_WORK:
            place = queue.run_of(shown.entry)
            record = place.status() if place is not None else None
        if record is not None:
            records[run] = record
    return Found(overview, records, stamp, folders)


def _stamp(queue: Queue) -> _Stamp:
    """What differs as soon as one of its files was written."""
    found = []
    for path in (queue.folder / FILE, *sorted((queue.folder / "workers").glob("*.json"))):
        try:
            status = path.stat()
        except OSError:  # not there, or not any more
            continue
        found.append((path.name, status.st_ino, status.st_mtime_ns))
    return tuple(found)


def _find_folders(queue: Queue) -> frozenset[str]:
    """Where a change of it, or its first file, will show."""
    above = (queue.folder, queue.workspace, queue.workspace.parent)
    first = next((folder for folder in above if folder.is_dir()), None)
    folders = (first, queue.folder / "workers")
    return frozenset(str(folder) for folder in folders if folder is not None and folder.is_dir())


def _list_turns(found: Found) -> set[tuple[str, str]]:
    return {(shown.entry.run, shown.state) for shown in found.overview.shown if shown.entry.run}
