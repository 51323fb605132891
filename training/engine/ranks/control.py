"""What a person asks of a run of several processes: rank 0 hears it, and all do it at the same step."""

from __future__ import annotations

import time
from pathlib import Path

from training.control import Control
from training.engine.ranks.group import Ranks
from training.errors import TrainingError

LOOK_SECONDS = 0.1


class RankControl(Control):
    """``heard`` are requests as they come, from a file, signals, another thread; this one's flags change in ``poll`` alone, for all
    ranks at once. A stop may reach any of them (a signal to a rank), the rest rank 0."""

    def __init__(self, heard: Control, ranks: Ranks) -> None:
        super().__init__()
        self._heard = heard
        self._ranks = ranks
        self._together = False
        self._looked = time.perf_counter()

    def watch(self, run_folder: Path) -> None:
        if not self._ranks.rank:
            self._heard.watch(run_folder)

    def give_up(self, fault: TrainingError) -> None:
        self._heard.give_up(fault)

    def begin_together(self) -> None:
        """From here on all ranks ``poll`` at the same steps."""
        self._together = True

    def is_due(self) -> bool:
        """Whether it is time to look again, by this process's clock."""
        return time.perf_counter() - self._looked >= LOOK_SECONDS

    def refuse_stop(self) -> None:
        """Whoever waits for another process while nothing is trained yet ends the waiting by that."""
        if self._heard.stop and not self._together:
            self.poll()

    def poll(self) -> None:
        heard = self._heard
        self._looked = time.perf_counter()
        if not self._ranks.rank:
            heard.poll()
        mine = (
            heard.stop, heard.discard, heard.fault is not None, heard.save, heard.validate, heard.paused.is_set(),
        )  # fmt: skip
        stop, discard, _fault, save, validate, paused = self._ranks.agree(*mine) if self._together else mine
        heard.save = heard.validate = False
        self.save, self.validate = self.save or bool(save), self.validate or bool(validate)
        self.discard, self.fault, self.reason = bool(discard), heard.fault, heard.reason
        if stop:
            self.request_stop(heard.reason)
        elif paused:
            self.paused.set()
        else:
            self.paused.clear()
        self.profile, heard.profile = self.profile or heard.profile, False
