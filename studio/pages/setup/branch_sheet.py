"""Says that the next run starts from a checkpoint, what it takes over from there, and what it does not."""

from __future__ import annotations

import logging

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.forms.messages import KindOf, tell_change, with_titles
from studio.panels.sheet_view import SheetView
from studio.state.context import AppContext, BranchSource
from studio.theme import SPACING, icon
from studio.widgets import Card, button, label, scroll_area, vbox
from training.config import RunConfig
from training.config.diff import telling
from training.config.sections.objective import Distillation
from training.runs.records.teachers import teacher_since
from training.runs.resume_plan import ResumePlan, plan_branch

logger = logging.getLogger(__name__)

_MOST_HEIGHT = 230
_LEAST_HEIGHT = 64
_ROOMY = 700  # a page as high as this has room for the whole sheet from the start
_MOST_CHANGES = 3


class BranchSheet(QWidget):
    """Follows the draft; hidden while the next run starts from the beginning.

    Signals:
        changed(): another sheet is shown, or none.
    """

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._sheet: ResumePlan | None = None
        self._asked: object = None  # of which branch and teacher it was asked what became of the teacher's files
        self._teacher = ""  # the answer
        self._roomy = False  # whether the page has room for the whole sheet
        self._chosen: bool | None = None  # whether the person wants it unfolded; None: where there is room
        self.card = Card("Branch", "branch")
        self.summary = label("", wrap=True)
        self.view = SheetView()
        self._area = scroll_area(self.view, "What the branch restores, changes and ignores")
        self.more = button("Show summary", "chevron-down", "ghost", tooltip="What is restored, changed and ignored")
        self.more.clicked.connect(lambda: self._choose(not self._is_unfolded))
        cancel = button("Cancel", tooltip="Start from the beginning instead")
        cancel.clicked.connect(context.cancel_branch)
        self.card.add_action(self.more, cancel)
        self.card.add(self.summary, self._area)
        self._show_area()
        vbox(self.card, parent=self, margins=(SPACING.l, SPACING.m, SPACING.l, 0))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        context.branch_changed.connect(self._update)
        context.draft.changed.connect(self._update)
        context.draft.looked_again.connect(self._ask_about_teacher)
        self._update()

    def refusal(self) -> str:
        """Why this branch cannot be started; "" when it can."""
        return "This branch cannot start; the reason stands above." if self._sheet and self._sheet.refused else ""

    def _update(self) -> None:
        branch = self._context.branch
        self.setVisible(branch is not None)
        before, self._sheet = self._sheet, self._sheet_of(branch) if branch else None
        if branch is not None:
            self.card.set_title(f"Branching from {branch.config.name}, step {branch.checkpoint.step:,}")
        if branch is not None and self._sheet is not None and self._sheet != before:
            self.summary.setText(_summary(self._sheet, branch.checkpoint.step, self._context.draft.kind))
            self.view.show_sheet(self._sheet, self._context.draft.kind)
            self._show_area()
            self.card.setAccessibleDescription(self.view.text())
            QTimer.singleShot(0, self, self._fit_height)  # rows are laid out by then
        if self._sheet != before:
            self.changed.emit()

    def _sheet_of(self, branch: BranchSource) -> ResumePlan | None:
        config = self._context.draft.usable_config()
        if config is None:
            return self._sheet
        self._look_at_teacher(branch, config)
        return plan_branch(branch.config, config, branch.manifest, teacher=self._teacher)

    def _look_at_teacher(self, branch: BranchSource, config: RunConfig) -> None:
        """Ask whether its files were changed in place, unless that was asked of this teacher."""
        asked = (branch, _teacher_of(config))
        if asked != self._asked:
            self._asked, self._teacher = asked, ""
            self._ask_about_teacher()

    def _ask_about_teacher(self) -> None:
        asked, branch, config = self._asked, self._context.branch, self._context.draft.usable_config()
        if branch is not None and config is not None and _teacher_of(config):
            self._context.background.submit(
                lambda: teacher_since(branch.manifest, config),
                lambda became: self._on_looked_at_teacher(asked, became),
                lambda error: logger.warning("Nothing can be told of the teacher: %s", error),
            )

    def _on_looked_at_teacher(self, asked: object, became: str) -> None:
        if asked == self._asked and became != self._teacher:
            self._teacher = became
            self._update()

    def make_room(self) -> None:
        """Something else has to be seen on this page: fold, unless there is room for both."""
        if not self._roomy:
            self._choose(None)

    def follow_page(self) -> None:
        """The page has another size. What was unfolded on a large one would hide a small one."""
        page = self.parentWidget()
        roomy = page is not None and page.height() >= _ROOMY
        if roomy != self._roomy:
            self._roomy = roomy
            self._choose(None if self._chosen else self._chosen)
        self._fit_height()

    @property
    def _is_unfolded(self) -> bool:
        return self._roomy if self._chosen is None else self._chosen

    def _choose(self, unfolded: bool | None) -> None:
        self._chosen = unfolded
        self._show_area()

    def _show_area(self) -> None:
        """A refusal is told whole in the summary: there is nothing to unfold."""
        refused = self._sheet is not None and bool(self._sheet.refused)
        self.more.setText("Hide summary" if self._is_unfolded else "Show summary")
        self.more.setIcon(icon("chevron-up" if self._is_unfolded else "chevron-down"))
        self.more.setVisible(not refused)
        self._area.setVisible(self._is_unfolded and not refused)
        self._fit_height()

    def _fit_height(self) -> None:
        """As high as the lines at this width, within reason and as far as the page has room; then they scroll."""
        width = max(self.card.width() - 4 * SPACING.l, 320)
        wanted = min(max(self.view.heightForWidth(width), 24) + 4, _MOST_HEIGHT)
        page = self.parentWidget()
        column = page.layout() if page is not None else None
        if page is not None and column is not None and self._area.isVisible():
            inner = self._area.parentWidget()
            while inner is not None and inner is not page:  # forgets what was measured at the former height
                inner.updateGeometry()
                inner = inner.parentWidget()
            needed = column.minimumHeightForWidth(page.width()) - self._area.minimumHeight()
            wanted = max(min(wanted, page.height() - needed), _LEAST_HEIGHT)  # or the card would cut its last lines off
        self._area.setFixedHeight(wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_height()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.follow_page()


def _teacher_of(config: RunConfig) -> tuple[str | None, ...]:
    """The settings that name a teacher's files; empty of a run that has none."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return ()
    return objective.teacher, objective.teacher_weights, objective.teacher_trusted


def _summary(sheet: ResumePlan, step: int, kind_of: KindOf) -> str:
    """The sheet in a sentence or two."""
    if sheet.refused:
        return f"This cannot be done: {with_titles(sheet.refused, kind_of)}."
    begin = (
        f"Continues from step {step:,}" if sheet.continues else f"Starts at step 0 with the weights of step {step:,}"
    )
    if not sheet.changed:
        return f"{begin}. No setting is changed yet."
    changes = telling(sheet.changed)
    more = f" and {len(changes) - _MOST_CHANGES} more" if len(changes) > _MOST_CHANGES else ""
    return f"{begin}. Changed: {'; '.join(tell_change(change, kind_of) for change in changes[:_MOST_CHANGES])}{more}."
