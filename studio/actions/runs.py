"""What can be done with a whole run, and with steps that it went back behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer, ask
from studio.engine.state import RunAction, is_enabled
from studio.state.context import AppContext
from studio.state.runs.set_aside import Stretch, steps_between
from training.control import Command
from training.errors import InputError, format_bytes, pluralize
from training.runs.folder import RunFolder
from training.runs.records.about import name_of, read_about
from training.runs.records.manifest import CheckpointInfo
from training.runs.rewind import Beyond, SetAside, look_beyond, restore, throw_away


def pause_or_continue(context: AppContext) -> None:
    """Pause a run that works, let a paused one go on."""
    paused = is_enabled(RunAction.CONTINUE, context.shown.at_hand.state)
    context.shown.at_hand.ask(Command.CONTINUE if paused else Command.PAUSE)


def delete_run(context: AppContext, folder: RunFolder) -> bool:
    """Move the run into the trash, with a notice that brings it back; returns whether it could be tried."""
    if context.shown.is_at_work(folder):
        context.notifier.notify("This run is being trained. Stop it first.", "warning")
        return False
    throw_away_runs(context, {folder: name_of(folder.status(), read_about(folder))})
    return True


def throw_away_runs(context: AppContext, names: Mapping[RunFolder, str]) -> None:
    """Move runs, which are called ``names``, into the trash, with one notice that brings all of them back."""
    waiting, trashed = set(names), dict[RunFolder, RunFolder]()

    def settle(folder: RunFolder) -> None:
        waiting.remove(folder)
        if trashed and not waiting:
            what = f"{pluralize(len(trashed), 'run')} are" if len(trashed) > 1 else f"“{names[next(iter(trashed))]}” is"
            tell_of_trash(context, what, list(trashed.values()))

    def move(folder: RunFolder) -> None:
        def keep(place: RunFolder) -> None:
            trashed[folder] = place
            settle(folder)

        def fail(error: Exception) -> None:
            complain_of_trash(context, error)
            settle(folder)

        context.shown.let_go(folder)
        if context.evaluation.folder == folder:
            context.evaluation.choose_run(None)
        context.library.throw_away(folder, keep, fail)

    for folder in names:
        move(folder)


def tell_of_trash(context: AppContext, what: str, trashed: Sequence[RunFolder]) -> None:
    """``what`` (with its verb) is in the trash: a notice that brings it back."""
    they, take, their = ("They", "take", "their") if len(trashed) > 1 else ("It", "takes", "its")
    context.notifier.notify(
        f"{they} {take} {their} room on the disk until the trash is emptied.",
        title=f"{what} in the trash",
        action_text="Undo",
        action=lambda: bring_back(context, trashed),
        subject=f"trash {trashed[0].id}",
    )


def bring_back(context: AppContext, trashed: Sequence[RunFolder]) -> None:
    """Take runs, or parts of runs, back out of the trash."""
    for each in trashed:
        context.library.restore(each, lambda error: complain_of_trash(context, error))


def complain_of_trash(context: AppContext, error: Exception) -> None:
    """Something could not be moved into the trash, or out of it."""
    context.notifier.notify(str(error), "danger", title="The trash was not changed")


BRANCH = "Continue in a branch (keeps everything)"
HERE = "Continue in this run"


def resume_from(context: AppContext, parent: QWidget, folder: RunFolder, checkpoint: CheckpointInfo) -> None:
    """Go on from ``checkpoint``: at once where nothing was trained beyond it; else the person says what becomes of that."""
    try:
        beyond = look_beyond(folder, checkpoint.path)
    except (InputError, OSError) as error:
        context.notifier.notify(str(error), "danger")
        return
    answer = "here" if beyond is None else _ask_where(parent, beyond)
    if answer == "here":
        context.resume(checkpoint.path)
    elif answer == "branch":
        context.branch_at_once(folder, checkpoint)


def _ask_where(parent: QWidget, beyond: Beyond) -> str:
    steps = steps_between(beyond.step, beyond.reached)
    are = "is" if beyond.reached == beyond.step + 1 else "are"
    text = (
        f"A branch is a new run that begins at step {beyond.step:,}; this run stays as it is.\n\n"
        f"In this run, {steps} {are} set aside: {pluralize(beyond.checkpoints, 'checkpoint')}, "
        f"{format_bytes(beyond.size)}. Their curve stays in view, faded, and Restore brings all of it back.\n\n"
        "Either trains the same steps again unless settings change: to change some first, cancel and press Branch."
    )
    answers = [Answer("branch", BRANCH, "primary"), Answer("here", HERE)]
    return ask(parent, f"Go back to step {beyond.step:,} of {beyond.reached:,}?", text, answers)


def restore_stretch(context: AppContext, folder: RunFolder, stretch: Stretch, done: Callable[[], object]) -> None:
    """Bring ``stretch`` back in the place of what the run trained since, which is set aside then; it can be undone."""

    def tell(newer: SetAside | None) -> None:
        since = f" {steps_between(newer.step, newer.reached).capitalize()} set aside in their place." if newer else ""
        context.notifier.notify(f"{stretch.steps.capitalize()} brought back.{since}", "success")
        _follow(context, folder, done)

    context.background.submit(
        lambda: restore(folder, stretch.aside), tell, lambda error: _refuse(context, error, "Not restored", done)
    )


def clear_stretch(context: AppContext, folder: RunFolder, stretch: Stretch, done: Callable[[], object]) -> None:
    """Move ``stretch`` into the trash, with a notice that brings it back; the run itself stays as it is."""

    def tell(trashed: RunFolder) -> None:
        are = "are" if stretch.aside.reached > stretch.aside.step + 1 else "is"
        tell_of_trash(context, f"{stretch.steps.capitalize()} {are}", [trashed])
        context.library.refresh()
        done()

    context.background.submit(
        lambda: throw_away(folder, stretch.aside), tell, lambda error: _refuse(context, error, "Not cleared away", done)
    )


def _follow(context: AppContext, folder: RunFolder, done: Callable[[], object]) -> None:
    """Show the run as it is now, wherever it is shown."""
    context.shown.refresh(folder)
    context.library.refresh()
    done()


def _refuse(context: AppContext, error: Exception, title: str, done: Callable[[], object]) -> None:
    context.notifier.notify(str(error), "danger", title=title)
    done()
