"""The run on the Run page: its state, its numbers, and what is asked of it."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.messages import EngineDeath
from studio.engine.monitor import RunMonitor
from studio.engine.state import LIVE, RunState, derive_state
from training.catalog.summary import summarize
from training.config import RunConfig
from training.control import Command, send
from training.errors import InputError, TrainingError
from training.events import FINAL_EVENTS, AttemptStarted, Completed, Event, PhaseChanged
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.progress import Progress, ProgressMeter

logger = logging.getLogger(__name__)


class RunSignals(QObject):
    """What is said of a run.

    Signals:
        attached(): another run, or none; everything shown before is void. History arrives by the signals below.
        state_changed(RunState)
        progress_changed(Progress): after each look at a run that moved.
        truncated(int), rows_arrived(ndarray), telemetry_arrived(ndarray), event_arrived(Event): see RunMonitor.
        owner_changed(): a process works on the run, or no longer, or another one.
        looked(): after each look, when all of the above was said.
        asked(Command): a request was passed on.
    """

    attached = Signal()
    state_changed = Signal(object)
    progress_changed = Signal(object)
    truncated = Signal(int)
    rows_arrived = Signal(object)
    telemetry_arrived = Signal(object)
    event_arrived = Signal(object)
    owner_changed = Signal()
    looked = Signal()
    asked = Signal(object)


class LiveRun(RunSignals):
    """Follows one run at a time. It is the same object for every run, so that widgets connect once. ``refused(str)``: a request could not
    be passed on."""

    refused = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = RunState.IDLE
        self.progress = Progress()
        self.title = ""  # of a run that has no folder yet
        self.death: EngineDeath | None = None  # of the engine that worked on this run
        self._monitor: RunMonitor | None = None
        self._meter = ProgressMeter()
        self._starting = False
        self._caught_up = True
        self._old_phase: PhaseChanged | None = None  # what an attempt that was cut off was busy with
        self._asked: Command | None = None
        self._config: RunConfig | None = None
        self._page_shown = self._window_shown = True

    # -------------------------------------------------------------------------------------------- reading

    @property
    def folder(self) -> RunFolder | None:
        """The run's folder; None while there is no run, or it has none yet."""
        return self._monitor.folder if self._monitor else None

    @property
    def history(self) -> History | None:
        """All events so far."""
        return self._monitor.history if self._monitor else None

    @property
    def owner(self) -> int | None:
        """The process that works on the run; None when none does."""
        return self._monitor.owner if self._monitor else None

    @property
    def live(self) -> bool:
        """Whether work is going on, or about to."""
        return self.state in LIVE

    def is_gone(self) -> bool:
        """Whether nobody works on it, and its folder is away."""
        return self.folder is not None and not self.live and not self.folder.path.is_dir()

    @property
    def done_at(self) -> int | None:
        """The step at which the run completed; None for one that did not."""
        final = self.history.final if self.history else None
        return final.step if isinstance(final, Completed) else None

    @property
    def name(self) -> str:
        """What its configuration calls it; else what it was started as."""
        config = self.config()
        return config.name if config else self.title

    def config(self) -> RunConfig | None:
        """The configuration as it runs; None when there is none, or it cannot be read."""
        if self._config is None and self.folder is not None:
            try:
                self._config = self.folder.config()
            except TrainingError as error:
                logger.warning("%s", error)
        return self._config

    # ------------------------------------------------------------------------------------------ following

    def expect(self, title: str, config: RunConfig | None = None) -> None:
        """A run was given to the engine; its folder is not known yet."""
        self._forget()
        self.title, self._config = title, config
        self._starting = True
        self.attached.emit()
        self._update()

    def expect_again(self) -> None:
        """The run shown was given to the engine to go on."""
        self.death = None
        self._asked = None
        self._starting = True
        self._old_phase = self.history.phase if self.history else None
        self._update()

    def settle(self) -> None:
        """The engine has nothing more to say: the run came back, or was refused."""
        self._starting = False
        self.refresh()
        self._update()
        if self._monitor is None:
            self.attached.emit()

    def attach(self, folder: Path) -> None:
        """Show the run in ``folder``, whoever works on it.

        A run that is expected counts as starting until its new attempt is announced: the end of an earlier attempt,
        read first, is not its end.
        """
        if self._monitor is not None and self._monitor.folder.path == folder:
            self._monitor.start()
            return
        expected = self._starting
        self._forget()
        self._starting = expected
        self._follow(folder)

    def replay(self) -> None:
        """Say everything again from the beginning: a listener came late, or the run's files are others now."""
        if self._monitor is not None:
            folder = self._monitor.folder.path
            self._drop_monitor()
            self._follow(folder)

    def _follow(self, folder: Path) -> None:
        monitor = RunMonitor(folder, self)
        monitor.set_visible(self._page_shown and self._window_shown)
        for heard, counted, told in (
            (monitor.truncated, self._meter.see_truncation, self.truncated),
            (monitor.rows_arrived, self._meter.see_rows, self.rows_arrived),
            (monitor.telemetry_arrived, self._meter.see_telemetry, self.telemetry_arrived),
        ):
            heard.connect(counted)  # the meter lives as long as the monitor
            heard.connect(told)
        monitor.event_arrived.connect(self._on_event)
        monitor.alive_changed.connect(self._update)
        monitor.alive_changed.connect(self.owner_changed)
        monitor.looked.connect(self._on_looked)
        monitor.replaced.connect(self.replay)
        self._monitor = monitor
        self.attached.emit()
        self._caught_up = False
        monitor.start()
        self._caught_up = True
        self._starting = self._starting and not (monitor.history.attempts and monitor.history.final is None)
        self._update()

    def detach(self) -> None:
        """Show no run any more."""
        self._forget()
        self.attached.emit()
        self._update()

    def set_page_shown(self, shown: bool) -> None:
        """Whether the page with the numbers is in front; the run is looked at less often while nobody sees them."""
        self._page_shown = shown
        self._tell_monitor()

    def set_window_shown(self, shown: bool) -> None:
        """Whether the window is on the screen at all, not minimized or hidden."""
        self._window_shown = shown
        self._tell_monitor()

    def _tell_monitor(self) -> None:
        if self._monitor is not None:
            self._monitor.set_visible(self._page_shown and self._window_shown)

    def mourn(self, death: EngineDeath) -> None:
        """The engine that worked on this run is gone."""
        self._starting = False
        self.death = death
        if self._monitor is not None:
            self._monitor.look_closely()
        before = self.state
        self._update()
        if self.state is before:  # its owner was missed before its end was explained: say it again, with the reason
            self.state_changed.emit(self.state)

    def refresh(self) -> None:
        """Read what is new now, without waiting for the timer."""
        if self._monitor is not None:
            self._monitor.look()

    def ask(self, command: Command) -> None:
        """Ask the run's engine for ``command``."""
        if self.folder is None:
            return
        try:
            send(self.folder.path, command)
        except InputError as error:
            self.refused.emit(str(error))
            return
        if command in (Command.STOP, Command.STOP_NOW, Command.PAUSE):
            self._asked = command
        elif command is Command.CONTINUE and self._asked is Command.PAUSE:
            self._asked = None
        self.asked.emit(command)
        self._update()

    # --------------------------------------------------------------------------------------------- inside

    def _forget(self) -> None:
        self._drop_monitor()
        self.title = ""
        self._starting = False
        self.death = self._asked = self._old_phase = self._config = None

    def _drop_monitor(self) -> None:
        if self._monitor is not None:
            self._monitor.stop()
            self._monitor.deleteLater()
            self._monitor = None
        self._meter = ProgressMeter()
        self.progress = Progress()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        self._meter.see_event(event)
        if self._caught_up and isinstance(event, (AttemptStarted, *FINAL_EVENTS)):
            self._starting = False
        paused = isinstance(event, PhaseChanged) and event.phase == "paused"
        if isinstance(event, FINAL_EVENTS) or (paused and self._asked is Command.PAUSE):
            self._asked = None  # fulfilled
        self.event_arrived.emit(event)

    @Slot()
    def _on_looked(self) -> None:
        progress = self._meter.progress()
        if progress != self.progress:
            self.progress = progress
            self.progress_changed.emit(progress)
        self._update()
        self.looked.emit()

    @Slot()
    def _update(self) -> None:
        history = self.history
        phase = history.phase if history and history.phase is not self._old_phase else None
        state = derive_state(
            exists=self._monitor is not None,
            starting=self._starting,
            alive=self._monitor.alive if self._monitor else False,
            phase=phase.phase if phase else None,
            final=history.final if history else None,
            asked=self._asked,
        )
        if state is not self.state:
            self.state = state
            self.state_changed.emit(state)


def percent_of(run: LiveRun) -> int | None:
    """How far a run at work is, rounded down: 100 is all of it. None where none is at work, or nobody knows."""
    fraction = run.progress.fraction if run.live else None
    return None if fraction is None else int(100 * fraction)


def summary_of(run: LiveRun) -> str:
    """What is trained on what, in one line; "" while that is not known."""
    config, history = run.config(), run.history
    if config is None:
        return ""
    report = history.data.report if history and history.data else None
    return summarize(config, report, history.attempts[-1].parameters if history and history.attempts else 0)
