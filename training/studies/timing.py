"""Sessions that are kept ready in a measuring process: some of their own steps, timed again and again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from training.config import parse_config
from training.data import MicroBatches
from training.engine.assemble import assemble
from training.engine.compile import compile_session
from training.engine.fit import POLL_SECONDS
from training.engine.recovery.nonfinite import NonFiniteLog
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.step_logger import StepLogger
from training.optim.optimizers import implementation
from training.runs.folder import RunFolder
from training.studies.worker import SCRATCH
from training.system.process import heap_left_alone

WARM = 3
_SHOWN_LOSSES = 5


class Steps:
    """The steps of a session, from its first on, epoch after epoch, recorded as a run records them: where steps are short, that is a part of
    what they take."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.losses: list[float] = []
        self._loss = torch.zeros(())
        with ExitStack() as opened:
            scratch = TemporaryDirectory(prefix="trainwright-", dir=os.environ.get(SCRATCH))
            folder = RunFolder(Path(opened.enter_context(scratch)))
            skips = NonFiniteLog(session, lambda event: None, folder.series_file)
            self._logger = StepLogger(session, folder, skips)
            opened.callback(self._logger.close)
            opened.callback(self._logger.discard)
            opened.enter_context(heap_left_alone())
            self._opened = opened.pop_all()
        self._windows = self._iterate()
        self._polled = time.perf_counter()

    def take(self) -> int:
        """Make the next one, without waiting for the device; returns its samples."""
        window, session = next(self._windows), self.session
        lr = session.next_lr()
        self._loss, norm = (session.compiled or train_step)(session, window, lr)
        session.progress.count_step()
        self._logger.add(lr, window.samples, self._loss, norm)
        if len(self.losses) < _SHOWN_LOSSES:
            self.losses.append(float(self._loss))
        if time.perf_counter() - self._polled >= POLL_SECONDS:
            self._polled = time.perf_counter()
            self._logger.flush()
        return window.samples

    def wait(self) -> None:
        """Until the last of them is done."""
        self._loss.item()

    def close(self) -> None:
        """Drop the records; the session stays open."""
        self._opened.close()

    def _iterate(self) -> Iterator[MicroBatches]:
        session = self.session
        while True:
            yield from session.data.steps(session.progress.epoch)
            self._logger.flush()
            session.end_epoch()


_OPEN: dict[str, Steps] = {}


def open_steps(arm: str, settings: dict[str, Any], fused: bool = True) -> dict[str, Any]:
    """Make the session of a configuration ready under the name ``arm``: assembled, compiled, and ``WARM`` steps made. Answers the losses of its
    first steps, how its batches come, the form of its optimizer, and the seconds that all that took. ``fused`` False: not the fused form, where there
    is one."""
    began = time.perf_counter()
    config = parse_config(settings, arm)
    # What a step takes is asked, not whether the run would go well: a row of skipped steps ends nothing here.
    config = config.model_copy(update={"loop": config.loop.model_copy(update={"max_skipped_steps": sys.maxsize})})
    close_steps(arm)
    session = assemble(config, lambda *_: None, fused=fused)
    with ExitStack() as on_error:
        on_error.callback(session.data.close)
        compile_session(session, lambda *_: None)
        steps = Steps(session)
        on_error.callback(steps.close)
        for _ in range(max(WARM, _SHOWN_LOSSES)):
            steps.take()
        steps.wait()
        on_error.pop_all()
    _OPEN[arm] = steps
    return {
        "losses": steps.losses,
        "device": session.device.type,
        "mode": session.data.report.batches.mode,
        "optimizer": implementation(session.optimizer),
        "seconds": time.perf_counter() - began,
    }


def time_steps(arm: str, seconds: float) -> dict[str, Any]:
    """Make steps for ``seconds``, two at least: answers samples, steps and seconds. Those of a quarter of that time go before and are not counted, and no
    fewer than batches may have been read ahead while others had their turn, which would look free."""
    steps = _OPEN[arm]
    ahead = steps.session.data.batches_ahead(steps.session.config.loader.prefetch_factor)
    began, made = time.perf_counter(), 0
    while made < ahead or time.perf_counter() - began < seconds / 4.0:
        steps.take()
        made += 1
    steps.wait()
    began, samples, made = time.perf_counter(), 0, 0
    while made < 2 or time.perf_counter() - began < seconds:
        samples += steps.take()
        made += 1
    steps.wait()
    return {"samples": samples, "steps": made, "seconds": time.perf_counter() - began}


def close_steps(arm: str) -> dict[str, Any]:
    """Give back what the session of ``arm`` holds."""
    steps = _OPEN.pop(arm, None)
    if steps is not None:
        steps.close()
        steps.session.data.close()
    return {}
