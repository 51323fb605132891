"""In how many processes the next run is trained: a choice for an attempt, which is no part of a run's settings."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.host import EngineHost
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.drafts.draft import Draft
from training.config import RunConfig
from training.errors import InputError
from training.launch.share import refuse_here, refuse_one_device, refuse_other_count

MOST = 64
SLOTS = "loop.slots"
PLACE, TITLE = "where", "Where it runs"
WORDS = "this process several processes ranks all GPUs cluster Slurm script"
"""How the choice is found, which is no setting of a run."""


class WhereItRuns(QObject):
    """Kept with the window's settings. Signals: `changed()` when another number is chosen, or the GPUs are known."""

    changed = Signal()

    def __init__(
        self, settings: SettingsStore, draft: Draft, engine: EngineHost, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._settings, self._draft, self._engine = settings, draft, engine
        self._known = (self.count, self.gpus)
        settings.changed.connect(self._look)
        engine.state_changed.connect(self._look)

    @property
    def count(self) -> int:
        """How many are chosen; 1: this process's engine."""
        return min(max(self._settings.get().processes, 1), MOST)

    @property
    def gpus(self) -> int:
        """How many NVIDIA GPUs the engine has found; 0 before it is warm."""
        info = self._engine.info
        return sum(device.startswith("cuda:") for device in info.devices) if info is not None else 0

    @property
    def usual(self) -> int:
        """How many are meant where nobody says how many: one for each GPU, or two that share the CPU."""
        return max(2, self.gpus)

    def choose(self, count: int) -> None:
        """Train the next run in so many processes. Its batches get as many slots, where they had one, or as many as were chosen before."""
        slots, before = self._draft.value(SLOTS), self.count
        self._settings.update(processes=count)
        if slots in (1, before) and slots != count:
            self._draft.apply({SLOTS: count})

    def refuse(self, config: RunConfig) -> None:
        """Raise InputError where a run of ``config`` cannot be trained in so many."""
        if self.count == 1:
            return
        refuse_here()
        refuse_other_count(config.loop.slots, self.count)
        refuse_one_device(config.precision.device, self.count)
        if self.gpus and self.count > self.gpus and config.precision.device != "cpu":
            raise InputError(
                f"{self.count} processes need as many GPUs, and there {'is 1' if self.gpus == 1 else f'are {self.gpus}'} here.",
                "Use fewer, or let them share the CPU.",
                fix={"precision.device": "cpu"},
            )

    @Slot()
    def _look(self, _settings: AppSettings | None = None) -> None:
        known = (self.count, self.gpus)
        if known != self._known:
            self._known = known
            self.changed.emit()
