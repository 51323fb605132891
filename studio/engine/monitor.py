"""Turns a run folder that some process fills into signals. It does not matter which process: our engine, one in the
background, or a terminal."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from training.errors import InputError
from training.events import FINAL_EVENTS, AttemptStarted
from training.runs.folder import RunFolder, owner_of
from training.runs.records.history import History, identify_file
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesReader

logger = logging.getLogger(__name__)

VISIBLE_INTERVAL = 200  # milliseconds; the engine writes ten times a second, but nobody reads five numbers that fast
HIDDEN_INTERVAL = 1000  # also of a run that nobody works on: another process may go on with it
_OWNER_CHECK = 0.95  # seconds: asking the system about a process costs more than the rest of a look


class RunMonitor(QObject):
    """Watches one run folder.

    Signals:
        truncated(int): rows after that step are void (the run was resumed there).
        rows_arrived(ndarray of STEP_ROW): new rows, in order; after ``truncated`` those that count again.
        telemetry_arrived(ndarray of FLUSH_ROW)
        event_arrived(Event): every event, oldest first.
        alive_changed(bool): a process works on the run, or no longer, or another one.
        replaced(): the run's files are others now (it went back to an earlier state of it), and all that was said is void.
        looked(): after each look, when all of the above was said.
    """

    truncated = Signal(int)
    rows_arrived = Signal(object)
    telemetry_arrived = Signal(object)
    event_arrived = Signal(object)
    alive_changed = Signal(bool)
    replaced = Signal()
    looked = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = RunFolder(folder)
        self.history = History(self.folder.events_file)
        self.alive = False
        self.owner: int | None = None  # the process that works on the run
        self._last_step = 0
        self._file = 0  # which one the history is read from
        self._owner_checked = -math.inf
        self._steps = SeriesReader(self.folder.series_file, STEP_ROW)
        self._telemetry = SeriesReader(self.folder.telemetry_file, FLUSH_ROW)
        self._timer = QTimer(self)
        self._visible = True
        self._set_pace()
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        """Begin to look; the first look happens now."""
        self.look_closely()
        self._timer.start()

    def stop(self) -> None:
        """Look no more."""
        self._timer.stop()

    def set_visible(self, visible: bool) -> None:
        """Look less often while nobody sees the numbers."""
        self._visible = visible
        self._set_pace()

    def _set_pace(self) -> None:
        wanted = VISIBLE_INTERVAL if self._visible and self.alive else HIDDEN_INTERVAL
        if self._timer.interval() != wanted:
            self._timer.setInterval(wanted)

    def look_closely(self) -> None:
        """``look``, and ask the system whether a process works on the run, however lately that was asked."""
        self._owner_checked = -math.inf
        self.look()

    @Slot()
    def look(self) -> None:
        """Read what is new and say it."""
        before, self._file = self._file, identify_file(self.folder.events_file)
        if before and self._file != before:
            self.stop()
            self.replaced.emit()
            return
        owner = self._owner_now() if time.monotonic() - self._owner_checked >= _OWNER_CHECK else self.owner
        try:
            # A process writes its last event before it lets go of the run. Who asks for the owner first and reads after
            # that never sees a run that ended well as one that was left without a word.
            events = news = self.history.poll()
            while any(isinstance(event, (AttemptStarted, *FINAL_EVENTS)) for event in news):
                owner = self._owner_now()
                news = self.history.poll()
                events = events + news
            self._tell_owner(owner)
            for event in events:
                # Events before rows: a resumed run's event says which rows are void, also when it is read much later.
                if isinstance(event, AttemptStarted) and event.step < self._last_step:
                    self._read_again(event.step)
                self.event_arrived.emit(event)
            self._read_rows()
            _cut, telemetry = self._telemetry.read()
        except (OSError, InputError) as error:
            logger.warning("The run folder %s cannot be read: %s", self.folder.path, error)
            self.stop()
            self._tell_owner(owner)
            return
        if len(telemetry):
            self.telemetry_arrived.emit(telemetry)
        self.looked.emit()

    def _read_again(self, step: int) -> None:
        """A resumed run cuts its series at ``step``; from another process's cut only the event is sure to be seen."""
        self._steps = SeriesReader(self.folder.series_file, STEP_ROW)
        self._last_step = step
        self.truncated.emit(step)

    def _read_rows(self) -> None:
        cut, rows = self._steps.read()
        if cut:
            kept = int(rows["step"][-1]) if len(rows) else 0
            self._last_step = min(self._last_step, kept)
            self.truncated.emit(self._last_step)
        rows = rows[rows["step"] > self._last_step]
        if len(rows):
            self._last_step = int(rows["step"][-1])
            self.rows_arrived.emit(rows)

    def _owner_now(self) -> int | None:
        """Ask the system which process works on the run."""
        self._owner_checked = time.monotonic()
        owner = owner_of(self.folder.path)
        return owner.pid if owner else None

    def _tell_owner(self, pid: int | None) -> None:
        if pid != self.owner:
            self.owner, self.alive = pid, pid is not None
            self._set_pace()
            self.alive_changed.emit(self.alive)
