"""``Entry``: one thing that can be chosen, and how its code is found."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from typing import Any

from training.config.fields import Section


@dataclass(frozen=True)
class Entry:
    """One row of the catalog.

    ``config`` describes the settings; ``title`` is what a person reads, ``also`` what else it is looked for by,
    ``group`` what it stands among (only of data: their modality); ``target`` is
    the "module:name" in ``training`` of the function or class that makes the thing, imported only when it is needed.
    """

    config: type[Section]
    title: str
    target: str
    also: str = ""
    group: str = ""

    @property
    def kind(self) -> str:
        """What a configuration calls it."""
        return str(self.config.model_fields["kind"].default)

    @property
    def summary(self) -> str:
        """What it is, in a sentence: the docstring of its settings."""
        return (getdoc(self.config) or "").replace("``", "")


def resolve(entry: Entry) -> Any:
    """Import and return what ``entry.target`` names."""
    module, _, name = entry.target.partition(":")
    return getattr(import_module(f"training.{module}"), name)
