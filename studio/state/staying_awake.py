"""Keeps the computer awake exactly while the shown run, a study, a sweep or the queue works and the person wants that."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Slot

from studio.engine.state import LIVE, RunState
from studio.services.keep_awake import KeepAwake
from studio.services.settings import SettingsStore
from studio.state.run_queue import RunQueue
from studio.state.runs.live_run import LiveRun
from studio.state.side_job import SideJob
from training.runs.folder import owner_of


class StayingAwake(QObject):
    """Ties ``keeper`` to a run's state, to the ``jobs`` beside the window, to the queue and to the preference."""

    def __init__(
        self,
        live: LiveRun,
        jobs: Sequence[SideJob],
        queue: RunQueue,
        settings: SettingsStore,
        keeper: KeepAwake,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._live = live
        self._jobs = jobs
        self._queue = queue
        self._settings = settings
        self._keeper = keeper
        self._pid = 0  # of the process with whose end it lets go by itself
        live.state_changed.connect(self.update)
        for job in jobs:
            job.changed.connect(self.update)
        queue.changed.connect(self.update)
        settings.changed.connect(self.update)

    @Slot()
    def update(self) -> None:
        """Hold or release."""
        pid = self._find_worker() if self._settings.get().keep_awake else None
        if self._pid not in (0, pid):
            self._keeper.release()
        if pid is not None:
            self._keeper.hold(pid)
        self._pid = pid or 0

    def leave(self) -> None:
        """The program ends: what goes on in the background stays awake by itself, its end lets go."""
        if not self._live.live and self._find_queue_worker() is None:
            self._keeper.release()

    def _find_worker(self) -> int | None:
        if pid := next((job.pid for job in self._jobs if job.pid), 0):  # first: they tell each second how far they are
            return pid
        if self._live.state in LIVE - {RunState.STARTING, RunState.PAUSED}:
            owner = owner_of(self._live.folder.path) if self._live.folder is not None else None
            if owner is not None:
                return owner.pid
        return self._find_queue_worker()

    def _find_queue_worker(self) -> int | None:
        overview = self._queue.overview
        devices = (shown.entry.worker for shown in overview.list_state("at work"))
        owners = (overview.workers[device] for device in devices if device in overview.workers)
        return next((owner.pid for owner in owners if not owner.is_elsewhere), None)
