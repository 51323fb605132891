"""What the run is computed on and how busy that is: the newest figures and their curves, the profiler, and the environment."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.engine.state import LIVE, RunState
from studio.pages.run.environment_card import EnvironmentCard
from studio.pages.run.load_charts import LoadCharts
from studio.pages.run.machine_load import MachineLoad
from studio.pages.run.profile_card import ProfileCard
from studio.pages.run.ranks_card import RanksCard
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, Card, in_widget, scroll_area, vbox
from training.events import AttemptStarted, Event


class SystemTab(QWidget):
    """Follows ``context.shown``."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.load = MachineLoad(context.shown)
        self.ranks = RanksCard(context)
        self.profile = ProfileCard(context)
        self.environment = EnvironmentCard(context)
        self.machine = Card("Machine", "cpu")
        self.charts = LoadCharts(context.shown)
        self.machine.add(self.load, self.charts)
        cards = (self.machine, self.ranks, self.profile, self.environment)
        self.area = scroll_area(in_widget(vbox(*cards, STRETCH, spacing=SPACING.m, margins=SPACING.l)), "System")
        vbox(self.area, parent=self)
        context.shown.attached.connect(self._show_run)
        context.shown.state_changed.connect(self._on_state_changed)
        context.shown.event_arrived.connect(self._on_event)
        self._show_run()

    @Slot()
    def _show_run(self) -> None:
        run = self._context.shown.run
        self.load.clear()
        self.profile.set_run(run.folder, run.state)
        self.environment.set_run(run.folder)

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        self.profile.set_state(state)
        self.load.setVisible(state in LIVE)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        self.profile.add_event(event)
        if isinstance(event, AttemptStarted):
            self.environment.refresh()
            self.load.device.setText(event.device)
            self.load.device_row.setToolTip(event.device_note)
