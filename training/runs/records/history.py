"""The events of a run folded into what is true now; follows the file while it grows."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from training.errors import InputError
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    DataPrepared,
    EpochEnded,
    Event,
    Finding,
    PhaseChanged,
    RateDropped,
    Rewound,
    StepSkipped,
    TextSampled,
    Validated,
    decode,
    encode,
)
from training.system.untrusted import MEGABYTE, UnfitFile, open_file

_MOST_BYTES = 1024 * MEGABYTE
_MOST_LINE = 4 * MEGABYTE
"""A longer line is read in pieces, and no piece of it is an event."""


def identify_file(path: Path) -> int:
    """Another number once another file lies there, as where a run's events are: a state of the run that was set aside, or one that was
    brought back. 0 for no file."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


class EventLog:
    """The writer of ``events.jsonl``: a line is handed to the system whole, so readers never see half of one."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()  # the thread that writes checkpoints tells of them itself
        if path.stat().st_size and _last_byte(path) != b"\n":
            self._append(b"\n")  # a kill may have torn the last line: start the next on a line of its own

    def emit(self, event: Event) -> None:
        """Append ``event``; raises OSError, leaving no part of it behind, when the disk does not take it."""
        with self._lock:
            self._append(encode(event))

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _append(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - (len(line) - len(view)))
            raise


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as stream:  # os.pread is not to be had on Windows
        stream.seek(-1, os.SEEK_END)
        return stream.read(1)


def _is_test(event: Validated) -> bool:
    """Whether this is the measurement that ends a run: each attempt that gets so far makes it again."""
    return any(name.startswith("test/") for name in event.metrics)


class History:
    """Events of one run so far. ``poll`` reads what is new; the attributes hold the state after it.

    A resumed attempt voids what came after its checkpoint, and so does going back to one, so validations and epochs read as one line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.attempts: list[AttemptStarted] = []
        self.validations: list[Validated] = []
        self.epochs: list[EpochEnded] = []
        self.findings: list[Finding] = []
        self.skipped: list[StepSkipped] = []
        self.drops: list[RateDropped] = []
        self.texts: list[TextSampled] = []
        self.data: DataPrepared | None = None
        self.phase: PhaseChanged | None = None
        self.final: Event | None = None

    def poll(self) -> list[Event]:
        """Events that arrived since the last call, oldest first; lines of unknown kinds are passed over."""
        try:
            if os.stat(self._path).st_size <= self._offset:
                return []
        except FileNotFoundError:
            return []
        events: list[Event] = []
        with open_file(self._path, _MOST_BYTES) as stream:
            stream.seek(self._offset)
            while line := stream.readline(_MOST_LINE):
                if not line.endswith(b"\n") and len(line) < _MOST_LINE:
                    break  # still being written
                self._offset += len(line)
                event = decode(line)
                if event is not None:
                    self._fold(event)
                    events.append(event)
        return events

    def _fold(self, event: Event) -> None:
        if isinstance(event, AttemptStarted | Rewound):
            self.validations = [item for item in self.validations if item.step <= event.step and not _is_test(item)]
            self.epochs = [item for item in self.epochs if item.step <= event.step]
            self.findings = [item for item in self.findings if item.step <= event.step]
            self.skipped = [item for item in self.skipped if item.step <= event.step]
            self.drops = [item for item in self.drops if item.step <= event.step]
            self.texts = [item for item in self.texts if item.step <= event.step]
        if isinstance(event, AttemptStarted):
            self.attempts.append(event)
            self.final = None
        elif isinstance(event, Validated):
            self.validations.append(event)
        elif isinstance(event, EpochEnded):
            self.epochs.append(event)
        elif isinstance(event, StepSkipped):
            self.skipped.append(event)
        elif isinstance(event, RateDropped):
            self.drops.append(event)
        elif isinstance(event, TextSampled):
            self.texts.append(event)
        elif isinstance(event, Finding):
            self.findings.append(event)
        elif isinstance(event, DataPrepared):
            self.data = event
        elif isinstance(event, PhaseChanged):
            self.phase = event
        elif isinstance(event, FINAL_EVENTS):
            self.final = event
            self.phase = None


def read_history(path: Path) -> History:
    """The whole history in ``path``. Raises InputError for a file that is no history of a run."""
    history = History(path)
    try:
        history.poll()
    except UnfitFile as error:
        raise InputError(f"{path}: {error.strerror}, so it is no history of a run.") from error
    return history
