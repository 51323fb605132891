"""What the engine tells the window, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from training.errors import Problem


class EngineState(StrEnum):
    """One engine's readiness."""

    STARTING = "starting"  # loading torch
    READY = "ready"
    BUSY = "busy"
    DEAD = "dead"
    CLOSED = "closed"  # ended because it was asked to


@dataclass(frozen=True)
class EngineInfo:
    """What a warm engine said about itself."""

    torch: str
    devices: tuple[str, ...]
    unwritable: Mapping[str, str] = field(default_factory=dict)
    """Formats of export that its Python cannot write, each with the reason."""

    def __str__(self) -> str:
        return f"{', '.join(self.devices).upper()} · PyTorch {self.torch}"


@dataclass(frozen=True)
class EngineDeath:
    """Why an engine is gone: one sentence, what to do, and the end of its technical record."""

    sentence: str
    advice: str = ""
    log: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.advice}".strip()


@dataclass(frozen=True)
class Refusal:
    """The engine will not do what was asked; ``problems`` name the settings to change."""

    message: str
    advice: str = ""
    problems: tuple[Problem, ...] = ()

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


def info_from(reply: Mapping[str, Any]) -> EngineInfo:
    """The engine's greeting."""
    unwritable = {str(key): str(reason) for key, reason in (reply.get("unwritable") or {}).items()}
    return EngineInfo(str(reply.get("torch", "")), tuple(map(str, reply.get("devices", ()))), unwritable)


def refusal_from(reply: Mapping[str, Any]) -> Refusal:
    """A "refused" reply."""
    return Refusal(str(reply.get("message", "")), str(reply.get("advice") or ""), problems_from(reply))


def problems_from(reply: Mapping[str, Any]) -> tuple[Problem, ...]:
    """The settings to change, each with the way out where the engine knows one."""
    found = []
    for path, message, *fix in reply.get("problems") or ():
        found.append(Problem(str(path), str(message), dict(fix[0]) if fix else {}))
    return tuple(found)
