"""What the window knows of its engine. No Qt and no pydantic: the first engine is started before either is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EngineState(StrEnum):
    """One engine's readiness."""

    STARTING = "starting"  # loading torch
    READY = "ready"
    BUSY = "busy"
    DEAD = "dead"
    CLOSED = "closed"  # ended because it was asked to


@dataclass(frozen=True)
class EngineDeath:
    """Why an engine is gone: one sentence, what to do, and the end of its technical record."""

    sentence: str
    advice: str = ""
    log: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}".strip()
