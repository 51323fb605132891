"""A conversation with one engine, wherever it works: the two kinds of links share this shape. No Qt here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from studio.engine.messages import EngineDeath

Reply = Mapping[str, Any]


@dataclass(frozen=True)
class EngineChoice:
    """How the engine is hosted. ``python`` is empty for the interpreter the window runs on."""

    python: str = ""
    in_process: bool = False


class EngineLink(Protocol):
    """One engine. ``converse`` runs in the engine's QThread, everything else in the GUI thread."""

    in_process: bool  # a thread: it can be neither killed nor left behind

    def converse(self, on_reply: Callable[[Reply], None]) -> EngineDeath | None:
        """Deliver replies until the engine ends; None when it was told to end, else why it is gone."""

    def send(self, request: Mapping[str, Any]) -> None:
        """Pass one request on; an engine that is gone swallows it (``converse`` tells)."""

    def give_way(self) -> None:
        """Leave the processor to whoever wants it, from the first moment on and for good; not for a thread."""

    def close(self) -> None:
        """No more requests: the engine ends, a run is stopped and kept (unless it was detached)."""

    def let_go(self) -> None:
        """The engine has agreed to work on without us: stop listening, and leave it alone from now on."""

    def terminate(self) -> None:
        """Ask the operating system to end the engine politely."""

    def kill(self) -> None:
        """End the engine at once."""
