"""What a person says of runs: renamed, starred, tagged, archived, thrown away, some at once, each with its Undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtWidgets import QInputDialog, QWidget

from studio.actions.files import reveal
from studio.actions.runs import delete_run, throw_away_runs
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from training.errors import pluralize
from training.events import Finding
from training.runs.folder import AT_WORK, DAMAGED, RunFolder
from training.runs.records.about import About


def open_run(context: AppContext, run: RunSummary, tab: str = "charts", checkpoint: str = "") -> None:
    """Show a run on the Run page; of one that is damaged, say why it cannot be shown."""
    if run.status != DAMAGED:
        context.open_run(run.folder.path, tab, checkpoint)
        return
    context.notifier.notify(
        f"{run.record.reason} {run.record.advice}",
        "danger",
        title=f"“{run.name}” is damaged",
        action_text="Open folder",
        action=lambda: reveal(run.folder.path),
        subject=run.id,
    )


def rename_run(context: AppContext, run: RunSummary, name: str) -> None:
    """Call a run ``name``, by its configuration's name again where that is empty."""
    given = "" if name.strip() == run.record.name else name
    _say(
        context,
        [run],
        lambda about: replace(about, name=given),
        f"“{run.name}” is called “{name.strip() or run.record.name}” now",
    )


def star_runs(context: AppContext, runs: Sequence[RunSummary]) -> None:
    """Give all a star, or take it off where all have one; seen at once, and undone by the same click."""
    star = not all(run.about.star for run in runs)
    _say(context, runs, lambda about: replace(about, star=star), "")


def archive_runs(context: AppContext, runs: Sequence[RunSummary]) -> None:
    """Archive all, or have them listed again where all are archived."""
    archive = not all(run.about.archived for run in runs)
    what = "archived: hidden here, and kept as they are" if archive else "listed again"
    _say(context, runs, lambda about: replace(about, archived=archive), f"{_count(runs)} {what}")


def tag_runs(context: AppContext, runs: Sequence[RunSummary], tags: Sequence[str]) -> None:
    """Add tags to all."""
    _say(
        context,
        runs,
        lambda about: replace(about, tags=about.add_tags(tags)),
        f"{_count(runs)} tagged {', '.join(tags)}",
    )


def untag_runs(context: AppContext, runs: Sequence[RunSummary], tag: str) -> None:
    """Take a tag off all."""
    _say(
        context,
        runs,
        lambda about: replace(about, tags=about.drop_tags([tag])),
        f"The tag {tag} taken off {_count(runs)}",
    )


def set_tags(context: AppContext, run: RunSummary, tags: Sequence[str]) -> None:
    """Let the run have these tags and no others."""
    words = f"“{run.name}” is tagged {', '.join(tags)}" if tags else f"“{run.name}” has no tags any more"
    _say(context, [run], lambda about: replace(about, tags=tuple(tags)), words)


def write_notes(context: AppContext, run: RunSummary, notes: str) -> None:
    """Replace the notes of the run."""
    _say(context, [run], lambda about: replace(about, notes=notes), f"Notes of “{run.name}” saved")


def dismiss_finding(
    context: AppContext, folder: RunFolder, finding: Finding, *, on: bool, done: Callable[[], object]
) -> None:
    """Say that ``finding`` is no problem in the run, or is one after all; ``done`` once that is kept."""

    def change(about: About) -> About:
        others = tuple(key for key in about.dismissed if key != finding.key and (on or key != finding.code))
        return replace(about, dismissed=(*others, finding.key) if on else others)

    context.library.say(
        [folder],
        lambda _folder, about: change(about),
        lambda _before: done(),
        lambda error: context.notifier.notify(str(error), "danger", title="Not changed"),
    )


def ask_for_tags(context: AppContext, parent: QWidget, runs: Sequence[RunSummary]) -> None:
    """Ask which, commas between them, and add them."""
    text, wanted = QInputDialog.getText(parent, "Add tags", f"Tags for {_count(runs)}, with commas between them:")
    tags = [tag.strip() for tag in text.split(",") if tag.strip()]
    if wanted and tags:
        tag_runs(context, runs, tags)


def delete_runs(context: AppContext, runs: Sequence[RunSummary]) -> None:
    """Move runs into the trash, with one notice that brings them all back; those at work are left and said."""
    if len(runs) == 1:
        delete_run(context, runs[0].folder)
        return
    resting = [run for run in runs if run.status not in AT_WORK]
    if busy := len(runs) - len(resting):
        context.notifier.notify(f"{pluralize(busy, 'run')} still at work: stop them first.", "warning")
    throw_away_runs(context, {run.folder: run.name for run in resting})


def _count(runs: Sequence[RunSummary]) -> str:
    return f"“{runs[0].name}”" if len(runs) == 1 else pluralize(len(runs), "run")


def _say(context: AppContext, runs: Sequence[RunSummary], change: Callable[[About], About], told: str) -> None:
    """Change what is said of ``runs``; ``told`` stands in a notice with its Undo."""

    def fail(error: Exception) -> None:
        context.notifier.notify(str(error), "danger", title="Not changed")

    def tell(before: dict[RunFolder, About]) -> None:
        if told and before:
            context.notifier.notify(f"{told}.", action_text="Undo", action=lambda: undo(before))

    def undo(before: dict[RunFolder, About]) -> None:
        context.library.say(list(before), lambda folder, _about: before[folder], lambda _before: None, fail)

    context.library.say([run.folder for run in runs], lambda _folder, about: change(about), tell, fail)
