"""Samples put on an exclude list, with a way back, and a run or a branch that leaves them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.question import Answer, ask
from studio.state.context import AppContext
from studio.state.drafts.recipes import CLEANED
from studio.state.evaluations.excluding import choose_list, describe_rows, find_list, propose_list, put_on_list
from training.config.run import LONGEST_NAME
from training.errors import TrainingError, pluralize
from training.exclude_list import remove_from_list
from training.predictions import Evaluation
from training.runs.folder import RunFolder
from training.runs.relocation import config_here

SUBJECT = "exclude list"
_Result = TypeVar("_Result")


def exclude_rows(
    context: AppContext,
    parent: QWidget,
    evaluation: Evaluation,
    rows: list[int],
    after_undo: Callable[[], object] = lambda: None,
) -> bool:
    """Put the samples in ``rows`` of the evaluation on the run's exclude list; whether they are on it now. Where it lies is asked
    once. ``after_undo`` is called when they were taken off it again."""
    run = RunFolder(evaluation.folder.parent.parent)
    try:
        entries = describe_rows(evaluation, rows)
        path = find_list(run) or _ask_for_list(context, parent, run)
        if path is None:
            return False
        new = put_on_list(path, entries)
    except (TrainingError, OSError) as error:
        refuse_change(context, error)
        return False
    if not new:
        words = f"{'It is' if len(entries) == 1 else 'All are'} on {path.name} already."
        context.notifier.notify(words, "info", subject=SUBJECT)
        return True
    context.notifier.notify(
        f"{pluralize(len(new), 'sample')} put on the exclude list {path.name}. No file of the data was touched; runs that use this list leave them out.",
        "success",
        subject=SUBJECT,
        action_text="Undo",
        action=lambda: (take_off(context, path, new), after_undo()),
    )
    return True


def start_over_without(context: AppContext, run: RunFolder) -> None:
    """Train the configuration of ``run`` from step 0 with fresh weights and the run's exclude list."""
    path = _require_list(context, run)
    if path is None:
        return
    if problem := context.start_problem():
        context.notifier.notify(problem, "warning", subject=SUBJECT)
        return
    try:
        config = config_here(run)
    except TrainingError as error:
        context.notifier.notify(str(error), "danger", subject=SUBJECT)
        return
    stem = config.name.removesuffix(CLEANED)
    context.cancel_branch()
    context.draft.set_config(config.model_copy(update={"name": stem[: LONGEST_NAME - len(CLEANED)] + CLEANED}))
    context.draft.set("dataset.exclude", str(path))
    context.draft.finish_edit()
    context.start_draft()


def branch_without(context: AppContext) -> None:
    """Prepare a branch of the checkpoint that is looked at, with the run's exclude list; it waits for Start."""
    choice = context.evaluation
    if choice.folder is None or choice.checkpoint is None:
        words = "The checkpoint of this step is not there any more; choose another step."
        context.notifier.notify(words, "warning", subject=SUBJECT)
        return
    path = _require_list(context, choice.folder)
    if path is None:
        return
    context.branch_from(choice.folder, choice.checkpoint)
    if context.branch is None or context.branch.folder != choice.folder:
        return  # the run cannot be read, which was said
    context.draft.set("dataset.exclude", str(path))
    context.draft.finish_edit()
    words = f"This branch leaves out what {path.name} lists. Press Start branch to train it."
    context.notifier.notify(words, "info", subject=SUBJECT)


def _require_list(context: AppContext, run: RunFolder) -> Path | None:
    path = find_list(run)
    if path is None:
        words = "No samples are excluded yet: put some on the exclude list first."
        context.notifier.notify(words, "warning", subject=SUBJECT)
    return path


def _ask_for_list(context: AppContext, parent: QWidget, run: RunFolder) -> Path | None:
    """None where the person turned away."""
    proposed = propose_list(run, context.workspace)
    path = ask_where(parent, proposed, "new runs from this one can", "This is asked once for each run.")
    if path is not None:
        choose_list(run, path)
    return path


def ask_where(parent: QWidget, proposed: Path, who: str, then: str) -> Path | None:
    """Let the person say where the list is to lie: ``who`` ("runs", with the verb) leaves out what it names, and ``then`` tells what
    the answer means later. None where the person turned away."""
    here = "Add to that list" if proposed.is_file() else "Put it there"
    text = f"A text file with one line for each sample that {who} leave out. Proposed: {proposed}\n\n{then}"
    answers = [Answer("here", here, "primary"), Answer("other", "Choose another place …")]
    answer = ask(parent.window(), "Where should the exclude list be?", text, answers)
    if answer == "other":
        chosen, _ = QFileDialog.getSaveFileName(
            parent, "Exclude list", str(proposed), "Text (*.txt)", options=QFileDialog.Option.DontConfirmOverwrite
        )
        return Path(chosen) if chosen else None
    return proposed if answer == "here" else None


def take_off(context: AppContext, path: Path, entries: Mapping[str, str]) -> bool:
    """Take off again what was put on the list, and say so; whether that could be done."""
    count = change_list(context, lambda: remove_from_list(path, entries))
    if count is None:
        return False
    words = f"{pluralize(count, 'sample')} taken off {path.name} again."
    context.notifier.notify(words, "info", subject=SUBJECT)
    return True


def change_list(context: AppContext, change: Callable[[], _Result]) -> _Result | None:
    """What ``change``, which writes a list, returns; None where it could not, which is said."""
    try:
        return change()
    except (TrainingError, OSError) as error:
        refuse_change(context, error)
        return None


def refuse_change(context: AppContext, why: object) -> None:
    """Say why a list was not changed."""
    context.notifier.notify(str(why), "danger", title="The exclude list was not changed", subject=SUBJECT)
