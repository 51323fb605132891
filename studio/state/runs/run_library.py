"""All runs of the workspace, read in the background."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background, Refresher
from studio.state.formats import kind_title
from training.control import UNASKED
from training.errors import InputError
from training.runs.folder import AT_WORK, RunFolder, owner_of
from training.runs.records.about import About, name_of, read_about, update_about
from training.runs.records.forms import StatusRecord
from training.runs.records.progress import worked_seconds
from training.runs.records.series import sample_series
from training.runs.trash import TrashedRun, delete_trashed, list_trash, measure_folder, restore_run, trash_run

if TYPE_CHECKING:
    from training.runs.index import Index

logger = logging.getLogger(__name__)

_NOTHING_SAID = About()
_SPARK_POINTS = 40
_MEASURED_AT_ONCE = 500  # runs; there may be ten thousand, and the list does not wait
_CAUGHT_UP_AT_ONCE = 20
_SPARK_ROWS = 64  # steps behind each point of a long run: enough for a calm line, however many steps there are


@dataclass(frozen=True)
class RunSummary:
    """One run in a list: its status record, its loss thinned to a few points, the bytes its folder takes (None: not known
    yet), and what a person says of it."""

    record: StatusRecord
    losses: tuple[float, ...] = ()
    size: int | None = None
    about: About = _NOTHING_SAID

    @property
    def id(self) -> str:
        """The run's identity."""
        return self.record.run

    @property
    def name(self) -> str:
        """What the person called it."""
        return name_of(self.record, self.about)

    @property
    def folder(self) -> RunFolder:
        """Where it lies."""
        return RunFolder(Path(self.record.folder))

    @property
    def status(self) -> str:
        """created, running, paused, completed, stopped, failed or interrupted."""
        return self.record.status

    @property
    def parent(self) -> str:
        """The run it was branched from; "" for one that started from the beginning."""
        return self.record.parent.run if self.record.parent else ""

    @property
    def cut_short(self) -> bool:
        """Whether it was stopped because its window had gone, or the system went down, and not been resumed since."""
        return self.status == "stopped" and self.record.reason in UNASKED

    @property
    def dataset_title(self) -> str:
        """What it is trained on."""
        return kind_title("dataset", self.record.dataset)

    @property
    def model_title(self) -> str:
        """What is trained."""
        return kind_title("model", self.record.model)

    @cached_property
    def search_text(self) -> str:
        """What a search looks through, in lower case."""
        record = self.record
        said = (self.name, self.about.notes, *self.about.tags)
        return " ".join((*said, record.run, record.dataset, record.model, self.dataset_title, self.model_title)).lower()

    @property
    def duration(self) -> float:
        """Seconds that were worked on it: pauses, and the time between two attempts, are none."""
        return worked_seconds(self.record)


