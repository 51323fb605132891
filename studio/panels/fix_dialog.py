"""Apply and resume: what a finding proposes is shown, then carried out on the run."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue
from PySide6.QtWidgets import QDialog, QWidget

from studio.forms.messages import tell_change
from studio.panels.sheet_view import SheetView, kinds_of
from studio.state.context import AppContext
from studio.state.runs.way_on import START_OVER
from studio.theme import SPACING, Tone
from studio.widgets import STRETCH, Banner, button, hbox, label, scroll_area, vbox
from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import diff
from training.config.files import config_data, overrides_of
from training.errors import TrainingError
from training.events import Finding, FindingLevel
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.resume_plan import ResumePlan, make_plan
from training.toml_text import Toml

logger = logging.getLogger(__name__)

APPLY = "Apply and resume"
APPLY_ANEW = "Apply and start"  # without a checkpoint there is nothing to go on from
_WIDTH = 620
_TONES: dict[FindingLevel, Tone] = {"ok": "success", "info": "info", "warning": "warning", "error": "danger"}


class FixDialog(QDialog):
    """Shows what will happen with the run in ``folder``. ``live``: it is being trained and has to be stopped first."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        fix: Mapping[str, JsonValue],
        live: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        after = fix_config(config, fix)
        sheet, where = _sheet(folder, config, after, live)
        refused = bool(sheet and sheet.refused)
        action = APPLY if sheet or live else APPLY_ANEW
        self.setWindowTitle(action)
        self.apply = button(action, "resume" if action == APPLY else "play", "primary", clicked=self.accept)
        self.apply.setEnabled(not refused)
        cancel = button("Cancel", clicked=self.reject)
        view = SheetView()
        shown = sheet or ResumePlan(False, (), tuple(diff(config, after)), (), ())
        view.show_sheet(shown, kinds_of(after))
        area = scroll_area(view)
        area.setAccessibleName(view.text())
        row = hbox(STRETCH, self.apply, cancel)
        vbox(
            label(f"Apply the proposed settings to “{config.name}”?", "section", wrap=True),
            label("They cannot be applied to this run." if refused else where, wrap=True),
            (area, 1),
            row,
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l),
        )
        room = view.heightForWidth(_WIDTH - 2 * SPACING.xl - 20)
        self.resize(_WIDTH, min(180 + max(room, 40), 560))


def apply_fix(
    context: AppContext,
    parent: QWidget,
    fix: Mapping[str, JsonValue],
    folder: RunFolder | None,
    config: RunConfig | None,
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


def make_banner(
    found: Finding,
    config: RunConfig | None,
    apply: Callable[[Mapping[str, JsonValue]], object],
    *,
    closable: bool = True,
) -> Banner:
    """What was found in a run of ``config``, with a button for what it proposes."""
    named = re.search(rf"\bstep {found.step}\b", found.title)  # where a branch begins, for example
    title = f"{found.title.removesuffix('.')} (step {found.step:,})" if found.step and not named else found.title
    proposal = describe_proposal(config, found.fix)
    text = "\n".join(part for part in (found.advice, proposal) if part)
    banner = Banner(_TONES[found.level], title, text, closable=closable)
    if proposal:
        banner.add_action(APPLY, lambda: apply(found.fix))
    return banner


def describe_proposal(config: RunConfig | None, fix: Mapping[str, JsonValue]) -> str:
    """What ``fix`` would change, in a line for the person; "" when that is nothing, or does not fit the run."""
    if config is None or not fix:
        return ""
    try:
        after = fix_config(config, fix)
    except TrainingError as error:
        logger.warning("The settings %s were proposed, but do not fit: %s", dict(fix), error)
        return ""
    found, kind_of = diff(config, after), kinds_of(after)
    return f"Proposed: {'; '.join(tell_change(change, kind_of) for change in found)}" if found else ""


def _sheet(folder: RunFolder, before: RunConfig, after: RunConfig, live: bool) -> tuple[ResumePlan | None, str]:
    """What will be taken over, and from where, in a sentence."""
    checkpoints = list_checkpoints(folder)
    if not checkpoints and not live:
        return None, f"{START_OVER.kept} A new run begins from the start with these settings."
    stop = "The run is stopped and a checkpoint saved first. " if live else ""
    if not checkpoints:
        return None, f"{stop}Then it goes on with these settings."
    sheet = make_plan(before, after, read_manifest(checkpoints[0].path))
    step = "the step where it stops" if live else f"step {checkpoints[0].step:,}, its newest checkpoint"
    if sheet.same_run:
        return sheet, f"{stop}The run itself goes on from {step}."
    if sheet.continues:
        return sheet, f"{stop}A new run, a branch, goes on from {step}."
    return sheet, f"{stop}A new run, a branch, begins with the weights of {step}."


def fix_config(config: RunConfig, fix: Mapping[str, JsonValue]) -> RunConfig:
    """``config`` with the settings of ``fix``; raises TrainingError when they do not fit it."""
    data: dict[str, Toml] = dict(config_data(config))
    apply_overrides(data, overrides_of(fix))
    return parse_config(data, "the proposed settings", paths=False)
