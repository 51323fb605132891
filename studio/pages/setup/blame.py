"""Which settings a refusal of the engine is about, so that they and their tab are marked. No Qt."""

from __future__ import annotations

from studio.engine.messages import Refusal
from training.config import RunConfig
from training.errors import Problem

_PLACES = ("dataset", "model")  # sections whose file or folder a sentence may begin with


def settings_blamed(refusal: Refusal, config: RunConfig) -> tuple[Problem, ...]:
    """Those that ``refusal`` names. Where it begins with a file or folder instead, the setting that says so; a network of one's
    own that is given arguments may be right but for them, so they are marked in its place."""
    if refusal.problems:
        return refusal.problems
    places = {section: str(getattr(getattr(config, section), "path", None) or "") for section in _PLACES}
    begun = [section for section, place in places.items() if place and refusal.message.startswith(place)]
    if not begun:
        return ()
    section = max(begun, key=lambda each: len(places[each]))  # the file of a network may lie in the folder of the data
    names = [f"arguments.{name}" for name in getattr(getattr(config, section), "arguments", {})] or ["path"]
    return tuple(Problem(f"{section}.{name}", str(refusal)) for name in names)
