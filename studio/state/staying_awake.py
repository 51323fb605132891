"""Keeps the computer awake exactly while the shown run, or a study, works and the person wants that."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from studio.engine.state import LIVE, RunState
from studio.services.keep_awake import KeepAwake
from studio.services.settings import SettingsStore
from studio.state.runs.live_run import LiveRun
from studio.state.side_job import SideJob
from training.runs.folder import owner_of


class StayingAwake(QObject):
    """Ties ``keeper`` to the state of a run and of the ``study`` beside the window, and to the preference."""

    def __init__(
        self,
        live: LiveRun,
        study: SideJob,
        settings: SettingsStore,
        keeper: KeepAwake,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._live, self._study = live, study
        self._settings = settings
        self._keeper = keeper
        live.state_changed.connect(self.update)
        study.changed.connect(self.update)
        settings.changed.connect(self.update)

    @Slot()
    def update(self) -> None:
        """Hold or release."""
        working = self._live.state in LIVE - {RunState.STARTING, RunState.PAUSED}
        if not (working or self._study.is_busy) or not self._settings.get().keep_awake:
            self._keeper.release()
            return
        if self._study.is_busy:
            if self._study.pid:
                self._keeper.hold(self._study.pid)
            return
        owner = owner_of(self._live.folder.path) if self._live.folder is not None else None
        if owner is not None:
            self._keeper.hold(owner.pid)

    def leave(self) -> None:
        """The program ends: a run that goes on in the background stays awake by itself, its end lets go."""
        if not self._live.live:
            self._keeper.release()
