"""Steps of a session, one by one."""

from __future__ import annotations

import torch
from torch import Tensor

from training.data import MicroBatches
from training.engine.session import Session
from training.engine.step import train_step


def take_step(session: Session, window: MicroBatches) -> tuple[Tensor, Tensor]:
    """The step over ``window`` as the loop makes it: compiled where the session is."""
    result = (session.compiled or train_step)(session, window, session.next_lr())
    session.progress.count_step()
    return result


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """The rate of the next step, as core's step sets it."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get("lr_scale", 1.0)
