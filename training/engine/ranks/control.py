"""What a person asks of a run of several processes: rank 0 hears it, and all do it at the same step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from training.control import SYSTEM_ENDS, TERM_REASON, Control
from training.engine.ranks.group import Ranks
from training.errors import TrainingError


class RankControl(Control):
    """``heard`` are requests as they come, from a file, signals, another thread; this one's flags change in ``poll`` alone, for all
    ranks at once. A stop may reach any of them (a signal to a rank), the rest rank 0."""

    def __init__(self, heard: Control, ranks: Ranks) -> None:
        super().__init__()
        self._heard = heard
        self._ranks = ranks
        self._together: Callable[[], bool] | None = None

    def watch(self, run_folder: Path) -> None:
        if not self._ranks.rank:
            self._heard.watch(run_folder)

    def give_up(self, fault: TrainingError) -> None:
        self._heard.give_up(fault)

    def begin_together(self, is_due: Callable[[], bool]) -> None:
        """From here on all ranks ``poll`` after the same steps: those of which ``is_due`` is true in all of them."""
        self._together = is_due

    def is_due(self) -> bool:
        return self.asks() if self._together is None else self._together()

    def asks(self) -> bool:
        """Whether it is time by this process's clock."""
        return self._heard.is_due()

    def poll(self) -> None:
        heard = self._heard
        heard.poll()  # a rank other than 0 follows no file
        mine = (
            heard.stop, heard.discard, heard.fault is not None, heard.save, heard.validate, heard.paused.is_set(),
        )  # fmt: skip
        stop, discard, fault, save, validate, paused = self._ranks.any_of(*mine) if self._together else mine
        save, validate = save and not fault, validate and not fault  # the folder may be another's now
        heard.save = heard.validate = False
        self.save, self.validate = self.save or save, self.validate or validate
        self.discard, self.fault = discard, heard.fault
        if stop:
            # Else another rank was told to end.
            self.request_stop(heard.reason if heard.stop else os.environ.get(TERM_REASON) or SYSTEM_ENDS)
        elif paused:
            self.paused.set()
        else:
            self.paused.clear()
        self.profile, heard.profile = self.profile or heard.profile, False
