"""The whole record of a run that is over, read at once."""

from __future__ import annotations

from dataclasses import dataclass

from training.events import AttemptStarted, CheckpointSaved, Event, Found, Validated
from training.runs.folder import RunFolder
from training.runs.history import History
from training.runs.series import Rows, read_series


@dataclass(frozen=True)
class RunReading:
    """Rows and events of one run, without what a later attempt made void."""

    folder: RunFolder
    rows: Rows
    events: tuple[Event, ...]


def read_run(folder: RunFolder) -> RunReading:
    """Read the series and the events of ``folder``; raises OSError or InputError when they cannot be read."""
    rows = read_series(folder.series_file)
    events: list[Event] = []
    for event in History(folder.events_file).poll():
        if isinstance(event, AttemptStarted):
            events = [item for item in events if not _is_void(item, event.step)]
        events.append(event)
    return RunReading(folder, rows, tuple(events))


def _is_void(event: Event, step: int) -> bool:
    return isinstance(event, Validated | CheckpointSaved | Found) and event.step > step
