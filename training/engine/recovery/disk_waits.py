"""Where the disk is slower than the checkpoints that were asked for: the loop waits, and says once what that costs."""

from __future__ import annotations

import math
import time

from training.checkpoints import CheckpointManager
from training.config import RunConfig
from training.events import Finding
from training.findings.machine import DISK_WAITS
from training.runs.step_profile import format_milliseconds, format_percent

WORTH_TELLING = 1.0  # seconds of waiting in an attempt
MUCH_WAITING = 0.05  # of the time
_SHORTEST_WORK = 1e-6  # seconds: a coarse clock (Windows) sees none in a few short steps
_ROOM = 1.5  # times as long as a checkpoint takes to be written: no two are alike


class DiskWaits:
    """Adds up how long an attempt's loop waited for checkpoints to be written, and how long it worked between them."""

    def __init__(self, config: RunConfig, steps_per_epoch: int) -> None:
        self._config = config
        self._steps_per_epoch = steps_per_epoch
        self._saved_at: tuple[int, float] | None = None  # step and time of the newest save
        self._steps = 0
        self._seconds = self._waited = 0.0
        self._saves, self._writing = 0, 0.0
        self._told = False

    def pause(self) -> None:
        """Leave out the time up to the next save."""
        self._saved_at = None

    def after_save(self, step: int, manager: CheckpointManager) -> Finding | None:
        """Add up what the save at ``step`` took; returns the finding, the first time that waiting is worth telling."""
        now, before = time.perf_counter(), self._saved_at
        self._saved_at = step, now
        if before is None or step < before[0]:  # the first, or the run went back
            return None
        self._steps += step - before[0]
        self._seconds += now - before[1]
        self._waited += manager.waited
        self._saves += 1
        self._writing += manager.write_seconds
        if self._told or self._waited < max(WORTH_TELLING, MUCH_WAITING * self._seconds):
            return None
        self._told = True
        return self._describe(step)

    def _describe(self, step: int) -> Finding:
        write, work = self._writing / self._saves, max(self._seconds - self._waited, _SHORTEST_WORK)
        share = format_percent(self._waited / self._seconds)
        title = (
            f"Training waits for the disk in {share} of the time: a checkpoint takes {format_milliseconds(write)} to be "
            f"written, and one is due every {format_milliseconds(work / self._saves)}."
        )
        rarer = _round_up(_ROOM * write * self._steps / work)
        every, validate = self._config.checkpoints.every_steps, self._config.loop.validate_every_steps
        advice, fix = "Each new best is saved, and epochs are short: put runs on a faster disk.", dict[str, int]()
        if (every or self._steps_per_epoch) < rarer:
            advice = f"With one every {rarer:,} steps, and at each new best, it would wait less."
            fix = {"checkpoints.every_steps": rarer}
        elif validate and validate < rarer:
            advice, fix = "Each new best is saved: validate less often.", {"loop.validate_every_steps": rarer}
        return DISK_WAITS.find("info", title, advice, step=step, fix=fix)


def _round_up(steps: float) -> int:
    """To 1, 2 or 5 with zeros."""
    power = 10 ** math.floor(math.log10(max(steps, 1.0)))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= steps)
