"""The record of a run as it grows: rows and events, each read once."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.monitor import events_file_id
from training.events import AttemptStarted, CheckpointSaved, Event, Found, RateDropped, Rewound, TextSampled, Validated
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.series import STEP_ROW, Rows, SeriesReader


@dataclass(frozen=True)
class RunReading:
    """Rows and events of one run, without what a later attempt made void: all of them where it is ``anew``, else those
    that came since the reading before."""

    folder: RunFolder
    rows: Rows
    events: tuple[Event, ...]
    anew: bool


class RunReader:
    """Reads one run again and again; a look at a run of a million steps costs what was added since the last one."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._begin()

    def _begin(self) -> None:
        self._series = SeriesReader(self._folder.series_file, STEP_ROW)
        self._history = History(self._folder.events_file)
        self._file = events_file_id(self._folder)
        self._anew = True

    def read(self) -> RunReading:
        """What is new. Raises OSError or InputError when it cannot be read; then the next reading begins again."""
        try:
            if events_file_id(self._folder) != self._file:
                self._begin()  # the run went back to an earlier state of it
            events = self._history.poll()
            cut, rows = self._series.read()
            if not self._anew and (cut or any(isinstance(event, AttemptStarted) for event in events)):
                self._begin()  # a later attempt makes void what was read, and may have cut the series
                events = self._history.poll()
                rows = self._series.read()[1]
        except BaseException:
            self._begin()
            raise
        anew, self._anew = self._anew, False
        return RunReading(self._folder, rows, tuple(_standing(events)), anew)


def _standing(events: list[Event]) -> list[Event]:
    kept: list[Event] = []
    for event in events:
        if isinstance(event, AttemptStarted | Rewound):
            kept = [item for item in kept if not _is_void(item, event.step)]
        kept.append(event)
    return kept


def _is_void(event: Event, step: int) -> bool:
    return isinstance(event, Validated | RateDropped | CheckpointSaved | Found | TextSampled) and event.step > step
