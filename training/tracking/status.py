"""What of a run was delivered to trackers and what waits, as its folder tells it to all that ask: nothing here talks to a tracker.
``sidecars.process.is_sending(folder.tracking)`` tells whether a process is at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from training.errors import pluralize
from training.runs.folder import RunFolder
from training.runs.records.series import STEP_ROW, count_rows
from training.sidecars.process import is_sending, tell_end
from training.tracking.cursor import find_known_trackers, read_cursor
from training.tracking.settings import OFFLINE_PLACE, TITLES, Name


@dataclass(frozen=True)
class TrackerStatus:
    """One tracker of a run. ``delivered``: steps that are at ``place``; ``waiting``: steps of the run that are not; ``complete``: nothing
    waits, and how the run ended is told there. ``problem`` is a sentence that says why not more is there, "" while all goes well;
    ``notes`` are sentences on what was delivered. ``link``: where a browser finds the run, "" where there is no such page."""

    tracker: Name
    place: str
    delivered: int
    waiting: int
    complete: bool
    problem: str
    notes: tuple[str, ...]
    link: str

    @property
    def title(self) -> str:
        """The tracker's own name."""
        return TITLES[self.tracker]

    def describe(self) -> str:
        """One line without the tracker's name: "1,200 steps are in http://127.0.0.1:5000; 34 steps wait: it cannot be reached"."""
        there = f"{pluralize(self.delivered, 'step')} {'is' if self.delivered == 1 else 'are'} in {self.place}"
        if self.complete:
            return f"{there}, and how the run ended"
        told = f"{there}; {describe_waiting(self.waiting)}" if self.waiting or self.problem else there
        return f"{told}: {self.problem.removesuffix('.')}" if self.problem else told

    def record(self) -> dict[str, JsonValue]:
        """As JSON."""
        return {
            "tracker": self.tracker,
            "place": self.place,
            "delivered": self.delivered,
            "waiting": self.waiting,
            "complete": self.complete,
            "problem": self.problem,
            "notes": list(self.notes),
            "link": self.link,
        }


def read_tracker_statuses(folder: RunFolder) -> tuple[TrackerStatus, ...]:
    """Of each tracker that the run is, or was, sent to; cheap enough to be asked every second."""
    steps, ended = count_rows(folder.series_file, STEP_ROW), tell_end(folder)
    found = []
    for name in find_known_trackers(folder):
        cursor = read_cursor(folder, name)
        waiting = max(steps - cursor.steps, 0)
        problem = cursor.problem
        if cursor.place == OFFLINE_PLACE and not ended and not problem:
            problem = "its offline files are written when the run ends"
        notes = [*cursor.notes, *_tell_beyond(steps, cursor.steps)] if ended else cursor.notes
        found.append(
            TrackerStatus(
                tracker=name,
                place=cursor.place,
                delivered=cursor.steps,
                waiting=waiting,
                complete=bool(ended) and cursor.ended == ended and not waiting,
                problem=problem,
                notes=tuple(notes),
                link=cursor.link,
            )
        )
    return tuple(found)


def _tell_beyond(steps: int, delivered: int) -> Iterator[str]:
    """What is there beyond the ``steps`` of a run that went back and ended sooner."""
    if delivered > steps:
        last = pluralize(delivered - steps, "step")
        yield f"The last {last} there were made before the run went back to an earlier checkpoint: it has {steps:,} now."


def describe_waiting(steps: int) -> str:
    """ "34 steps wait"; where no step does, there is more than steps."""
    return f"{pluralize(steps, 'step')} {'waits' if steps == 1 else 'wait'}" if steps else "its files and its end wait"


def describe_trackers(folder: RunFolder) -> list[str]:
    """A line for each tracker of the run, and one for each thing to be known of it."""
    lines = []
    for status in read_tracker_statuses(folder):
        lines.append(f"tracker    {status.tracker}: {status.describe()}")
        lines += [f"           {note}" for note in status.notes]
    return lines


def record_trackers(folder: RunFolder) -> Mapping[str, JsonValue]:
    """The same as JSON."""
    return {
        "trackers": [status.record() for status in read_tracker_statuses(folder)],
        "sending": is_sending(folder.tracking),
    }
