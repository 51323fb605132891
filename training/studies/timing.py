"""Sessions that are kept ready in a measuring process: some of their own steps, timed again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from training.config import parse_config
from training.data import MicroBatches
from training.engine.assemble import assemble
from training.engine.compile import compile_session
from training.engine.session import Session
from training.engine.step import train_step
from training.optim.optimizers import implementation

WARM = 3
_SHOWN_LOSSES = 5


@dataclass
class Steps:
    """The steps of a session, from its first on, epoch after epoch."""

    session: Session
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._windows = self._iterate()

    def take(self) -> int:
        """Make the next one; returns its samples. Waits for the device."""
        window = next(self._windows)
        samples = window.samples
        step = self.session.compiled or train_step
        loss: Tensor = step(self.session, window, self.session.next_lr())[0]
        self.session.progress.count_step()
        value = float(loss)
        if len(self.losses) < _SHOWN_LOSSES:
            self.losses.append(value)
        return samples

    def _iterate(self) -> Iterator[MicroBatches]:
        session = self.session
        while True:
            yield from session.data.steps(session.progress.epoch)
            session.end_epoch()


_OPEN: dict[str, Steps] = {}


def open_steps(arm: str, settings: dict[str, Any], fused: bool = True) -> dict[str, Any]:
    """Make the session of a configuration ready under the name ``arm``: assembled, compiled, and ``WARM`` steps made. Answers the losses of its
    first steps, how its batches come, the form of its optimizer, and the seconds that all that took. ``fused`` False: not the fused form, where there
    is one."""
    began = time.perf_counter()
    config = parse_config(settings, arm)
    close_steps(arm)
    session = assemble(config, lambda *_: None, fused=fused)
    try:
        compile_session(session, lambda *_: None)
        steps = Steps(session)
        for _ in range(max(WARM, _SHOWN_LOSSES)):
            steps.take()
    except BaseException:
        session.data.close()
        raise
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
    began, samples, made = time.perf_counter(), 0, 0
    while made < 2 or time.perf_counter() - began < seconds:
        samples += steps.take()
        made += 1
    return {"samples": samples, "steps": made, "seconds": time.perf_counter() - began}


def close_steps(arm: str) -> dict[str, Any]:
    """Give back what the session of ``arm`` holds."""
    steps = _OPEN.pop(arm, None)
    if steps is not None:
        steps.session.data.close()
    return {}
