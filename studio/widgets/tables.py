"""How a table inside a card looks."""

from __future__ import annotations

from PySide6.QtWidgets import QTableView


def dress_table(view: QTableView, name: str, row_height: int) -> None:
    """Rows of ``row_height`` pixels without a grid, one line each; ``name`` is what screen readers say. Tab leaves it."""
    view.setProperty("flat", True)
    view.setAccessibleName(name)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.verticalHeader().setDefaultSectionSize(row_height)
    view.horizontalHeader().setHighlightSections(False)
