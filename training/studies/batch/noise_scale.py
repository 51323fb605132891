"""The gradient noise scale B_simple (S. McCandlish, J. Kaplan, D. Amodei et al., "An Empirical Model of Large-Batch Training", 2018,
arXiv:1812.06162, appendix A.1): up to about so many samples, twice the batch makes a step nearly twice as good.

It rests on the norms of the gradients of micro-batches and of the whole step that they add up to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from training.config import RunConfig, parse_config
from training.data import MicroBatches
from training.data.batching.batches import Batch
from training.engine.assemble import assemble
from training.engine.session import Session
from training.engine.step import train_step
from training.statistics.intervals import Interval, student_quantile

PARTS = 8
_BLOCKS = 10


class Norms(NamedTuple):
    """Of one step: the mean squared norm of its micro-batches' gradients, of ``size`` samples each, and that of the step's own gradient, of
    ``step_size`` samples."""

    small: float
    size: float
    large: float
    step_size: float

    @property
    def signal(self) -> float:
        """An unbiased estimate of the true gradient's squared norm."""
        return (self.step_size * self.large - self.size * self.small) / (self.step_size - self.size)

    @property
    def noise(self) -> float:
        """And of the trace of a single sample's covariance."""
        return (self.small - self.large) / (1.0 / self.size - 1.0 / self.step_size)


def measure_noise_scale(settings: dict[str, Any], steps: int) -> dict[str, Any]:
    """Over the second half of the configuration's first ``steps`` steps: ``scale`` with ``low`` and ``high``, in samples; None where the
    noise hides the gradient altogether."""
    config = _cut_finely(parse_config(settings, "the configuration"))
    session = assemble(config, lambda *_: None)
    try:
        norms = list(_take_steps(session, steps))
    finally:
        session.data.close()
    found = estimate_scale(norms[len(norms) // 2 :])
    finite = [each if math.isfinite(each) else None for each in found]
    return {"scale": finite[0], "low": finite[1], "high": finite[2], "steps": len(norms)}


def _cut_finely(config: RunConfig) -> RunConfig:
    """The same samples in each step, in ``PARTS`` micro-batches of full precision."""
    step_size = max(config.loop.batch_size * config.loop.accumulation, 2 * PARTS)
    loop = config.loop.model_copy(update={"batch_size": step_size // PARTS, "accumulation": PARTS})
    precision = config.precision.model_copy(update={"compute": "fp32", "compile": "off", "cuda_graphs": "off"})
    return config.model_copy(update={"loop": loop, "precision": precision})


def _take_steps(session: Session, steps: int) -> Iterator[Norms]:
    made = 0
    while made < steps:
        for window in session.data.steps(session.progress.epoch):
            watched = _Watched(session, window)
            train_step(session, watched.window, session.next_lr())
            session.progress.count_step()
            made += 1
            if (norms := watched.norms()) is not None:
                yield norms
            if made == steps:
                return
        session.end_epoch()


class _Watched:
    """A window whose gradients are looked at after each backward pass, before they are clipped."""

    def __init__(self, session: Session, window: MicroBatches) -> None:
        self._session, self._samples = session, window.samples
        self._small: list[tuple[float, int]] = []
        self._sum: list[Tensor] = []
        self.window = MicroBatches(window.samples, window.batches, self._look(window.stream))

    def _look(self, stream: Iterator[Batch]) -> Iterator[Batch]:
        for batch in stream:
            size = len(batch.targets)
            yield batch
            now = [each.grad.detach().clone() for each in self._session.parameters if each.grad is not None]
            apart = torch._foreach_sub(now, self._sum) if self._sum else now
            # What stands in the gradients is the part's share of the step's mean.
            self._small.append((_square(apart) * (self._samples / size) ** 2, size))
            self._sum = now

    def norms(self) -> Norms | None:
        """Of the whole step; None of one with a single micro-batch, or without numbers."""
        sizes = [size for _, size in self._small]
        if len(sizes) < 2 or len(set(sizes)) > 1:  # the last of an epoch may be cut otherwise
            return None
        small, large = float(np.mean([value for value, _ in self._small])), _square(self._sum)
        if not math.isfinite(small + large):
            return None
        return Norms(small, sizes[0], large, self._samples)


def _square(tensors: Sequence[Tensor]) -> float:
    return float(torch.stack(torch._foreach_norm(list(tensors))).double().square().sum())


def estimate_scale(norms: Sequence[Norms]) -> Interval:
    """B_simple: noise by signal, each averaged over the steps first, since their ratio is biased. The interval is that of a jackknife over
    ``_BLOCKS`` stretches of steps; infinite where the signal is lost in the noise."""
    if len(norms) < 2:
        return Interval(math.nan, math.nan, math.nan)
    noise, signal = (np.array([getattr(each, name) for each in norms]) for name in ("noise", "signal"))
    if signal.mean() <= 0.0:
        return Interval(math.inf, math.nan, math.inf)
    value = float(noise.mean() / signal.mean())
    blocks = np.array_split(np.arange(len(norms)), min(_BLOCKS, len(norms)))
    without = []
    for block in blocks:
        left = np.delete(np.arange(len(norms)), block)
        strength = signal[left].mean()
        without.append(float(noise[left].mean() / strength) if strength > 0.0 else math.inf)
    if not np.isfinite(without).all():
        return Interval(value, 0.0, math.inf)
    count = len(without)
    error = math.sqrt((count - 1) / count * float(np.square(np.array(without) - np.mean(without)).sum()))
    half = student_quantile(count - 1) * error
    return Interval(value, max(value - half, 0.0), value + half)
