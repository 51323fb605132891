"""Settings and metrics of all runs, a column for each that somebody wants to see or to filter by: read from the index in the
background."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background, Refresher
from studio.state.runs.run_library import RunLibrary, RunSummary
from training.runs.query import Names, collect_names
from training.runs.query.conditions import SEARCH, Value, Values
from training.runs.records.forms import StatusRecord

logger = logging.getLogger(__name__)

_AT_ONCE = 40  # runs whose settings are read into the index in one go


class _Reading(NamedTuple):
    columns: dict[str, dict[str, float | str]] | None
    names: Names
    recipes: dict[str, str]
    behind: int


class RunValues(QObject):
    """Signals: `changed()`: values were read, or none could be."""

    changed = Signal()

    def __init__(
        self, library: RunLibrary, background: Background, workspace: Path, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.names = collect_names()
        self.recipes: Mapping[str, str] = {}
        self.behind = 0  # runs whose settings and metrics are still being read
        self._library = library
        self._workspace = workspace
        self._wanted: set[str] = set()
        self._columns: dict[str, dict[str, float | str]] = {}
        self._refresher = Refresher(background, self._prepare, self._on_read, self._on_failed)
        self._seen: object = None
        library.refreshed.connect(self._on_refreshed)

    def want(self, keys: Collection[str]) -> None:
        """These columns are needed, beside what every run tells of itself; and from the first call on, all are kept up to date."""
        new = {key for key in keys if key not in _FACTS} - self._wanted
        if new or not self._wanted:
            self._wanted |= new | {"seed"}
            self.read()

    def value(self, run: RunSummary, key: str) -> Value:
        """Of one run; None for what it has not."""
        fact = _FACTS.get(key)
        return fact(run) if fact is not None else self._columns.get(key, {}).get(run.id)

    def each(self, runs: Iterable[RunSummary], keys: Iterable[str]) -> Iterator[tuple[RunSummary, Values]]:
        """Each run with what a filter of these ``keys`` asks of it; made for ten thousand of them at a key stroke."""
        asked = _Asked({key: self._columns.get(key, {}) for key in keys if key not in _FACTS})
        for run in runs:
            asked.run, asked.run_id = run, run.record.run
            yield run, asked

    @Slot()
    def read(self) -> None:
        """Read the columns again; many calls at once become one more look."""
        self._refresher.ask()

    def _prepare(self) -> Callable[[], _Reading]:
        self._seen, wanted = self._library.runs, sorted(self._wanted)
        return lambda: self._read(wanted)

    def _read(self, wanted: list[str]) -> _Reading:
        from training.runs.index import Index  # in the background thread: the database library is large

        index = Index(self._workspace)
        try:
            behind = index.catch_up(_AT_ONCE)
            return _Reading(index.columns(wanted), index.names(), index.recipes() or {}, behind)
        finally:
            index.close()

    def _on_read(self, reading: _Reading) -> None:
        self.names, self.recipes = reading.names, reading.recipes
        progressed = reading.behind != self.behind or not self.behind
        self.behind = reading.behind
        self._columns = reading.columns or {}
        self.changed.emit()
        if self.behind and progressed and reading.columns is not None:
            self.read()

    def _on_failed(self, error: Exception) -> None:
        logger.warning("Settings and metrics of the runs could not be read: %s", error)
        self.changed.emit()

    @Slot()
    def _on_refreshed(self) -> None:
        if self._wanted and self._seen is not self._library.runs:
            self.read()


class _Asked(Mapping[str, Value]):
    """What one run after the other is asked: nothing is looked up that a filter does not get to."""

    def __init__(self, columns: Mapping[str, Mapping[str, float | str]]) -> None:
        self._columns = columns
        self.run = RunSummary(StatusRecord(run=""))
        self.run_id = ""

    def get(self, key: str, default: Value = None) -> Value:  # type: ignore[override]
        column = self._columns.get(key)
        if column is not None:
            return column.get(self.run_id)
        fact = _FACTS.get(key)
        return fact(self.run) if fact is not None else default

    def __getitem__(self, key: str) -> Value:
        return self.get(key)

    def __iter__(self) -> Iterator[str]:
        return iter((*_FACTS, *self._columns))

    def __len__(self) -> int:
        return len(_FACTS) + len(self._columns)


_FACTS: dict[str, Callable[[RunSummary], Value]] = {
    "name": lambda run: run.name,
    "run": lambda run: run.id,
    "status": lambda run: run.status,
    "dataset": lambda run: run.record.dataset,
    "model": lambda run: run.record.model,
    "parent": lambda run: run.parent,
    "notes": lambda run: run.about.notes,
    "tags": lambda run: run.about.tags,
    "star": lambda run: run.about.star,
    "archived": lambda run: run.about.archived,
    "step": lambda run: float(run.record.step),
    "epoch": lambda run: float(run.record.epoch),
    "created": lambda run: run.record.created,
    "duration": lambda run: run.duration,
    SEARCH: lambda run: run.search_text,
}
"""What every run tells of itself, without the index."""
