"""The screens of the window: key, icon, title and where each is built."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from studio.state.context import AppContext


class PageEntry(NamedTuple):
    """One screen: ``target`` is "module:class", made with the AppContext; ``help`` the page that tells of it."""

    key: str
    icon: str
    title: str
    tooltip: str
    target: str
    help: str

    def make(self, context: AppContext) -> QWidget:
        """Build the page."""
        module, _, name = self.target.partition(":")
        page: QWidget = getattr(importlib.import_module(module), name)(context)
        return page


PAGES = (
    PageEntry(
        "setup",
        "setup",
        "Setup",
        "Data, model and training settings (Ctrl+1)",
        "studio.pages.setup.page:SetupPage",
        "getting-started",
    ),
    PageEntry("run", "train", "Run", "Watch and steer the run (Ctrl+2)", "studio.pages.run.page:RunPage", "training"),
    PageEntry(
        "evaluate",
        "evaluate",
        "Evaluate",
        "What a checkpoint answers, sample by sample (Ctrl+3)",
        "studio.pages.evaluate.page:EvaluatePage",
        "evaluate",
    ),
    PageEntry(
        "tryit",
        "eye",
        "Try it",
        "Ask a trained model about new images, rows and text (Ctrl+4)",
        "studio.pages.tryit.page:TryItPage",
        "try-it",
    ),
    PageEntry(
        "runs", "runs", "Runs", "All runs and their checkpoints (Ctrl+5)", "studio.pages.runs.page:RunsPage", "runs"
    ),
)
