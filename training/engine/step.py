"""The step of ``training.core`` with what a session holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch import Tensor

from training.config.engine import Loop
from training.core.clip import clip_value, clip_value_and_norm
from training.core.step import train_step as core_step
from training.data import Window
from training.engine.session import Clip, Session, no_watch
from training.optim.fast_clip import clip_norm, gradient_norm


def train_step(session: Session, window: Window, lr: float) -> tuple[Tensor, Tensor]:
    """Attempt one step with the learning rate ``lr``; returns its mean loss and the gradient norm before clipping, both on the
    device. Nothing here waits for the device."""
    session.set_momentum()
    make_step = core_step if session.lap is no_watch else partial(_watched_step, session.lap)
    loss, norm, stepped = make_step(
        session.forward or session.answer,
        session.parameters,
        session.objective.loss,
        session.optimizer,
        _micro_batches(session, window),
        lr,
        scaler=session.numerics.scaler,
        autocast=session.numerics.autocast,
        clip=session.clip,
        guard=session.guard,
    )
    session.update_average(stepped)
    session.lap("update")
    return loss, norm


def choose_clip(loop: Loop) -> Clip:
    """The clipping that ``[loop]`` asks for; each returns the norm before it."""
    if loop.clip_value and loop.clip_norm:
        return partial(clip_value_and_norm, max_value=loop.clip_value, max_norm=loop.clip_norm)
    if loop.clip_value:
        return partial(clip_value, max_value=loop.clip_value)
    return partial(clip_norm, max_norm=loop.clip_norm) if loop.clip_norm else gradient_norm


def _micro_batches(session: Session, window: Window) -> Iterator[tuple[Tensor, Tensor, int | Tensor]]:
    weight = window.weight(session.objective.loss_weight if session.objective.is_weighted else None)
    for batch in window:
        yield batch.inputs, batch.targets, weight


def _watched_step(
    lap: Callable[[Any], None],
    model: Any,
    parameters: Any,
    loss: Any,
    optimizer: Any,
    micro_batches: Any,
    lr: float,
    **others: Any,
) -> tuple[Tensor, Tensor, Any]:
    """``core_step``, and ``lap`` is told of each part as it ends."""

    def batches() -> Iterator[Any]:
        lap("update")
        for batch in micro_batches:
            lap("data")
            yield batch
            lap("backward")

    def forward_loss(*given: Any) -> Tensor:
        part: Tensor = loss(*given)
        lap("forward")
        return part

    def clip(given: Any) -> Tensor:
        norm: Tensor = others["clip"](given)
        lap("clip")
        return norm

    return core_step(model, parameters, forward_loss, optimizer, batches(), lr, **{**others, "clip": clip})
