"""Where the time goes, on the Train page: asked for, being measured, shown."""

from __future__ import annotations

import logging
import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.engine.state import ENDED, LIVE, RunAction, RunState, is_enabled
from studio.panels.profile_view import ProfileView
from studio.state.context import AppContext
from studio.state.progress import Progress
from studio.theme import SPACING, set_role
from studio.widgets import Card, ElidedLabel, ProgressLine, button
from training.control import Command
from training.events import FINAL_EVENTS, AttemptStarted, Event, ProfileBegun, Profiled
from training.runs.folder import RunFolder
from training.runs.profile_record import Profile, read_profile

logger = logging.getLogger(__name__)

_EMPTY = "Ask where the time goes: a few seconds of steps are measured, and the run's result stays the same."
_GONE = "The profile cannot be read: its file is missing or damaged. Profile measures again while the run trains."


class ProfileCard(Card):
    """The profile of the run shown on the page; nothing where there is none and none can be made any more.

    Signals:
        asked(Command): the button was pressed.
        apply_asked(Mapping): the settings that one of the sentences proposes are wanted.
        arrived(): the profile that the person asked for is shown.
    """

    asked = Signal(object)
    apply_asked = Signal(object)
    arrived = Signal()

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__("Where the time goes", "gauge", parent=parent)
        self._context = context
        self._folder: RunFolder | None = None
        self._state = RunState.IDLE
        self._asked = False
        self._wanted = False  # by the person at this window
        self._begun: ProfileBegun | None = None
        self._since = 0.0  # by this machine's clock, which the run's may not agree with
        self._lost = False  # it told of one that cannot be read
        self._profile: Profile | None = None
        self.button = button("Profile", "gauge", tooltip="Measure where the time of the next steps goes (Ctrl+T)")
        self.button.clicked.connect(lambda: self.asked.emit(Command.PROFILE))
        self._words = ElidedLabel(_EMPTY, Qt.TextElideMode.ElideRight)
        set_role(self._words, "help")
        self._words.setContentsMargins(0, 0, SPACING.s, 0)
        self.progress = ProgressLine()
        self.view = ProfileView()
        self.view.apply_asked.connect(self.apply_asked)
        self.add_action(self._words)
        self.add_action(self.button)
        self.add(self.progress)
        self.add(self.view)
        self._show()

    def set_run(self, folder: RunFolder | None, state: RunState) -> None:
        """Another run, or none."""
        self._folder = folder
        self._state = state
        self._profile = self._begun = None
        self._asked = self._wanted = self._lost = False
        self._read(anew=False)
        self._show()

    def set_state(self, state: RunState) -> None:
        """Where the run stands."""
        self._state = state
        if state in ENDED:
            self._asked, self._begun = False, None
        self._show()

    def expect(self) -> None:
        """A profile was asked for just now."""
        self._asked = self._wanted = True
        self._show()

    def add_event(self, event: Event) -> None:
        """What the run tells."""
        if isinstance(event, ProfileBegun):
            self._asked, self._begun, self._since = False, event, time.monotonic()
            self.progress.set_progress(0.0, "Measuring")
        elif isinstance(event, Profiled):
            self._read(anew=True)
            return
        elif isinstance(event, (AttemptStarted, *FINAL_EVENTS)):
            self._begun = None
        else:
            return
        self._show()

    def show_progress(self, progress: Progress) -> None:
        """The run moved."""
        if self._begun is not None:
            steps = max(progress.step - self._begun.step, 0)
            by_time = (time.monotonic() - self._since) / max(self._begun.seconds, 0.1)
            share = min(by_time, steps / max(self._begun.steps, 1), 1.0)
            self.progress.set_progress(share, "Measuring", f"{steps:,} steps so far")

    def _read(self, anew: bool) -> None:
        """Show what the file holds; ``anew``: the run has just written it."""
        folder = self._folder
        if folder is None:
            return

        def done(profile: Profile | None) -> None:
            if folder != self._folder:
                return
            self._profile, self._lost = profile, anew and profile is None
            if anew:
                self._asked, self._begun = False, None
            if profile is not None:
                self.view.show_profile(profile, self._context.live.config())
            self._show()
            if self._wanted and anew:
                self._wanted = False
                self.arrived.emit()

        def failed(error: Exception) -> None:
            logger.warning("A profile could not be read: %s", error)

        self._context.background.submit(lambda: read_profile(folder), done, failed)

    def _show(self) -> None:
        busy = self._asked or self._begun is not None
        if self._asked:
            self.progress.set_progress(None, "Asked for: measuring begins with the next steps")
        self.button.setVisible(self._state in LIVE)
        self.button.setEnabled(not busy and is_enabled(RunAction.PROFILE, self._state))
        self.progress.setVisible(busy)
        self.view.setVisible(self._profile is not None and not busy)
        self._words.setText(_GONE if self._lost else _EMPTY)
        empty = self._profile is None and not busy
        self._words.setVisible(empty)
        self.set_collapsed(empty)  # one line is enough to ask: the curves need the room
        self.setVisible(busy or self._profile is not None or self._state in LIVE)
