"""The screens of the window: key, icon, title and where each is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

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
        from pkgutil import resolve_name  # after the first paint

        page: QWidget = resolve_name(self.target)(context)
        return page


@runtime_checkable
class Tabbed(Protocol):
    """A page of several screens: "KEY/TAB" shows one of them."""

    def show_tab(self, key: str) -> QWidget:
        """Bring a screen to the front, built if need be."""

    def front(self) -> QWidget:
        """The screen that is seen now."""

    def help_topic(self) -> str:
        """The page of the help that tells of it."""


PAGES = (
    PageEntry(
        "data",
        "database",
        "Data",
        "All samples of the data that Setup has chosen, its classes, parts and columns",
        "studio.pages.data.page:DataPage",
        "data",
    ),
    PageEntry(
        "setup",
        "setup",
        "Setup",
        "Data, model and training settings",
        "studio.pages.setup.page:SetupPage",
        "getting-started",
    ),
    PageEntry(
        "run",
        "train",
        "Run",
        "One run: charts, evaluation, checkpoints and the way it was set up",
        "studio.pages.run.page:RunPage",
        "training",
    ),
    PageEntry("runs", "runs", "Runs", "All runs of the workspace", "studio.pages.runs.page:RunsPage", "runs"),
    PageEntry(
        "studies",
        "studies",
        "Studies",
        "Find better settings: studies, sweeps, and the queue of runs",
        "studio.pages.studies.page:StudiesPage",
        "studies",
    ),
    PageEntry(
        "models",
        "export",
        "Models",
        "Everything exported: format, size, latency, proof, origin",
        "studio.pages.models.page:ModelsPage",
        "export",
    ),
)
"""A row is all that a page needs: the rail, the commands, the keys (Ctrl+1, ...) and the help follow, in this order."""
