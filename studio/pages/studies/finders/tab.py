"""The Studies tab: the studies of the workspace beside the one that is looked at."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedLayout, QWidget

from studio.pages.studies.finders.detail import StudyDetail
from studio.pages.studies.finders.new_study import NewStudyDialog
from studio.pages.studies.finders.study_rows import StudyRows
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import EmptyState, button, hbox, in_widget, label, vbox
from training.studies.folder import StudyFolder
from training.studies.records import Kind

_LOOK = 2000  # milliseconds between two looks while the tab is seen and a study works
_LEAST_LIST, _MOST_LIST, _SHARE = 250, 330, 0.3  # pixels, and the share of the width, before a person moves the handle
_READING = ("Reading the studies …", "Every study of this workspace, with what came of it.")
_NOTHING = (
    "No studies yet",
    "A study trains a few short runs, or measures, and proposes a setting: the learning rate, the batch size, what makes it faster.",
)
NEW = "New study …"
_WRONG = "Some settings in Setup are wrong. Mend them first: a study is of what Setup holds."
_USUAL: Kind = "lr-range"


class StudiesTab(QWidget):
    """Look, begin, stop, go on, adopt."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._studies = context, context.studies
        self.dialog: NewStudyDialog | None = None
        self.rows = StudyRows()
        self.detail = StudyDetail(context)
        self.new = button(NEW, "plus", "primary", clicked=lambda: self.open_new(""))
        self.reason = label("", "help", wrap=True)
        self.empty = EmptyState("studies", *_READING)
        self._timer = QTimer(self, interval=_LOOK)
        self._is_moved = False  # the handle, by the person
        self._lay_out()
        self.rows.chosen.connect(self._show_chosen)
        self.empty.action_triggered.connect(lambda: self.open_new(""))
        self.detail.removed.connect(lambda _study: self.setFocus())
        self._studies.new_asked.connect(self.open_new)
        self._studies.list.changed.connect(self._show)
        self._studies.job.changed.connect(self._on_work)
        self._studies.busy_changed.connect(self._update)
        context.start_problem_changed.connect(self._update)
        context.draft.problems_changed.connect(self._update)
        self._timer.timeout.connect(self._look)
        self._show()

    def _lay_out(self) -> None:
        side = in_widget(
            vbox(
                hbox((self.new, 1)),
                self.reason,
                (self.rows, 1),
                spacing=SPACING.s,
                margins=(SPACING.l, SPACING.l, 0, SPACING.l),
            )
        )
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setHandleWidth(SPACING.s)
        for part in (side, self.detail):
            self._split.addWidget(part)
        self._split.setChildrenCollapsible(False)
        self._split.setStretchFactor(1, 1)
        self._split.splitterMoved.connect(self._on_moved)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._split)

    # ------------------------------------------------------------------------------------------- showing

    @Slot()
    def _show(self) -> None:
        studies = self._studies.list
        if studies.problem:
            self.empty.set_content("warning", "The studies cannot be listed", studies.problem)
        elif studies.loaded:
            self.empty.set_content("studies", *_NOTHING, NEW, "plus")
        self._stack.setCurrentWidget(self._split if studies.studies else self.empty)
        self.rows.show_studies(studies.studies)
        self._show_chosen()
        self._update()

    @Slot()
    def _show_chosen(self) -> None:
        chosen = self.rows.current()
        if chosen is not None:
            self.detail.show_study(chosen)

    @Slot()
    def _update(self) -> None:
        """Whether a study of the draft can be asked for now."""
        wrong = "" if self._context.draft.config() is not None else _WRONG
        self.new.setEnabled(not wrong)
        self.new.setToolTip(wrong or "Of what Setup holds now")
        self.empty.button.setEnabled(not wrong)
        self.empty.button.setToolTip(wrong)
        self.reason.setText(wrong)
        self.reason.setVisible(bool(wrong))
        self._show_chosen()

    @Slot()
    def _on_work(self) -> None:
        if self.isVisible():
            self.detail.follow()
            self._studies.list.refresh()
            self.detail.refresh()

    @Slot()
    def _look(self) -> None:
        if any(study.state == "working" for study in self._studies.list.studies) and not self._studies.job.is_busy:
            self._studies.list.refresh()

    # -------------------------------------------------------------------------------------------- acting

    @Slot(str)
    def open_new(self, kind: str) -> None:
        """Ask for a new study, of ``kind`` where one is wanted."""
        config = self._context.draft.config()
        if config is None:
            self._context.notifier.notify(_WRONG, "warning")
            return
        if self.dialog is not None:
            self.dialog.raise_()
            return
        wanted: Kind = kind or _USUAL  # type: ignore[assignment]
        self.dialog = dialog = NewStudyDialog(self._context, config, wanted, self.window())
        dialog.begun.connect(self._on_begun)
        dialog.finished.connect(self._forget_dialog)
        dialog.open()

    @Slot(object)
    def _on_begun(self, study: StudyFolder) -> None:
        self.rows.choose(study.id)
        self._studies.list.refresh()

    @Slot()
    def _forget_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    @Slot()
    def _on_moved(self) -> None:
        self._is_moved = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._is_moved:
            width = self.width()
            side = min(max(round(width * _SHARE), _LEAST_LIST), _MOST_LIST)
            self._split.setSizes([side, max(width - side, 1)])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._studies.list.refresh()
        self.detail.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
