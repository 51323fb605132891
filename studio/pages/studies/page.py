"""The Studies page: settings found by studies and sweeps, and the runs that wait for their turn."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.pages.studies.finders.tab import StudiesTab
from studio.pages.studies.queue.tab import QueueTab
from studio.pages.studies.sweeps.tab import SweepsTab
from studio.panels.tabs import TabEntry, Tabs
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import label, vbox


class StudiesPage(QWidget):
    """Three tabs, each built when it is first shown."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        entries = (
            TabEntry("studies", "Studies", "studies", lambda: StudiesTab(context)),
            TabEntry("sweeps", "Sweeps", "sweeps", lambda: SweepsTab(context)),
            TabEntry("queue", "Queue", "queue", lambda: QueueTab(context)),
        )
        self.tabs = Tabs(entries, "Studies, sweeps and the queue", QWidget())
        head = vbox(label("Studies", "title"), margins=(SPACING.l, SPACING.l, SPACING.l, 0))
        vbox(head, (self.tabs, 1), parent=self, spacing=SPACING.s)

    def show_tab(self, key: str) -> QWidget:
        """Bring a tab to the front."""
        return self.tabs.show_tab(key)

    def front(self) -> QWidget:
        """The screen that is seen now."""
        return self.tabs.front()

    def help_topic(self) -> str:
        """The page of the help that tells of it."""
        return self.tabs.help_topic()
