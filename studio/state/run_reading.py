"""The whole record of a run that is over, read at once."""

from __future__ import annotations

from dataclasses import dataclass

from training.events import AttemptStarted, CheckpointSaved, Event, Found, Validated, decode
from training.runs.folder import RunFolder
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
    text = folder.events_file.read_bytes() if folder.events_file.exists() else b""
    events: list[Event] = []
    for line in text.splitlines():
        event = decode(line)
        if isinstance(event, AttemptStarted):
            events = [item for item in events if not _is_void(item, event.step)]
        if event is not None:
            events.append(event)
    return RunReading(folder, rows, tuple(events))


def _is_void(event: Event, step: int) -> bool:
    return isinstance(event, Validated | CheckpointSaved | Found) and event.step > step
