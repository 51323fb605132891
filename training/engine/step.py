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
    batches = _micro_batches(session, window)
    loss: Any = session.objective.loss
    clip: Any = session.clip
    if session.lap is not no_watch:
        batches = _watch_batches(session.lap, batches)
        loss, clip = _watch(session.lap, loss, "forward"), _watch(session.lap, clip, "clip")
    total, norm, stepped = core_step(
        session.forward or session.answer,
        session.parameters,
        loss,
        session.optimizer,
        batches,
        lr,
        scaler=session.numerics.scaler,
        autocast=session.numerics.autocast,
        clip=clip,
        guard=session.guard,
    )
    session.update_average(stepped)
    session.lap("update")
    return total, norm


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


def _watch(lap: Callable[[Any], None], function: Callable[..., Any], part: str) -> Callable[..., Any]:
    """``function``, and ``lap`` is told that ``part`` ended."""

    def watched(*given: Any) -> Any:
        result = function(*given)
        lap(part)
        return result

    return watched


def _watch_batches(lap: Callable[[Any], None], batches: Iterator[Any]) -> Iterator[Any]:
    lap("update")
    for batch in batches:
        lap("data")
        yield batch
        lap("backward")
