"""Steps of a session, one by one."""

from __future__ import annotations

from torch import Tensor

from training.data import Window
from training.engine.session import Session
from training.engine.step import train_step


def take_step(session: Session, window: Window) -> tuple[Tensor, Tensor]:
    """The step over ``window`` as the loop makes it: compiled where the session is."""
    result = (session.compiled or train_step)(session, window, session.next_lr())
    session.progress.count_step()
    return result
