"""A window whose gradient was not finite, computed once more under watch to find what produced the first such number."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from training.data import MicroBatches
from training.engine.recovery.cause import Cause, Search, describe, describe_failure
from training.engine.recovery.preceding import Preceding
from training.engine.recovery.producer import INPUT, TARGET, Trace
from training.engine.session import Session
from training.events import Finding
from training.optim.fast_clip import gradient_norm
from training.own_code.user_rng import preserve_rng

logger = logging.getLogger(__name__)


class Skip(NamedTuple):
    """One skipped step: its number, the epochs before it, its window in the epoch, the how-manyth in a row it is, its loss; how many
    steps were attempted since, and how many of those changed the weights."""

    step: int
    epoch: int
    window: int
    in_a_row: int
    loss: float = math.nan
    later: int = 0
    moved: int = 0


@dataclass(frozen=True)
class Anchor:
    """The random generators that a step on the CPU draws from, behind ``step``."""

    step: int
    torch_state: Tensor
    user_states: tuple[Any, dict[str, Any]]

    @classmethod
    def drop(cls, session: Session) -> Anchor | None:
        """As they stand; None on other devices, whose weights have moved on before a skipped step is known."""
        if session.device.type != "cpu":
            return None
        user = (random.getstate(), np.random.get_state(legacy=False)) if session.runs_user_code else (None, {})
        return cls(session.progress.step, torch.get_rng_state(), user)

    def restore(self) -> None:
        """Put them back."""
        torch.set_rng_state(self.torch_state)
        python, numpy = self.user_states
        if python is not None:
            random.setstate(python)
            np.random.set_state(numpy)


def explain(
    session: Session,
    skip: Skip,
    anchor: Anchor | None = None,
    before: Preceding | None = None,
    spoiled: str = "",
    stands: bool | None = None,
) -> Finding:
    """Compute the window of the skipped step again, with the weights as they are now, and tell what it shows.

    To the bit where the weights are still those of that step and ``anchor``, from before it, leads to its random numbers; where
    not, the finding says so. ``spoiled`` is a weight that was not finite when the run began. ``stands`` is given
    where all steps up to that one were made again: whether they came out as they were. Weights, buffers, gradients, the optimizer and the random generators are afterwards what they were,
    so a run that looks is the same run. A look that fails ends nothing; it is told.
    """
    before = before or Preceding()
    try:
        with preserve_state(session):
            known = _draw_again(session, skip, anchor) if stands is None else stands
            found = _search(session, skip)
    except Exception as error:
        logger.exception("Step %d could not be computed again", skip.step)
        return describe_failure(session, skip.step, error)
    exact = known and skip.moved == 0 and _is_same(found.loss, skip.loss)
    return describe(
        session, skip.step, replace(found, exact=exact, moved=skip.moved, walked=stands is not None), before, spoiled
    )


@contextmanager
def preserve_state(session: Session) -> Iterator[None]:
    """Inside, the model may be run forward and backward; afterwards nothing of it is left."""
    buffers = [(buffer, buffer.detach().clone()) for buffer in session.model.buffers()]
    gradients = [(parameter, parameter.grad) for parameter in session.model.parameters()]
    waited = session.data.waited
    devices = [session.device] if session.device.type == "cuda" else []
    try:
        with preserve_rng(devices), torch.enable_grad():
            for parameter, _ in gradients:
                parameter.grad = None
            yield
    finally:
        _put_back(buffers)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        session.data.waited = waited


@torch.no_grad()
def _put_back(buffers: list[tuple[Tensor, Tensor]]) -> None:
    for buffer, kept in buffers:
        buffer.copy_(kept)


def _draw_again(session: Session, skip: Skip, anchor: Anchor | None) -> bool:
    """Bring the random generators to where they stood before the step: how much each step draws depends on the shapes, so the forward
    passes since the anchor are made again. Returns whether they stand there."""
    between = skip.step - 1 - anchor.step if anchor is not None else -1
    if anchor is None or not 0 <= between <= skip.window:
        return False
    anchor.restore()
    buffers = [(buffer, buffer.detach().clone()) for buffer in session.model.buffers()]
    for number in range(skip.window - between, skip.window):
        window = session.data.rebuild_step(skip.epoch, number)
        weight = _weigh(session, window)
        for batch in window:
            with session.numerics.autocast():
                outputs = session.answer(batch.inputs)
            session.objective.loss(outputs, batch.targets, weight)
    _put_back(buffers)
    return True


def _weigh(session: Session, window: MicroBatches) -> Any:
    return window.weight(session.objective.loss_weight if session.objective.is_weighted else None)


def _search(session: Session, skip: Skip) -> Search:
    window = session.data.rebuild_step(skip.epoch, skip.window)
    weight, scaler, total = _weigh(session, window), session.numerics.scaler, torch.zeros(())
    # A scaler has halved its scale for each step that was skipped since.
    larger = scaler.get_backoff_factor() ** -(skip.later + 1) if scaler.is_enabled() else 1.0
    cause: Cause | None = None
    for batch in window:
        trace = Trace(session.model, batch.indices, {INPUT: batch.inputs, TARGET: batch.targets})
        with trace.forward() if cause is None else nullcontext():
            with session.numerics.autocast():
                outputs = session.answer(batch.inputs)
            part = session.objective.loss(outputs, batch.targets, weight)
        total = total + part.detach()
        if cause is None and not part.isfinite():
            return Search(Cause("forward", trace.origin_of(part)), float(total))
        if cause is None:
            with trace.backward(part):
                (scaler.scale(part) * larger).backward()
            cause = Cause("backward", trace.arrived) if trace.arrived is not None else None
    if cause is None and not scaler.is_enabled():
        cause = _look_at_sums(session)
    return Search(cause or Cause(""), float(total))


def _look_at_sums(session: Session) -> Cause | None:
    """Each gradient is a sum over batches, and the norm is one over all gradients."""
    for name, parameter in session.model.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            return Cause("sum", name=name)
    return None if math.isfinite(gradient_norm(session.parameters)) else Cause("norm")


def _is_same(found: float, recorded: float) -> bool:
    """Whether both are the same number, or both are none."""
    return found == recorded or not (math.isfinite(found) or math.isfinite(recorded))
