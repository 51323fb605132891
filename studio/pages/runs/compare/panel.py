"""The panel that compares the runs chosen in the table."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.pages.runs.compare.curves_view import CurvesView
from studio.pages.runs.compare.metrics_view import MetricsView
from studio.pages.runs.compare.settings_view import SettingsView
from studio.pages.runs.compare.shares_view import SharesView
from studio.state.context import AppContext
from studio.state.runs.comparison import MOST_DRAWN, Comparison
from studio.theme import SPACING
from studio.widgets import EmptyState, Segmented, flow_box, in_widget, label, vbox
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

_LOOK = 2000  # milliseconds between two looks at runs that go on
_NOTHING = (
    "runs",
    "Nothing to compare",
    "Select two or more runs in the table: with Ctrl and a click, or Shift and the arrow keys.",
)
_VIEWS = (("curves", "Curves"), ("settings", "Settings"), ("metrics", "Metrics"), ("shares", "Importance"))


class ComparePanel(QWidget):
    """Signals: `run_opened(RunFolder, str)`: a run is to be shown, at the checkpoint of this name where it has one."""

    run_opened = Signal(object, str)

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.comparison = Comparison(context.background, self)
        self.curves = CurvesView(context, self.comparison)
        self.settings = SettingsView(context, self.comparison)
        self.metrics = MetricsView(context, self.comparison)
        self.shares = SharesView(context, self.comparison)
        self.choice = Segmented(_VIEWS)
        self.choice.setAccessibleName("What is compared")
        self._note = label("", "caption")
        self._problems = label("", "help", wrap=True)
        self._problems.hide()
        self._views = QStackedWidget()
        for view in (self.curves, self.settings, self.metrics, self.shares):
            self._views.addWidget(view)
        self._content = in_widget(vbox(self._make_head(), self._problems, (self._views, 1), spacing=SPACING.m))
        self.empty = EmptyState(*_NOTHING)
        vbox(self.empty, (self._content, 1), parent=self)
        self._content.hide()
        self._timer = QTimer(self, interval=_LOOK)
        self._timer.timeout.connect(self._look_again)
        self._later = QTimer(self, interval=0, singleShot=True)  # several runs may be read in one turn of events
        self._later.timeout.connect(self._rebuild)
        self.choice.current_changed.connect(self._on_view_chosen)
        self.comparison.chosen_changed.connect(self._later.start)
        self.comparison.opened.connect(self._later.start)
        self.curves.point_chosen.connect(self._on_point_chosen)
        self.shares.run_chosen.connect(lambda folder: self.run_opened.emit(folder, ""))

    def _make_head(self) -> QWidget:
        """Which view, and how curves are drawn, in as few lines as the width allows."""
        head = QWidget()
        flow_box(self.choice, self._note, *self.curves.bar.parts, parent=head, spacing=SPACING.m)
        return head

    def show_runs(self, folders: Sequence[RunFolder]) -> None:
        """Compare these runs; the curves of the first twenty are drawn."""
        library = self._context.library
        known = {run.folder: library.title_of(run) for run in library.runs}
        self.comparison.show(folders, {folder: known[folder] for folder in folders if folder in known})

    @Slot()
    def _rebuild(self) -> None:
        comparison = self.comparison
        some = bool(comparison.folders)
        self.empty.setVisible(not some)
        self._content.setVisible(some)
        self._note.setText(self._count())
        problems = [f"{comparison.title(folder)}: {text}" for folder, text in comparison.problems.items()]
        self._problems.setText("\n".join(problems))
        self._problems.setVisible(bool(problems))
        self._fill_view()
        if any(run.is_growing for run in comparison.list_read()) and self.isVisible():
            self._timer.start()

    def _count(self) -> str:
        comparison = self.comparison
        left_out = len(comparison.problems)
        count = len(comparison.folders) - left_out
        words = f"{count} runs" if count != 1 else "1 run; select others beside it to compare"
        if left_out:
            words += f", {left_out} left out"
        if count > MOST_DRAWN:
            words += f", the curves of the first {MOST_DRAWN} are drawn"
        return f"{words} · loading …" if comparison.is_loading() else words

    def _fill_view(self) -> None:
        """That which is seen alone: the others when they are chosen."""
        view = self._views.currentWidget()
        if view is self.curves:
            self.curves.rebuild()
            self.curves.set_growing(any(run.is_growing for run in self.comparison.list_read()))
        elif isinstance(view, SettingsView | MetricsView | SharesView):
            view.rebuild()

    @Slot(str)
    def _on_view_chosen(self, key: str) -> None:
        self._views.setCurrentIndex([name for name, _ in _VIEWS].index(key))
        for part in self.curves.bar.parts:
            part.setVisible(key == "curves")
        self._fill_view()

    @Slot()
    def _look_again(self) -> None:
        grown = self.comparison.find_grown()
        if self._views.currentWidget() is self.curves:
            self.curves.take_up(grown)
        else:
            self._fill_view()
        if not any(run.is_growing for run in self.comparison.list_read()):
            self._timer.stop()
            self._later.start()  # how they ended

    @Slot(object, int)
    def _on_point_chosen(self, folder: RunFolder, step: int) -> None:
        found = min(list_checkpoints(folder), key=lambda info: abs(info.step - step), default=None)
        self.run_opened.emit(folder, found.name if found else "")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.comparison.folders:
            self._look_again()
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
