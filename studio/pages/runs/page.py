"""The Runs page: all runs in a table; one opens on the Run page, several are compared beside it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QSplitter,
    QStackedLayout,
    QWidget,
)

from studio.actions.organize import open_run
from studio.actions.trash_dialog import TrashDialog, describe_trash
from studio.pages.runs.compare.panel import ComparePanel
from studio.pages.runs.filter_field import FilterField
from studio.pages.runs.organizer import Organizer
from studio.pages.runs.table import LEAST_NAME, ROW_HEIGHT, RunsTable
from studio.pages.runs.view_menu import ViewMenu
from studio.panels.kept_sizes import KeptSizes
from studio.panels.run_words import UNLISTED
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_table import (
    RunTableModel,
)
from studio.state.runs.run_values import RunValues
from studio.theme import SPACING, theme
from studio.widgets import ComboBox, EmptyState, button, hbox, in_widget, label, vbox
from training.runs.folder import AT_WORK, DAMAGED, RunFolder

_REFRESH = 2000  # milliseconds between two looks while the page is seen and something is being trained

_FILTERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("All runs", frozenset()),
    ("Training", frozenset(AT_WORK)),
    ("Completed", frozenset({"completed"})),
    ("Stopped", frozenset({"stopped"})),
    ("Failed", frozenset({"failed"})),
    ("Interrupted", frozenset({"interrupted"})),
    ("Damaged", frozenset({DAMAGED})),
)
_READING = ("Reading the runs …", "Every run of this workspace, with its curve and its best result.")
_NOTHING = "Every run you train is kept here with its curves, settings and checkpoints."
_ALL_DELETED = "Runs that you deleted are in the trash; restore them with File, Trash …"
_NO_MATCH = ("No run matches", "Search for other words, or choose another status.", "Show all runs")
_UNREADABLE = ("The filter cannot be read yet", "What is missing or wrong is said below the field.", "Show all runs")
_ONLY_ARCHIVED = ("Archived runs only", "What matches is archived, and hidden here.", "Show archived runs")
_ROWS_ABOVE, _FEWEST_ABOVE = 5, 2  # the compared runs
_MOST_HEIGHT = 0.4  # for the table above them
_SIDE_BY_SIDE = 1900  # pixels, for text of the designed size: they have room beside the table
_MOST_SHARE = 0.5  # of the width, for the table


class RunsPage(QWidget):
    """Search, filter, sort, choose."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.values = RunValues(context.library, context.background, context.workspace, self)
        self.model = RunTableModel(context.library, self.values, self)
        self.filter = FilterField(self.values, context.settings)
        self.search = self.filter.line
        self.status = ComboBox()
        self.status.setAccessibleName("Show runs with this status")
        for title, _statuses in _FILTERS:
            self.status.addItem(title)
        self.count = label("", "caption")
        self.trash = button("", "trash", "ghost", clicked=lambda: TrashDialog(context, self).exec())
        self.table = RunsTable(self.model)
        self.view = ViewMenu(context.settings, self.table, self.model, self.values)
        self.organizer = Organizer(context, self.table, self.model)
        self.compare = ComparePanel(context)
        self.empty = EmptyState("runs", *_READING)
        self.no_match = EmptyState("search", *_NO_MATCH)
        self._timer = QTimer(self, interval=_REFRESH)
        self._compares_next = False  # those that are listed at the next look
        self._lay_out()
        self._connect()
        self._on_refreshed()

    def _lay_out(self) -> None:
        top = hbox(label("Runs", "title"), self.count, (self.filter, 1), self.status, self.view.button, self.trash)
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setHandleWidth(SPACING.m)
        self._above = in_widget(vbox((self.table, 1), (self.no_match, 1), self.organizer))
        self._split.addWidget(self._above)
        self.compare.hide()
        self._split.addWidget(self.compare)
        self._split.setCollapsible(1, False)
        # As the person left them: the height of the table above what is compared, its width beside it.
        self._sizes = KeptSizes(self._split, self._context.settings, "runs")
        self._split.splitterMoved.connect(self._fit_columns)
        self._content = in_widget(
            vbox(top, self.filter.problem, (self._split, 1), spacing=SPACING.m, margins=SPACING.l)
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._content)

    def _connect(self) -> None:
        for undoable in (self.filter.forgotten, self.view.replaced):
            undoable.connect(lambda words, undo: self._context.notifier.notify(words, action_text="Undo", action=undo))
        self.filter.query_changed.connect(self.model.set_query)
        self.filter.line.textChanged.connect(self._update_count)  # after the field's own: it knows by now what is wrong
        self.values.changed.connect(self.filter.read_again)
        self.values.changed.connect(self._update_count)
        self.view.columns_changed.connect(self._fit_columns)
        self.view.archived.toggled.connect(self._update_count)
        self.status.currentIndexChanged.connect(lambda at: self.model.set_statuses(_FILTERS[at][1]))
        self.table.chosen_changed.connect(self._on_chosen)
        self.table.open_asked.connect(self._open_run)
        self.compare.run_opened.connect(self._open_run)
        theme().changed.connect(self._turn)
        self.empty.action_triggered.connect(self._context.start_sample)
        self.no_match.action_triggered.connect(self._show_all)
        self._context.runs_asked.connect(self._list_asked)
        self._context.library.refreshed.connect(self._on_refreshed)
        self._context.library.failed.connect(self._on_refreshed)
        self.model.layoutChanged.connect(self._update_count)
        self._timer.timeout.connect(self._refresh_if_working)
        self._context.comparison_asked.connect(self._compare_listed)

    def choose(self, run_id: str) -> None:
        """Select a run, if it is in the table."""
        row = self.model.row_of(run_id)
        if row is not None:
            self.table.choose(row)

    def find_chosen(self) -> RunSummary | None:
        """The only run that is selected."""
        chosen = self.table.chosen_runs()
        return chosen[0] if len(chosen) == 1 else None

    @Slot()
    def _on_refreshed(self) -> None:
        library = self._context.library
        if library.loaded:
            title, words = ("No runs", _ALL_DELETED) if library.trash else ("No runs yet", _NOTHING)
            self.empty.set_content("runs", title, words, "Start the built-in sample", "play")
        elif library.problem:
            self.empty.set_content("warning", UNLISTED, library.problem)
        self._stack.setCurrentWidget(self._content if library.runs else self.empty)
        self.trash.setVisible(bool(library.trash))
        self.trash.setText(f"Trash ({len(library.trash)})")
        self.trash.setToolTip(f"{describe_trash(library.trash)}: restore them, or delete them for good")
        self._update_count()
        if self._compares_next and library.loaded:
            self._compares_next = False
            self.table.selectAll()

    @Slot(list)
    def _on_chosen(self, chosen: list[RunFolder]) -> None:
        several = len(chosen) > 1
        opened = several and self.compare.isHidden()
        self.compare.setVisible(several)
        if several:
            self.compare.show_runs(chosen)
        if opened:
            self._share_room()

    @Slot(object)
    @Slot(object, str)
    def _open_run(self, folder: RunFolder, checkpoint: str = "") -> None:
        """Look at a run on the Run page, at a checkpoint of it."""
        run = self._context.library.find(folder.id)
        if run is not None:
            open_run(self._context, run, "checkpoints" if checkpoint else "charts", checkpoint)

    def _is_wide(self) -> bool:
        return self.width() >= _SIDE_BY_SIDE * max(theme().font_scale, 1.0)

    @Slot()
    def _turn(self) -> None:
        """The compared runs beside the table where there is room, else below it."""
        way = Qt.Orientation.Horizontal if self._is_wide() else Qt.Orientation.Vertical
        if way != self._split.orientation():
            self._split.setOrientation(way)
            self._share_room()

    def _share_room(self) -> None:
        """Beside compared runs the table keeps its columns, above them a few rows, unless the person has given it another size."""
        way = self._split.orientation()
        if way == Qt.Orientation.Horizontal:
            wanted = (
                sum(self.table.needed_widths().values())
                + LEAST_NAME
                + self.table.verticalScrollBar().sizeHint().width()
            )
            width = next(iter(self._sizes.find()), 0) or min(wanted, round(self._split.width() * _MOST_SHARE))
            self._split.setSizes([width, max(self._split.width() - width, 1)])
            QTimer.singleShot(0, self, self._fit_columns)
            return
        around = self._above.sizeHint().height() - self.table.sizeHint().height()  # the bar below the table
        around += (
            self.table.horizontalHeader().sizeHint().height() + self.table.horizontalScrollBar().sizeHint().height() + 4
        )
        room = (round(self._split.height() * _MOST_HEIGHT) - around) // ROW_HEIGHT
        rows = min(max(self.model.rowCount(), 1), max(min(room, _ROWS_ABOVE), _FEWEST_ABOVE))
        height = next(iter(self._sizes.find()), 0) or around + rows * ROW_HEIGHT
        self._split.setSizes([height, max(self._split.height() - height, 1)])

    @Slot()
    def _update_count(self) -> None:
        shown, total = len(self.model.runs_shown()), len(self._context.library.runs)
        self._fit_columns()
        self.table.setVisible(shown > 0)
        self.no_match.setVisible(shown == 0)
        if not self.filter.problem.isHidden():  # nothing was looked for
            self.no_match.set_content("warning", *_UNREADABLE)
        elif self.model.hidden > 0:
            self.no_match.set_content("save", *_ONLY_ARCHIVED)
        else:
            self.no_match.set_content("search", *_NO_MATCH)
        facts = [f"{total:,}" if shown == total else f"{shown:,} of {total:,}"]
        facts += [f"{self.model.hidden:,} archived"] * bool(self.model.hidden)
        facts += [f"reading {self.values.behind:,} …"] * bool(self.values.behind)
        problem = self._context.library.problem
        facts += [f"may be old: {UNLISTED[:1].lower()}{UNLISTED[1:]}"] * bool(problem)
        self.count.setText(" · ".join(facts))
        behind = "Settings and metrics of some runs are still being read." if self.values.behind else ""
        self.count.setToolTip(problem or behind)

    @Slot()
    def _fit_columns(self) -> None:
        self.table.fit_columns()
        self.view.tell_unfitting(self.table.unfitting)

    @Slot()
    def _show_all(self) -> None:
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)  # the button is about to go
        if self.model.hidden:
            self.view.archived.setChecked(True)
        self.search.clear()
        self.status.setCurrentIndex(0)

    @Slot(str)
    def _list_asked(self, query: str) -> None:
        """All that ``query`` finds, whatever was looked for before."""
        self.status.setCurrentIndex(0)
        self.search.setText(query)

    @Slot()
    def _compare_listed(self) -> None:
        """Select all that are listed, once the list is new."""
        self._compares_next = True
        self._context.library.refresh()

    @Slot()
    def _refresh_if_working(self) -> None:
        if any(run.status in AT_WORK for run in self._context.library.runs):
            self._context.library.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()
        QTimer.singleShot(0, self, self._fit_columns)  # once the table has its new width

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._context.library.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