class RunLibrary(QObject):
    """The list of runs.

    Signals:
        refreshed(): ``runs`` is as new as the folders.
        failed(): they could not be read; ``problem`` says why.
        restored(RunFolder): it, or a part of it, came back from the trash.
    """

    refreshed, restored = Signal(), Signal(object)
    failed = Signal()

    def __init__(self, workspace: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: tuple[RunSummary, ...] = ()
        self.loaded = False
        self.trash: tuple[TrashedRun, ...] = ()
        self.problem = ""  # why the list could not be read last time
        self._workspace = workspace
        self._background = background
        self._named: Counter[str] = Counter()
        self._refresher = Refresher(background, lambda: self._read, self._on_read, self._on_failed)
        self._doomed: set[str] = set()  # runs that are being deleted: nobody should be offered them any more
        self._index: Index | None = None  # kept, as it remembers the records of runs that ended
        self._known: dict[str, RunSummary] = {}  # as read last
        self._sizes: dict[str, tuple[float, int]] = {}  # by run: when it was last worked on, the bytes of its folder
        self._sparks: dict[str, tuple[int, tuple[float, ...]]] = {}  # by run: size of its series, thinned losses

    def find(self, run_id: str) -> RunSummary | None:
        """The run ``run_id``, if it is known."""
        return next((run for run in self.runs if run.id == run_id), None)

    def title_of(self, run: RunSummary) -> str:
        """Its name, with the end of its identity where another run is called the same."""
        name = run.name
        return f"{name} · {run.id.rpartition('-')[2]}" if self._named[name] > 1 else name

    @Slot()
    def refresh(self) -> None:
        """Read the workspace again; many calls at once become one more look."""
        self._refresher.ask()

    def throw_away(
        self,
        folder: RunFolder,
        handle_result: Callable[[RunFolder], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        """Move a run into the trash; ``handle_result`` is told where it lies. A run that is being trained is refused."""

        def work() -> RunFolder:
            trashed = trash_run(folder)
            index = self._open_index()
            index.forget(folder.id)
            index.close()
            return trashed

        def settle(trashed: RunFolder) -> None:
            self._doomed.discard(folder.id)
            self.refresh()
            handle_result(trashed)

        def fail(error: Exception) -> None:
            self._doomed.discard(folder.id)
            self.refresh()
            handle_failure(error)

        self._doomed.add(folder.id)
        self._background.submit(work, settle, fail)

    def say(
        self,
        folders: Sequence[RunFolder],
        change: Callable[[RunFolder, About], About],
        handle_result: Callable[[dict[RunFolder, About]], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        """Change what is said of runs; ``handle_result`` is told what was said of those that were changed, also where another one
        could not be."""

        def work() -> tuple[dict[RunFolder, About], Exception | None]:
            before: dict[RunFolder, About] = {}
            for folder in folders:
                about = read_about(folder)
                try:
                    update_about(folder, partial(change, folder))
                except InputError as error:
                    return before, error
                before[folder] = about
            return before, None

        def settle(done: tuple[dict[RunFolder, About], Exception | None]) -> None:
            self.refresh()
            before, error = done
            handle_result(before)
            if error is not None:
                handle_failure(error)

        self._background.submit(work, settle, handle_failure)

    def restore(self, trashed: RunFolder, handle_failure: Callable[[Exception], object]) -> None:
        """Take a run, or a part of one, back out of the trash."""
        self._change_trash(lambda: restore_run(trashed), handle_failure, self.restored.emit)

    def delete_for_good(self, trashed: Sequence[RunFolder], handle_failure: Callable[[Exception], object]) -> None:
        """Remove runs from the trash."""

        def work() -> None:
            for each in trashed:
                delete_trashed(each)

        self._change_trash(work, handle_failure)

    def _change_trash(
        self,
        work: Callable[[], object],
        handle_failure: Callable[[Exception], object],
        then: Callable[[Any], object] = lambda _done: None,
    ) -> None:
        def settle(done: object) -> None:
            self.refresh()
            then(done)

        def fail(error: Exception) -> None:
            self.refresh()
            handle_failure(error)

        self._background.submit(work, settle, fail)

    def running_elsewhere(self) -> list[RunSummary]:
        """Runs that some process is working on now, newest first."""
        return [run for run in self._find_working() if owner_of(run.folder.path)]

    def is_overtaken(self) -> bool:
        """Whether a run that was being worked on when the list was read has lost its process since."""
        return not all(owner_of(run.folder.path) for run in self._find_working())

    def _find_working(self) -> list[RunSummary]:
        return [run for run in self.runs if run.status in AT_WORK]

    def latest(self) -> RunSummary | None:
        """The run that was worked on last."""
        return max(self.runs, key=lambda run: run.record.updated, default=None)

    def find_interrupted(self) -> list[RunSummary]:
        """Runs whose process vanished, or that were stopped by no person; newest first."""
        return [run for run in self.runs if run.status == "interrupted" or run.cut_short]

    def _open_index(self) -> Index:
        # In the background thread, not at the top: the database library is a third of what the window would load.
        from training.runs.index import Index

        return Index(self._workspace)

    def _read(self) -> tuple[tuple[RunSummary, ...], tuple[TrashedRun, ...]]:
        """In the background thread, which alone uses what is remembered between two looks."""
        index = self._index = self._index or self._open_index()
        try:
            records = index.runs()
        finally:
            index.close()
        abouts = index.abouts()
        self._known = {record.run: self._summary(record, abouts[record.run]) for record in records}
        return tuple(self._known.values()), tuple(list_trash(self._workspace, self.trash))

    def _summary(self, record: StatusRecord, about: About) -> RunSummary:
        """The same object as last time for a run that ended and did not change since."""
        known = self._known.get(record.run)
        size = self._sizes.get(record.run, (0.0, None))[1]
        if known is not None and known.record is record and (known.size, known.about) == (size, about):
            return known
        return RunSummary(record, self._losses(record), size, about)

    def _measure(self) -> int:
        """In the background thread, after the list is shown; returns how many runs there were to measure."""
        index = self._open_index()
        index.catch_up(_CAUGHT_UP_AT_ONCE)  # the epochs that a database which was away has missed
        index.close()
        stale = self._find_unmeasured()
        for run in stale[:_MEASURED_AT_ONCE]:
            self._sizes[run.id] = run.record.updated, measure_folder(run.folder.path)
        return len(stale)

    def _find_unmeasured(self) -> list[RunSummary]:
        """Runs that ended, and of whose size nothing is known, or of an earlier end."""
        ended = (run for run in self.runs if run.status not in AT_WORK)
        return [run for run in ended if self._sizes.get(run.id, (None,))[0] != run.record.updated]

    def _losses(self, record: StatusRecord) -> tuple[float, ...]:
        path = RunFolder(Path(record.folder)).series_file
        try:
            size = path.stat().st_size
            known = self._sparks.get(record.run)
            if known and known[0] == size:
                return known[1]
            losses = thin(sample_series(path, _SPARK_POINTS, _SPARK_ROWS)["loss"])
        except FileNotFoundError:
            return ()
        except (OSError, InputError) as error:
            logger.warning("The losses of %s cannot be read: %s", record.run, error)
            return ()
        self._sparks[record.run] = (size, losses)
        return losses

    def _on_read(self, found: tuple[tuple[RunSummary, ...], tuple[TrashedRun, ...]]) -> None:
        self.loaded, self.problem = True, ""
        runs, self.trash = found
        runs = tuple(run for run in runs if run.folder.id not in self._doomed)
        if runs != self.runs:
            self.runs = runs
            self._named = Counter(run.name for run in runs)
        self.refreshed.emit()
        if not self._refresher.is_asked and self._find_unmeasured():
            self._background.submit(self._measure, lambda _count: self.refresh(), self._on_failed)

    def _on_failed(self, error: Exception) -> None:
        logger.warning("The list of runs could not be read: %s", error)
        self.problem = str(error)
        self.failed.emit()


def thin(values: np.ndarray[Any, Any]) -> tuple[float, ...]:
    """At most 40 means of neighboring values; what is not finite is left out."""
    values = values[np.isfinite(values)].astype(np.float64)
    points = min(_SPARK_POINTS, len(values))
    if not points:
        return ()
    edges = np.arange(points + 1) * len(values) // points
    means = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
    return tuple(means.tolist())
