"""A setting's way to the study that finds a value for it: an entry of its menu, and a button in the rows of those that all runs have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtWidgets import QMenu, QToolButton

from studio.theme import icon
from studio.widgets import icon_button
from training.studies.records import Kind

Ask = Callable[[str], object]

_ICON = "studies"
_WITH_BUTTON: Final[Mapping[str, tuple[Kind, str]]] = {
    "optimizer.lr": ("lr-range", "Find a learning rate …"),
    "schedule.max_lr": ("lr-range", "Find a learning rate …"),
    "loop.batch_size": ("batch", "Find a batch size …"),
}
_FASTER: Final[tuple[Kind, str]] = ("speed", "Find what makes the steps faster …")
_ENTRIES: Final[Mapping[str, tuple[Kind, str]]] = {
    **_WITH_BUTTON,
    **dict.fromkeys(
        (
            "loader.mode",
            "loader.workers",
            "loader.cache",
            "precision.threads",
            "precision.channels_last",
            "precision.compute",
            "precision.compile",
            "precision.cuda_graphs",
        ),
        _FASTER,
    ),
}
"""By the setting: the kind of study, and what is said of it."""


def add_study_entry(menu: QMenu, ask: Ask, path: str) -> None:
    """Let the menu of the setting at ``path`` lead to its study, where there is one, by ``ask`` with its kind."""
    if path in _ENTRIES:
        kind, words = _ENTRIES[path]
        menu.addAction(icon(_ICON, "muted"), words, lambda: ask(kind))


def make_study_button(ask: Ask, path: str) -> QToolButton | None:
    """The button in the row of a setting; None for most."""
    if path not in _WITH_BUTTON:
        return None
    kind, words = _WITH_BUTTON[path]
    return icon_button(_ICON, words, clicked=lambda: ask(kind))
