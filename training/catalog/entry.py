"""``Entry``: one thing that can be chosen, and how its code is found."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from training.config.fields import Section


@dataclass(frozen=True)
class Entry:
    """One row of the catalog.

    ``title`` and ``summary`` are what a person reads; ``config`` describes the settings; ``target`` is the
    "module:name" of the function or class that makes the thing, imported only when it is needed.
    """

    kind: str
    title: str
    summary: str
    config: type[Section]
    target: str


def resolve(entry: Entry) -> Any:
    """Import and return what ``entry.target`` names."""
    module, _, name = entry.target.partition(":")
    return getattr(import_module(module), name)
