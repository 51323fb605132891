"""Apply and resume: what a finding proposes is shown, then carried out on the run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from studio.panels.sheet_view import SheetView
from studio.state.context import AppContext
from studio.state.fixes import changes, fixed
from studio.state.way_on import START_OVER
from studio.theme import SPACING
from studio.widgets import button, label, scroll_area
from training.config import RunConfig
from training.config.files import overrides_of
from training.config.sheet import Sheet, plan_sheet
from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.runs.manifest import list_checkpoints, read_manifest

logger = logging.getLogger(__name__)

APPLY = "Apply and resume"
APPLY_ANEW = "Apply and start"  # without a checkpoint there is nothing to go on from
_WIDTH = 620


class FixDialog(QDialog):
    """Shows what will happen with the run in ``folder``. ``live``: it is being trained and has to be stopped first."""

    def __init__(
        self, folder: RunFolder, config: RunConfig, fix: Mapping[str, Any], live: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        after = fixed(config, fix)
        sheet, where = _sheet(folder, config, after, live)
        action = APPLY if sheet or live else APPLY_ANEW
        self.setWindowTitle(action)
        self.apply = button(action, "resume" if action == APPLY else "play", "primary")
        self.apply.clicked.connect(self.accept)
        self.apply.setEnabled(not (sheet and sheet.refused))
        cancel = button("Cancel")
        cancel.clicked.connect(self.reject)
        view = SheetView()
        shown = sheet or Sheet(False, (), tuple(changes(config, fix)), (), ())
        view.show_sheet(shown)
        area = scroll_area(view)
        area.setAccessibleName(view.text())
        row = QHBoxLayout()
        row.setSpacing(SPACING.s)
        row.addStretch(1)
        row.addWidget(self.apply)
        row.addWidget(cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l)
        column.setSpacing(SPACING.m)
        column.addWidget(label(f"Apply the proposed settings to “{config.name}”?", "section", wrap=True))
        column.addWidget(label(where, wrap=True))
        column.addWidget(area, 1)
        column.addLayout(row)
        room = view.heightForWidth(_WIDTH - 2 * SPACING.xl - 20)
        self.resize(_WIDTH, min(180 + max(room, 40), 560))


def apply_fix(
    context: AppContext, parent: QWidget, fix: Mapping[str, Any], folder: RunFolder | None, config: RunConfig | None
) -> None:
    """Ask, then go on with the run in ``folder`` and the settings of ``fix``; if it is at work, it is stopped and kept
    first."""
    if folder is None or config is None:
        return
    shown = folder == context.live.folder
    try:
        dialog = FixDialog(folder, config, fix, shown and context.live.live, parent)
    except TrainingError as error:
        context.notifier.notify(str(error), "danger", title="The proposed settings do not fit this run")
        return
    wanted = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    if wanted:
        resume = context.resume_changed if shown else context.resume  # never stop another run for this one
        resume(folder.path, overrides_of(fix))


def proposed_changes(config: RunConfig | None, fix: Mapping[str, Any]) -> str:
    """What ``fix`` would change, in a line for the person; "" when that is nothing, or does not fit the run."""
    if config is None or not fix:
        return ""
    try:
        found = changes(config, fix)
    except TrainingError as error:
        logger.warning("The settings %s were proposed, but do not fit: %s", dict(fix), error)
        return ""
    return f"Proposed: {'; '.join(str(change) for change in found)}" if found else ""


def _sheet(folder: RunFolder, before: RunConfig, after: RunConfig, live: bool) -> tuple[Sheet | None, str]:
    """What will be taken over, and from where, in a sentence."""
    checkpoints = list_checkpoints(folder)
    if not checkpoints and not live:
        return None, f"{START_OVER.kept} A new run begins from the start with these settings."
    stop = "The run is stopped and kept first. " if live else ""
    if not checkpoints:
        return None, f"{stop}Then it goes on with these settings."
    sheet = plan_sheet(before, after, read_manifest(checkpoints[0].path))
    step = "the step where it stops" if live else f"step {checkpoints[0].step:,}, its newest checkpoint"
    if sheet.same_run:
        return sheet, f"{stop}The run itself goes on from {step}."
    if sheet.continues:
        return sheet, f"{stop}A new run, a branch, goes on from {step}."
    return sheet, f"{stop}A new run, a branch, begins with the weights of {step}."
