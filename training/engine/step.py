"""The step of ``training.core`` with what a session holds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from torch import Tensor

from training.config.sections.loop import Loop
from training.core.clip import clip_value, clip_value_and_norm
from training.core.step import train_step as core_step
from training.data import MicroBatches
from training.engine.session import Clip, Session
from training.engine.watches.watch import Given
from training.optim.fast_clip import clip_norm, gradient_norm


def train_step(session: Session, window: MicroBatches, lr: float) -> tuple[Tensor, Tensor]:
    """Attempt one step with the learning rate ``lr``; returns its mean loss and the gradient norm before clipping, both on the
    device. Nothing here waits for the device."""
    session.set_momentum()
    given: tuple[Any, Any, Any, Any] = watch_step(session)
    model, loss, clip, guard = given
    average: Any = session.update_average
    if (time_part := session.time_part) is not None:
        model, loss = time_part("forward", model), time_part("forward", loss)
        clip, guard, average = time_part("clip", clip), time_part("update", guard), time_part("update", average)
    batches: Any = _micro_batches(session, window)
    shared = session.shared
    if shared is not None:
        loss, batches = shared.begin(window, loss, batches)
    try:
        total, norm, stepped = core_step(
            model,
            session.parameters,
            loss,
            session.optimizer,
            batches,
            lr,
            scaler=session.numerics.scaler,
            autocast=session.numerics.autocast,
            clip=clip,
            guard=guard,
        )
    except Exception as error:
        if shared is not None:
            shared.fail(error)
        raise
    average(stepped)
    return total if shared is None else shared.total, norm


def watch_step(session: Session) -> Given:
    """What the step that comes next is given, with those in between who look at it."""
    given = Given(session.forward or session.answer, session.objective.loss, session.clip, session.guard)
    step = session.progress.step + 1
    if step in session.unwatched:
        return given
    for watch in session.watches:
        given = watch.wrap(step, given)
    if session.watches:
        session.unwatched = range(step + 1, min(watch.find_next(step + 1) for watch in session.watches))
    return given


def choose_clip(loop: Loop) -> Clip:
    """The clipping that ``[loop]`` asks for; each returns the norm before it."""
    if loop.clip_value and loop.clip_norm:
        return partial(clip_value_and_norm, max_value=loop.clip_value, max_norm=loop.clip_norm)
    if loop.clip_value:
        return partial(clip_value, max_value=loop.clip_value)
    return partial(clip_norm, max_norm=loop.clip_norm) if loop.clip_norm else gradient_norm


def _micro_batches(session: Session, window: MicroBatches) -> Iterator[tuple[Tensor, Tensor, int | Tensor]]:
    weighted = session.objective.is_weighted
    weight = window.weight(session.objective.loss_weight if weighted else None)
    if weighted and session.shared is not None:
        weight = session.shared.weigh(weight)
    for batch in window:
        yield batch.inputs, batch.targets, weight
