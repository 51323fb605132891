"""One optimizer step over one window of micro-batches."""

from __future__ import annotations

from torch import Tensor

from training.data import Window
from training.engine.session import Session
from training.optim.clip import clip_gradients_, gradient_norm


def train_step(session: Session, window: Window) -> tuple[Tensor, Tensor]:
    """Attempt one step; returns the window's mean loss and the gradient norm before clipping, both on the device.

    Each micro-batch's loss is its sum over samples divided by the window's real number of samples (or pixels, or tokens),
    so the gradient is that of the mean over the window however short its last batch is. Nothing here waits for the device.
    """
    numerics = session.numerics
    loss: Tensor | None = None

    for parameter in session.parameters:
        parameter.grad = None
    session.lap("update")
    weight = window.weight(session.objective.loss_weight if session.objective.is_weighted else None)
    for batch in window:
        session.lap("data")
        with numerics.autocast():
            outputs = session.told(batch.inputs, (session.forward or session.model)(batch.inputs))
        part = session.objective.loss(outputs, batch.targets, weight)
        session.lap("forward")
        numerics.backward(part)
        loss = part.detach() if loss is None else loss + part.detach()
        session.lap("backward")
    numerics.unscale(session.optimizer)
    norm = gradient_norm(session.parameters)
    clip_gradients_(session.parameters, norm, session.config.loop.clip_norm, session.config.loop.clip_value)
    session.lap("clip")
    took_place = session.guard.step(norm)
    numerics.update_scale()
    session.average(took_place)
    session.progress.step += 1
    session.apply_schedule()
    session.lap("update")
    assert loss is not None, "a window has at least one batch"
    return loss, norm
