"""Apply: what a finding proposes is shown, then carried out on the run, from before it began."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import partial

from pydantic import JsonValue
from PySide6.QtWidgets import QDialog, QWidget

from studio.forms.messages import kinds_of, tell_change, with_titles
from studio.panels.sheet_view import SheetView
from studio.state.context import AppContext, name_branch
from studio.state.runs.way_on import START_OVER
from studio.theme import SPACING, Tone
from studio.widgets import STRETCH, Banner, button, hbox, label, scroll_area, vbox
from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import diff
from training.config.files import config_data, overrides_of
from training.errors import TrainingError
from training.events import Finding, FindingLevel
from training.runs.folder import RunFolder
from training.runs.fork import Fork, choose_fork
from training.runs.relocation import config_here
from training.runs.resume_plan import ResumePlan
from training.toml_text import Toml

logger = logging.getLogger(__name__)

OFFER = "Apply …"
APPLY = "Apply and resume"
BRANCH = "Apply in a branch"
APPLY_ANEW = "Apply and start"  # from the beginning
_WIDTH = 620
_TONES: dict[FindingLevel, Tone] = {"ok": "success", "info": "info", "warning": "warning", "error": "danger"}


class FixDialog(QDialog):
    """Shows what will happen with the run in ``folder``, for what began at step ``since``, None where that is not known. ``live``: it is being
    trained and has to be stopped first. ``fork`` is where it is left."""

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        fix: Mapping[str, JsonValue],
        live: bool,
        since: int | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        after = fix_config(config, fix)
        self.fork = choose_fork(folder, config, after, since)
        refused = bool(self.fork.plan and self.fork.plan.refused)
        action = _name_action(self.fork, live, since)
        self.setWindowTitle(action)
        self.apply = button(action, "play" if action == APPLY_ANEW else "resume", "primary", clicked=self.accept)
        self.apply.setEnabled(not refused)
        cancel = button("Cancel", clicked=self.reject)
        view = SheetView()
        shown = self.fork.plan or ResumePlan(False, (), tuple(diff(config, after)), (), ())
        view.show_sheet(shown, kinds_of(after))
        area = scroll_area(view, view.text())
        row = hbox(STRETCH, self.apply, cancel)
        where = _describe_way(self.fork, live, since)
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
    since: int | None = None,
) -> None:
    """Ask, then go on with the run in ``folder`` and the settings of ``fix``, from before step ``since``; if it is at work, it is stopped and
    kept first."""
    if folder is None or config is None:
        return
    shown = folder == context.live.folder
    try:
        dialog = FixDialog(folder, config, fix, shown and context.live.live, since, parent)
        fresh = fix_config(config_here(folder), fix)
    except (TrainingError, OSError) as error:
        context.notifier.notify(str(error), "danger", title="The proposed settings do not fit this run")
        return
    wanted, fork = dialog.exec() == QDialog.DialogCode.Accepted, dialog.fork
    dialog.deleteLater()
    if not wanted:
        return
    if not folder.path.is_dir():
        context.notifier.notify("The run is not there any more, so nothing was applied.", "warning")
        return
    if not shown and (problem := context.start_problem()):  # never stop another run for this one
        context.notifier.notify(problem, "warning")
        return
    overrides, checkpoint = overrides_of(fix), fork.checkpoint
    begin: Callable[[], object]
    if since is None or (fork.plan and fork.plan.same_run):
        begin = partial(context.resume, folder.path, overrides)
    elif checkpoint is not None:
        begin = partial(context.start_run, name_branch(fresh, checkpoint), checkpoint.path)
    else:
        begin = partial(context.start_run, fresh, from_start=True)
    context.change_run(folder.path, overrides, begin)


def make_banner(
    found: Finding,
    config: RunConfig | None,
    apply: Callable[[Mapping[str, JsonValue]], object],
    *,
    closable: bool = True,
) -> Banner:
    """What was found in a run of ``config``, with a button for what it proposes."""
    number = rf"\bstep ({found.step}|{found.step:,})\b"  # where a branch begins, or what was skipped, for example
    named = found.since is not None or re.search(number, found.title, re.IGNORECASE)
    title = f"{found.title.removesuffix('.')} (step {found.step:,})" if found.step and not named else found.title
    kind_of = None if config is None else kinds_of(config)
    proposal = describe_proposal(config, found.fix)
    text = "\n".join(part for part in (with_titles(found.advice, kind_of), proposal) if part)
    banner = Banner(_TONES[found.level], with_titles(title, kind_of), text, closable=closable)
    if proposal:
        banner.add_action(OFFER, lambda: apply(found.fix))
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


def _name_action(fork: Fork, live: bool, since: int | None) -> str:
    if fork.plan is None:
        return APPLY if live and since is None else APPLY_ANEW
    return APPLY if since is None or fork.plan.same_run else BRANCH


def _describe_way(fork: Fork, live: bool, since: int | None) -> str:
    """From where it goes on, in a sentence or two."""
    stop = "The run is stopped and a checkpoint saved first. " if live else ""
    if fork.checkpoint is None or fork.plan is None:
        if live and since is None:
            return f"{stop}Then it goes on with these settings."
        if since is None:
            return f"{START_OVER.kept} A new run begins from the start with these settings."
        return " ".join(
            (f"{stop}A new run begins from the start with these settings, because {fork.why}.", *fork.passed)
        )
    step = "the step where it stops" if live and (since is None or fork.plan.same_run) else fork.why
    if fork.plan.same_run:
        return f"{stop}The run itself goes on from {step}."
    if fork.plan.continues:
        return f"{stop}A new run, a branch, goes on from {step}."
    return f"{stop}A new run, a branch, begins with the weights of {step}."


def fix_config(config: RunConfig, fix: Mapping[str, JsonValue]) -> RunConfig:
    """``config`` with the settings of ``fix``; raises TrainingError when they do not fit it."""
    data: dict[str, Toml] = dict(config_data(config))
    apply_overrides(data, overrides_of(fix))
    return parse_config(data, "the proposed settings", paths=False)
