"""What can be done with a whole run."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer, ask
from studio.engine.state import RunAction, is_enabled
from studio.state.context import AppContext
from studio.state.way_on import START_OVER, way_on
from training.control import Command
from training.runs.folder import RunFolder


def pause_or_continue(context: AppContext) -> None:
    """Pause a run that works, let a paused one go on."""
    paused = is_enabled(RunAction.CONTINUE, context.live.state)
    context.live.ask(Command.CONTINUE if paused else Command.PAUSE)


def delete_run(context: AppContext, parent: QWidget, folder: RunFolder) -> bool:
    """Ask, then remove the run with all its checkpoints; returns whether it was wanted."""
    way = way_on(folder)
    held = f"{way.kept} Its folder" if way is START_OVER else "Its folder with all checkpoints and curves"
    answer = ask(
        parent,
        f"Delete the run “{folder.status().get('name') or folder.id}”?",
        f"{held} is removed for good:\n{folder.path}",
        (Answer("delete", "Delete", "danger"),),
    )
    if not answer:
        return False
    if context.live.folder is not None and context.live.folder.path == folder.path:
        if context.live.live:
            context.notifier.notify("This run is being trained. Stop it first.", "warning")
            return False
        context.live.detach()
    context.library.delete(
        folder, failed=lambda error: context.notifier.notify(str(error), "danger", title="Not deleted")
    )
    return True
