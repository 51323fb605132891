"""The events of a run folded into what is true now; follows the file while it grows."""

from __future__ import annotations

import os
import threading
import zlib
from contextlib import suppress
from copy import copy
from pathlib import Path

from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    CheckpointSaved,
    DataPrepared,
    EpochEnded,
    Event,
    Found,
    PhaseChanged,
    Rewound,
    StepSkipped,
    Validated,
    decode,
    encode,
)
from training.reading import MEGABYTE, open_file

_MOST_BYTES = 1024 * MEGABYTE
_MOST_LINE = 4 * MEGABYTE
"""A longer line is read in pieces, and no piece of it is an event."""


class EventLog:
    """The writer of ``events.jsonl``: a line is handed to the system whole, so readers never see half of one."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()  # the thread that writes checkpoints tells of them itself
        self._size, self._sum = sum_of_prefix(path)
        if self._size and _last_byte(path) != b"\n":
            self._append(b"\n")  # a kill may have torn the last line: start the next on a line of its own

    def emit(self, event: Event) -> None:
        """Append ``event``; raises OSError, leaving no part of it behind, when the disk does not take it."""
        with self._lock:
            self._append(encode(event))

    def evidence(self) -> dict[str, int]:
        """What was written so far, for whoever wants to know later whether it is still there unchanged."""
        with self._lock:
            return {"bytes": self._size, "crc32": self._sum}

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
        self._size, self._sum = self._size + len(line), zlib.crc32(line, self._sum)


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as stream:  # os.pread is not to be had on Windows
        stream.seek(-1, os.SEEK_END)
        return stream.read(1)


def sum_of_prefix(path: Path, size: int | None = None) -> tuple[int, int]:
    """Length and CRC-32 of the first ``size`` bytes of ``path`` (of all by default), or of what there is of them."""
    length = total = 0
    with open_file(path, _MOST_BYTES) as stream:
        while chunk := stream.read(MEGABYTE if size is None else min(MEGABYTE, size - length)):
            length, total = length + len(chunk), zlib.crc32(chunk, total)
    return length, total


def _is_test(event: Validated) -> bool:
    """Whether this is the measurement that ends a run: each attempt that gets so far makes it again."""
    return any(name.startswith("test/") for name in event.metrics)


class History:
    """Events of one run so far. ``poll`` reads what is new; the attributes hold the state after it.

    A resumed attempt voids what came after its checkpoint, and so does going back to one, so validations and epochs read as one line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._sum = 0
        self.attempts: list[AttemptStarted] = []
        self.validations: list[Validated] = []
        self.epochs: list[EpochEnded] = []
        self.findings: list[Found] = []
        self.skipped: list[StepSkipped] = []
        self.data: DataPrepared | None = None
        self.phase: PhaseChanged | None = None
        self.final: Event | None = None
        self.reached = 0
        """The step of the newest checkpoint, or of the one that the last attempt went back to."""

    def is_of(self, path: Path) -> bool:
        """Whether it is what ``path`` begins with."""
        try:
            return path == self._path and sum_of_prefix(path, self._offset) == (self._offset, self._sum)
        except OSError:
            return False

    def copy(self) -> History:
        """What it holds by now, whatever is folded into it later."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(other, name, value.copy())
        return other

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
                self._offset, self._sum = self._offset + len(line), zlib.crc32(line, self._sum)
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
            self.reached = event.step
        if isinstance(event, AttemptStarted):
            self.attempts.append(event)
            self.final = None
        elif isinstance(event, CheckpointSaved):
            self.reached = max(self.reached, event.step)
        elif isinstance(event, Validated):
            self.validations.append(event)
        elif isinstance(event, EpochEnded):
            self.epochs.append(event)
        elif isinstance(event, StepSkipped):
            self.skipped.append(event)
        elif isinstance(event, Found):
            self.findings.append(event)
        elif isinstance(event, DataPrepared):
            self.data = event
        elif isinstance(event, PhaseChanged):
            self.phase = event
        elif isinstance(event, FINAL_EVENTS):
            self.final = event
            self.phase = None


class _Kept:
    """The history that was read last. A run that goes on asks for its own several times: it is only read on from where it
    ended, as long as the file still begins with what was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._history: History | None = None

    def read(self, path: Path) -> History:
        with self._lock:
            history, self._history = self._history, None
            if history is None or not history.is_of(path):
                history = History(path)
            history.poll()
            self._history = history
            return history.copy()


_KEPT = _Kept()


def read_history(path: Path) -> History:
    """The whole history in ``path``, the caller's own."""
    return _KEPT.read(path)
