"""The profiler of the run shown: asked for, being measured, shown."""

from __future__ import annotations

import logging

from PySide6.QtCore import Qt, Signal

from studio.engine.state import ENDED, LIVE, RunAction, RunState, is_enabled
from studio.panels.profile_view import ProfileView
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import Card, ElidedLabel, ProgressLine, button
from training.control import Command
from training.events import Event, Profiled
from training.runs.folder import RunFolder
from training.runs.step_profile import Profile, read_profile

logger = logging.getLogger(__name__)


class ProfileCard(Card):
    """The profile of the run shown on the page; nothing where there is none and none can be taken any more.

    Signals:
        asked(Command): the button was pressed.
        apply_asked(Mapping): the settings that one of the sentences proposes are wanted.
    """

    asked = Signal(object)
    apply_asked = Signal(object)

    def __init__(self, context: AppContext) -> None:
        super().__init__("Profiler", "gauge")
        self._context = context
        self._folder: RunFolder | None = None
        self._state = RunState.IDLE
        self._asked = False
        self._profile: Profile | None = None
        self.button = button("Profile", "gauge", tooltip="Profile a few seconds of steps (Ctrl+T)")
        self.button.clicked.connect(lambda: self.asked.emit(Command.PROFILE))
        self._words = ElidedLabel(
            "Profile a few seconds of steps to see where the time goes; the run's result stays the same.",
            Qt.TextElideMode.ElideRight,
        )
        set_role(self._words, "help")
        self._words.setContentsMargins(0, 0, SPACING.s, 0)
        self.progress = ProgressLine()
        self.progress.set_progress(None, "Profiling the next steps")
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
        self._profile = None
        self._asked = False
        self._read()
        self.set_state(state)

    def set_state(self, state: RunState) -> None:
        """Where the run stands."""
        self._state = state
        self._asked = self._asked and state not in ENDED
        self._show()

    def expect(self) -> None:
        """A profile was asked for just now."""
        self._asked = True
        self._show()

    def add_event(self, event: Event) -> None:
        """What the run tells."""
        if isinstance(event, Profiled):
            self._read()

    def _read(self) -> None:
        """Show what the file holds."""
        folder = self._folder
        if folder is None:
            return

        def handle_result(profile: Profile | None) -> None:
            if folder != self._folder:
                return
            self._asked, self._profile = False, profile
            if profile is not None:
                self.view.show_profile(profile, self._context.shown.run.config())
            self._show()

        def handle_failure(error: Exception) -> None:
            logger.warning("A profile could not be read: %s", error)

        self._context.background.submit(lambda: read_profile(folder), handle_result, handle_failure)

    def _show(self) -> None:
        self.button.setVisible(self._state in LIVE)
        self.button.setEnabled(not self._asked and is_enabled(RunAction.PROFILE, self._state))
        self.progress.setVisible(self._asked)
        self.view.setVisible(self._profile is not None and not self._asked)
        empty = self._profile is None and not self._asked
        self._words.setVisible(empty)
        self.set_collapsed(empty)  # one line is enough to ask: the curves need the room
        self.setVisible(self._asked or self._profile is not None or self._state in LIVE)
