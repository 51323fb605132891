"""The checkpoints of a run as a tree, and what can be done with the chosen one: by buttons, and by the same things in a menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QItemSelection, QModelIndex, QPoint, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedLayout, QWidget

from studio.actions.checkpoints import delete_checkpoint, evaluate_checkpoint, export_checkpoint
from studio.actions.files import reveal
from studio.engine.state import ENDED, LIVE, RunAction, RunState, is_enabled
from studio.panels.checkpoints.resume_button import ResumeButton
from studio.panels.checkpoints.row_menu import RowMenu
from studio.panels.checkpoints.set_aside_rows import SetAsideRows
from studio.panels.checkpoints.tree_view import CheckpointTreeView
from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import READING, CheckpointList
from studio.state.runs.checkpoint_tree import KEY_ROLE, ROW_ROLE, RUN_ROLE, Branch, CheckpointTree, Row, key_of
from studio.state.runs.set_aside import Stretch
from studio.state.runs.way_on import describe_lack
from studio.theme import icon
from studio.widgets import Card, button, dress_button, flow_box, label
from training.runs.folder import AT_WORK, RunFolder
from training.runs.records.manifest import BEST, LAST, CheckpointInfo

_EXPORT_BEST = "Write the best model to a file for use elsewhere"
_DELETE = "Move the selected checkpoint to the trash (Del); the newest one that is whole stays"
_EVALUATE = "Show what the selected checkpoint answers to each sample"
_EXPORT_CHOSEN = "Write the selected checkpoint's model to a file for use elsewhere"


class CheckpointPanel(Card):
    """A card with the tree and its buttons. The person's choice stays while the tree grows."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Checkpoints")
        self._context = context
        self._run_state = RunState.IDLE
        self._done_at: int | None = None  # the step at which the run completed
        self._picked = (
            ""  # the key of the row chosen by the person; until then the best one is selected, or else the last
        )
        self._selecting = False
        self.list = CheckpointList(context.background, self)
        self.model = CheckpointTree(self.list, context.library, context.background, self)
        self.view = CheckpointTreeView(self.model)
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
        self._reveal = button("Show in folder", "folder", tooltip="Show where the selected row lies on the disk")
        self.evaluate = button("Evaluate", "evaluate", tooltip=_EVALUATE)
        self.try_it = button("Try it", "eye", tooltip="Ask the selected checkpoint about new samples")
        self.delete = button("Delete", "trash", tooltip=_DELETE)
        self._buttons = (self.branch, self.evaluate, self.try_it, self.export, self._reveal, self.delete)
        self.add((self._list, 1), flow_box(*self._buttons))
        self.set_aside = SetAsideRows(context, self.model, self.view)
        self.view.selectionModel().selectionChanged.connect(self._on_selected)
        self.view.menu_asked.connect(self.open_menu)
        self.model.arranged.connect(self._on_arranged)
        self.export.clicked.connect(lambda: self._with_chosen(self._export_it))
        self.branch.clicked.connect(lambda: self._with_chosen(context.branch_from))
        self.evaluate.clicked.connect(lambda: self._with_chosen(partial(evaluate_checkpoint, context)))
        self.try_it.clicked.connect(lambda: self._with_chosen(self._try_it))
        self._reveal.clicked.connect(self._show_in_folder)
        self.delete.clicked.connect(lambda: self._with_chosen(self._delete))
        key = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.view)
        key.setContext(Qt.ShortcutContext.WidgetShortcut)
        key.activated.connect(self.delete.click)
        self.view.activated.connect(self._on_activated)
        context.library.restored.connect(self.refresh)
        context.start_problem_changed.connect(self._update_buttons)
        self._update_buttons()

    def set_run(self, folder: RunFolder | None, state: RunState, done_at: int | None = None) -> None:
        """Show the checkpoints of ``folder``; ``state`` decides what can be done with them, and so does ``done_at``, the
        step at which the run completed."""
        self._run_state, self._done_at = state, done_at
        if folder != self.list.folder:
            self.view.clearSelection()
            self._picked = ""
            self.model.forget()
        self.set_aside.set_run(folder, state)  # first: it finishes what a kill left half-way
        self.list.set_folder(folder)
        self.model.arrange()

    def set_state(self, state: RunState, done_at: int | None = None) -> None:
        """The run went on or ended."""
        self._run_state, self._done_at = state, done_at
        self.set_aside.set_state(state)
        self._update_buttons()

    def refresh(self) -> None:
        """Read the tree again, and what is set aside."""
        self.set_aside.refresh()
        self.list.refresh()
        self.model.refresh()

    def choose(self, name: str) -> None:
        """Select a checkpoint by its folder's name (a marker on the curve was clicked), as soon as the list is read."""
        index = self.model.find_checkpoint(name)
        if index.isValid():
            self.view.setCurrentIndex(index)
            self.view.setFocus()
        elif not self.list.loaded and self.list.folder is not None:
            self._picked = key_of(self.list.folder, name)

    def find_chosen(self) -> CheckpointInfo | None:
        """The selected checkpoint, of this run or of a branch."""
        row = self._find_row()
        return row if isinstance(row, CheckpointInfo) else None

    def _find_index(self) -> QModelIndex:
        indexes = self.view.selectionModel().selectedIndexes()
        return indexes[0] if indexes else QModelIndex()

    def _find_row(self) -> Row | None:
        row: Row | None = self._find_index().data(ROW_ROLE)
        return row

    def _find_run(self) -> RunFolder | None:
        """The run whose checkpoint is selected, or the branch that is."""
        run: RunFolder | None = self._find_index().data(RUN_ROLE)
        return run

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, Branch):
            self._context.open_run(row.folder.path, "checkpoints")
        elif isinstance(row, Stretch) and (buttons := self.set_aside.row_of(row)) is not None:
            buttons.restore.setFocus()

    @Slot(QPoint)
    def open_menu(self, place: QPoint) -> None:
        """What can be done with the selected row, at ``place`` of the screen."""
        menu = self.make_menu()
        if menu.actions():
            menu.popup(place)

    def make_menu(self) -> RowMenu:
        """What can be done with the selected row."""
        menu = RowMenu(self.view)
        row, run = self._find_row(), self._find_run()
        if isinstance(row, Stretch) and (buttons := self.set_aside.row_of(row)) is not None:
            menu.add_button(buttons.restore)
            menu.add_button(buttons.clear)
        if run is not None and run != self.list.folder:
            opened = menu.addAction(icon("train"), "Open this run")
            opened.triggered.connect(partial(self._context.open_run, run.path, "checkpoints"))
        if isinstance(row, CheckpointInfo):
            if run == self.list.folder and not self.resume.isHidden():
                menu.add_resume(self.resume, row, is_last=row == self._find_last())
            for made in self._buttons[:-1]:
                menu.add_button(made)
            menu.add_button(self.delete).setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        elif isinstance(row, Branch):
            menu.add_button(self._reveal)
        return menu

    @Slot()
    def _show_in_folder(self) -> None:
        row, run = self._find_row(), self._find_run()
        if run is not None:
            reveal(row.path if isinstance(row, CheckpointInfo) else run.path)

    def _delete(self, folder: RunFolder, info: CheckpointInfo) -> None:
        self.delete.setEnabled(False)
        self.view.setFocus()
        delete_checkpoint(self._context, folder, info, self.refresh)

    def _try_it(self, folder: RunFolder, info: CheckpointInfo) -> None:
        self._context.open_run(folder.path, "tryit")
        self._context.model_to_try.choose(info.path)

    def _export_it(self, folder: RunFolder, info: CheckpointInfo) -> None:
        export_checkpoint(self._context, self, folder, info, self.list if self._follows_best(info) else None)

    def _follows_best(self, info: CheckpointInfo) -> bool:
        """Whether it is selected for being the best one, and not by the person."""
        return not self._picked and BEST in info.labels

    def _with_chosen(self, act: Callable[[RunFolder, CheckpointInfo], object]) -> None:
        info, run = self.find_chosen(), self._find_run()
        if info is not None and run is not None:
            act(run, info)

    def _why_empty(self) -> str:
        """What stands in the place of the checkpoints."""
        folder = self.list.folder
        if folder is None:
            return ""
        if not self.list.loaded:
            return READING
        if self.list.problem:
            return self.list.problem
        if self._run_state not in LIVE:
            return describe_lack(folder)
        when = self.list.when_saved()
        return f"None yet. {when}, or when you press Save now." if when else "None yet. Press Save now to have one."

    @Slot()
    def _on_arranged(self) -> None:
        self._stack.setCurrentWidget(self.view if self.model.rowCount() else self._empty)
        if self.list.checkpoints:
            index = self.model.find_key(self._picked)
            if not index.isValid():  # nothing picked, or the picked one was pruned
                self._picked = ""
                index = self.model.find_checkpoint((self.list.find_labeled(BEST) or self._find_last()).name)
            if index != self._find_index():
                self._selecting = True
                self.view.setCurrentIndex(index)
                self._selecting = False
        self._update_buttons()

    @Slot(QItemSelection, QItemSelection)
    def _on_selected(self, selected: QItemSelection, _deselected: QItemSelection) -> None:
        if not selected.isEmpty() and not self._selecting and not self.model.replacing:
            self._picked = self._find_index().data(KEY_ROLE)
        self._update_buttons()

    @Slot()
    def _update_buttons(self) -> None:
        why_empty = self._why_empty()
        self._empty.setText(why_empty)
        self.model.set_note(why_empty)
        info, row, run = self.find_chosen(), self._find_row(), self._find_run()
        there, own = info is not None, run == self.list.folder
        last = self._find_last() if self.list.checkpoints else None
        self.resume.show_ways(self.list.folder, self._run_state, self._done_at, last, info if own else None)
        state = self._run_state if own else self._state_of(run)
        self.branch.setText(f"Branch from step {info.step:,}" if info else "Branch")
        self.branch.setEnabled(there and is_enabled(RunAction.BRANCH, state))
        self.export.setEnabled(there and is_enabled(RunAction.EXPORT, state))
        why_not = self.list.why_no_best
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
        self._reveal.setEnabled(there or isinstance(row, Branch))
        self.evaluate.setEnabled(there)
        self.delete.setEnabled(there and state in ENDED)
        self.delete.setToolTip(
            _DELETE if state in ENDED else "Stop the run first: while it trains it tidies up by itself"
        )

    def _state_of(self, run: RunFolder | None) -> RunState:
        """Roughly, of a branch: whether it is at work or not."""
        known = self._context.library.find(run.id) if run is not None else None
        return RunState.TRAINING if known is not None and known.status in AT_WORK else RunState.STOPPED

    def _find_last(self) -> CheckpointInfo:
        return self.list.find_labeled(LAST) or self.list.checkpoints[0]
