"""The checkpoints of a run with the branches that begin at them, and what can be done with the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QListView, QStackedLayout, QWidget

from studio.actions.checkpoints import delete_checkpoint, evaluate_checkpoint, export_checkpoint
from studio.actions.files import reveal
from studio.engine.state import ENDED, LIVE, RunAction, RunState, is_enabled
from studio.panels.checkpoints.resume_button import ResumeButton
from studio.panels.checkpoints.set_aside_lines import SetAsideLines
from studio.panels.delegates import CheckpointDelegate
from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import (
    BRANCH_ROLE,
    CHECKPOINT_ROLE,
    READING,
    Branch,
    CheckpointListModel,
    list_branches,
)
from studio.state.runs.way_on import START_OVER, way_on
from studio.theme import set_property
from studio.widgets import Card, FlowLayout, button, dress_button, label
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, LAST, CheckpointInfo

_EXPORT_BEST = "Write the best model to a file for use elsewhere"
_DELETE = "Move the selected checkpoint to the trash (Del); the newest one that is whole stays"
_EVALUATE = "Show what the selected checkpoint answers to each sample"
_EXPORT_CHOSEN = "Write the selected checkpoint's model to a file for use elsewhere"


class CheckpointPanel(Card):
    """A card with the list and its buttons. The person's choice stays while the list grows."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Checkpoints")
        self._context = context
        self._run_state = RunState.IDLE
        self._done_at: int | None = None  # the step at which the run completed
        self._picked = (
            ""  # the name of the one chosen by the person; until then the best one is selected, or else the last
        )
        self._selecting = False
        self.model = CheckpointListModel(context.background, self)
        self.view = QListView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(CheckpointDelegate(self.view))
        self.view.setAccessibleName("Checkpoints")
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setMouseTracking(True)
        self.view.setMinimumHeight(120)
        set_property(self.view, "flat", True)
        self._empty = label("", "help", wrap=True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._list = QWidget()
        self._stack = QStackedLayout(self._list)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        self.resume = ResumeButton(context)  # lies in the head of the page
        self.branch = button(
            "Branch", "branch", tooltip="Start a new run from the selected checkpoint, with other settings"
        )
        self.export = button("Export best", "export")
        self._reveal = button("Show folder", "folder", tooltip="Show the checkpoint's folder")
        self.evaluate = button("Evaluate", "evaluate", tooltip=_EVALUATE)
        self.try_it = button("Try it", "eye", tooltip="Ask the selected checkpoint about new samples")
        self.delete = button("Delete", "trash", tooltip=_DELETE)
        buttons = FlowLayout()
        for made in (self.branch, self.export, self.evaluate, self.try_it, self._reveal, self.delete):
            buttons.addWidget(made)
        self.add((self._list, 1), buttons)
        self.set_aside = SetAsideLines(context, self.view)
        self.add(self.set_aside)
        self.view.selectionModel().selectionChanged.connect(self._on_selected)
        self.model.refreshed.connect(self._on_refreshed)
        self.export.clicked.connect(lambda: self._with_chosen(self._export_it))
        self.branch.clicked.connect(lambda: self._with_chosen(context.branch_from))
        self.evaluate.clicked.connect(lambda: self._with_chosen(partial(evaluate_checkpoint, context)))
        self.try_it.clicked.connect(lambda: self._with_chosen(self._try_it))
        self._reveal.clicked.connect(lambda: self._with_chosen(lambda _folder, info: reveal(info.path)))
        self.delete.clicked.connect(lambda: self._with_chosen(self._delete))
        key = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.view)
        key.setContext(Qt.ShortcutContext.WidgetShortcut)
        key.activated.connect(self.delete.click)
        self.view.activated.connect(self._on_activated)
        context.library.refreshed.connect(self._show_branches)
        context.library.restored.connect(self.refresh)
        context.start_problem_changed.connect(self._update_buttons)
        self._update_buttons()

    def set_run(self, folder: RunFolder | None, state: RunState, done_at: int | None = None) -> None:
        """Show the checkpoints of ``folder``; ``state`` decides what can be done with them, and so does ``done_at``, the
        step at which the run completed."""
        self._run_state, self._done_at = state, done_at
        if folder != self.model.folder:
            self.view.clearSelection()
            self._picked = ""
        self.set_aside.set_run(folder, state)  # first: it finishes what a kill left half-way
        self.model.set_folder(folder)
        self._show_branches()
        self._update_buttons()

    def set_state(self, state: RunState, done_at: int | None = None) -> None:
        """The run went on or ended."""
        self._run_state, self._done_at = state, done_at
        self.set_aside.set_state(state)
        self._update_buttons()

    def refresh(self) -> None:
        """Read the list again, and what is set aside."""
        self.set_aside.refresh()
        self.model.refresh()

    def choose(self, name: str) -> None:
        """Select a checkpoint by its folder's name (a marker on the curve was clicked), as soon as the list is read."""
        row = self.model.row_of(name)
        if row is None and not self.model.loaded:
            self._picked = name
        elif row is not None:
            self.view.setCurrentIndex(self.model.index(row))
            self.view.setFocus()

    def find_chosen(self) -> CheckpointInfo | None:
        """The selected checkpoint."""
        rows = self.view.selectionModel().selectedRows()
        return rows[0].data(CHECKPOINT_ROLE) if rows else None

    @Slot()
    def _show_branches(self) -> None:
        self.model.set_branches(list_branches(self._context.library, self.model.folder))
        self._stack.setCurrentWidget(self.view if self.model.rowCount() else self._empty)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        branch: Branch | None = index.data(BRANCH_ROLE)
        if branch is not None:
            self._context.open_run(branch.folder.path, "checkpoints")

    def _delete(self, folder: RunFolder, info: CheckpointInfo) -> None:
        self.delete.setEnabled(False)
        self.view.setFocus()
        delete_checkpoint(self._context, folder, info, self.refresh)

    def _try_it(self, folder: RunFolder, info: CheckpointInfo) -> None:
        self._context.open_run(folder.path, "tryit")
        self._context.model_to_try.choose(info.path)

    def _export_it(self, folder: RunFolder, info: CheckpointInfo) -> None:
        export_checkpoint(self._context, self, folder, info, self.model if self._follows_best(info) else None)

    def _follows_best(self, info: CheckpointInfo) -> bool:
        """Whether it is selected for being the best one, and not by the person."""
        return not self._picked and BEST in info.labels

    def _with_chosen(self, act: Callable[[RunFolder, CheckpointInfo], object]) -> None:
        info, folder = self.find_chosen(), self.model.folder
        if info is not None and folder is not None:
            act(folder, info)

    def _why_empty(self) -> str:
        """What stands in the place of the list."""
        if self.model.folder is None:
            return ""
        if not self.model.loaded:
            return READING
        if self._run_state not in LIVE:
            way = way_on(self.model.folder)
            return way.kept if way is START_OVER else "None of its checkpoints can be read."
        when = self.model.when_saved()
        return f"None yet. {when}, or when you press Save now." if when else "None yet. Press Save now to have one."

    @Slot()
    def _on_refreshed(self) -> None:
        self._stack.setCurrentWidget(self.view if self.model.rowCount() else self._empty)
        if self.model.checkpoints:
            row = self.model.row_of(self._picked)
            if row is None:  # nothing picked, or the picked one was pruned
                self._picked = ""
                row = self.model.row_of((self.model.find_labeled(BEST) or self._find_last()).name) or 0
            self._selecting = True
            self.view.setCurrentIndex(self.model.index(row))
            self._selecting = False
        self._update_buttons()

    @Slot(QItemSelection, QItemSelection)
    def _on_selected(self, selected: QItemSelection, _deselected: QItemSelection) -> None:
        chosen = self.find_chosen()
        if chosen is not None and not selected.isEmpty() and not self._selecting and not self.model.replacing:
            self._picked = chosen.name
        self._update_buttons()

    @Slot()
    def _update_buttons(self) -> None:
        self._empty.setText(self._why_empty())
        info, state = self.find_chosen(), self._run_state
        there = info is not None
        last = self._find_last() if self.model.checkpoints else None
        self.resume.show_ways(self.model.folder, state, self._done_at, last, info)
        self.branch.setText(f"Branch from step {info.step:,}" if info else "Branch")
        self.branch.setEnabled(there and is_enabled(RunAction.BRANCH, state))
        self.export.setEnabled(there and is_enabled(RunAction.EXPORT, state))
        why_not = self.model.why_no_best
        if info is None or self._follows_best(info):
            text, tip = f"Export best (step {info.step:,})" if info else "Export best", why_not or _EXPORT_BEST
        else:
            text, tip = f"Export step {info.step:,}", _EXPORT_CHOSEN
            if why_not and not self._picked:
                tip = f"{why_not} This is the last one."
        self.export.setText(text)
        self.export.setToolTip(tip)
        dress_button(self.export, "export", "primary" if state is RunState.COMPLETED else "secondary")
        self.try_it.setEnabled(there)
        self._reveal.setEnabled(there)
        self.evaluate.setEnabled(there)
        self.delete.setEnabled(there and state in ENDED)
        self.delete.setToolTip(
            _DELETE if state in ENDED else "Stop the run first: while it trains it tidies up by itself"
        )

    def _find_last(self) -> CheckpointInfo:
        return self.model.find_labeled(LAST) or self.model.checkpoints[0]
