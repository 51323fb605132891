"""Runs that are kept ready in a measuring process: each stands still between two turns, of which the record of its own steps tells how fast it trains."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from training.config import RunConfig, parse_config
from training.engine.recovery.memory import count_saved_bytes
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import start_run
from training.engine.session import Session
from training.errors import TrainingError
from training.events import Event, PhaseChanged
from training.optim.optimizers import implementation
from training.runs.folder import RunFolder
from training.runs.records.series import Rows, read_series
from training.studies.worker import SCRATCH

FIRST_STEPS: Final = 5
"""Those whose losses are told; they come before the first turn."""
LARGEST_SAVED: Final = 32 << 20
"""Bytes of weights, their average, and what numbers the optimizer has of them at the start. Those of a larger network are not saved: each checkpoint of it comes long after the one before, and takes room on the disk."""


class TimedRun:
    """An ordinary run, in a thread and in a folder of its own, that trains only while somebody waits for it: what validations, checkpoints and the record cost
    its steps is timed with them, their own time is not. Raises what the run raises, as TrainingError."""

    def __init__(self, config: RunConfig, fused: bool) -> None:
        self.config = config
        self.session: Session
        self._hooks = Hooks(
            started=self._enter, watch=self._notice, flushed=self._count, ready=self._meet, followed=False, fused=fused
        )
        self._stands = threading.Event()
        self._fault: BaseException | None = None
        self._step = self._skipped = self._samples = self._made = 0
        self._before = self._seconds = 0.0
        self._turn = FIRST_STEPS, 0.0
        with ExitStack() as opened:
            scratch = TemporaryDirectory(prefix="trainwright-", dir=os.environ.get(SCRATCH), ignore_cleanup_errors=True)
            self._workspace = Path(opened.enter_context(scratch))
            self._thread = threading.Thread(target=self._train, name="timed run", daemon=True)
            opened.callback(self._end)
            self._thread.start()
            self._wait()
            self._opened = opened.pop_all()

    def take_turn(self, seconds: float) -> dict[str, Any]:
        """Train for ``seconds`` that count, two steps at least: answers samples, steps and seconds. Those of a quarter of that time go before and do not
        count, and no fewer than batches may have been read ahead while others had their turn, which would look free."""
        ahead = self.session.data.batches_ahead(self.config.loader.prefetch_factor)
        self._skipped, self._before = ahead, seconds / 4.0
        self._samples = self._made = 0
        self._seconds, self._turn = 0.0, (2, seconds)
        self._stands.clear()
        self._hooks.control.paused.clear()
        self._wait()
        return {"samples": self._samples, "steps": self._made, "seconds": self._seconds}

    def read_losses(self) -> list[float]:
        """Of the first steps."""
        losses: list[float] = read_series(self._folder.series_file)["loss"][:FIRST_STEPS].tolist()
        return losses

    def close(self) -> None:
        """End it and delete what it wrote."""
        self._opened.close()

    def _wait(self) -> None:
        while not self._stands.wait(1.0) and self._thread.is_alive():
            pass
        if self._fault is not None:
            raise self._fault

    def _end(self) -> None:
        self._hooks.control.discard = True
        self._hooks.control.request_stop()
        self._thread.join()

    # ---------------------------------------------------------------- in the run's thread

    def _train(self) -> None:
        try:
            record = start_run(self.config, self._workspace, self._hooks)
            self._fault = TrainingError(
                record.reason or "", record.advice or ""
            )  # nobody waits for one that was closed
        except BaseException as error:  # noqa: BLE001 - raised where the run is waited for
            self._fault = error
        finally:
            self._stands.set()

    def _enter(self, folder: RunFolder) -> None:
        self._folder = folder

    def _meet(self, session: Session) -> None:
        """Behind the run's last step its rates begin again."""
        steps, once = session.total_steps, session.schedule
        session.total_steps = steps * 10**6
        session.schedule = replace(
            once, lr=lambda step: once.lr(step % steps), momentum=lambda step: once.momentum(step % steps)
        )
        self.session = session
        self._hooks.saves = count_saved_bytes(session) <= LARGEST_SAVED

    def _notice(self, event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == "paused":
            self._stands.set()

    def _count(self, row: Rows, _newest: Rows) -> None:
        """A row of the record: some steps, and how fast they were made. What is told of them is training time alone."""
        step = int(row["step"][0])
        made, samples = step - self._step, self._samples_until(step) - self._samples_until(self._step)
        seconds = samples / float(row["samples_per_second"][0])
        self._step = step
        if self._skipped > 0 or self._before > 0.0:
            self._skipped -= made
            self._before -= seconds
            return
        self._made += made
        self._samples += samples
        self._seconds += seconds
        steps, least = self._turn
        if self._made >= steps and self._seconds >= least:
            self._hooks.control.paused.set()

    def _samples_until(self, step: int) -> int:
        plan = self.session.data.plan
        epochs, steps = divmod(step, plan.steps)
        return epochs * plan.n + min(steps * plan.samples_per_step, plan.n)


_OPEN: dict[str, TimedRun] = {}


def open_steps(arm: str, settings: dict[str, Any], fused: bool = True) -> dict[str, Any]:
    """Begin a run of a configuration, under the name ``arm``, and let it stand behind its first steps. Answers their losses, how its batches come, the form of its
    optimizer, and the seconds that all that took. ``fused`` False: not the fused form, where there is one."""
    began = time.perf_counter()
    close_steps(arm)
    run = _OPEN[arm] = TimedRun(_let_go_on(parse_config(settings, arm)), fused)
    return {
        "losses": run.read_losses(),
        "device": run.session.device.type,
        "mode": run.session.data.report.batches.mode,
        "optimizer": implementation(run.session.optimizer),
        "seconds": time.perf_counter() - began,
    }


def _let_go_on(config: RunConfig) -> RunConfig:
    """What a step takes is asked, not whether the run would go well: nothing ends it early, and it keeps no answers."""
    endless = {"max_skipped_steps": sys.maxsize, "early_stopping_patience": None, "stopping_threshold": None}
    update = {**endless, "on_out_of_memory": "stop", "keep_predictions": False}
    return config.model_copy(update={"loop": config.loop.model_copy(update=update)})


def time_steps(arm: str, seconds: float) -> dict[str, Any]:
    """``TimedRun.take_turn``."""
    return _OPEN[arm].take_turn(seconds)


def close_steps(arm: str) -> dict[str, Any]:
    """Give back what the run of ``arm`` holds."""
    if (run := _OPEN.pop(arm, None)) is not None:
        run.close()
    return {}
