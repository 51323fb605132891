"""A conversation with one engine, wherever it works: the two kinds of links share this shape. No Qt here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.engine.messages import EngineDeath

if TYPE_CHECKING:
    from training.protocol.messages import Reply, Request


@dataclass(frozen=True)
class EngineChoice:
    """How the engine is hosted. ``python`` is empty for the interpreter the window runs on."""

    python: str = ""
    in_process: bool = False


class EngineLink:
    """One engine. ``run`` runs in the engine's QThread, everything else in the GUI thread."""

    in_process = False
    """Whether it is a thread, which can be neither killed nor left behind: what is only for processes does nothing then."""

    def run(self, on_reply: Callable[[Reply], None]) -> EngineDeath | None:
        """Deliver replies until the engine ends; None when it was told to end, else why it is gone."""
        raise NotImplementedError

    def send(self, request: Request) -> None:
        """Pass one request on; an engine that is gone swallows it (``run`` tells)."""
        raise NotImplementedError

    def preempt(self) -> None:
        """Leave the CPU to whoever wants it, from the first moment on and for good; not for a thread."""

    def close(self) -> None:
        """No more requests: the engine ends, a run is stopped and kept (unless it was detached)."""
        raise NotImplementedError

    def detach(self) -> None:
        """The engine has agreed to work on without us: stop listening, and leave it alone from now on."""

    def terminate(self) -> None:
        """Ask the operating system to end the engine politely."""

    def kill(self) -> None:
        """End the engine at once."""
