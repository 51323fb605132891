"""What can be done with a whole run."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget

from studio.engine.state import RunAction, is_enabled
from studio.state.context import AppContext
from studio.state.run_library import RunSummary
from training.control import Command


def pause_or_continue(context: AppContext) -> None:
    """Pause a run that works, let a paused one go on."""
    paused = is_enabled(RunAction.CONTINUE, context.live.state)
    context.live.ask(Command.CONTINUE if paused else Command.PAUSE)


def delete_run(context: AppContext, parent: QWidget, run: RunSummary) -> bool:
    """Ask, then remove the run with all its checkpoints; returns whether it was wanted."""
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Warning)
    box.setWindowTitle("Delete run")
    box.setText(f"Delete the run “{run.record.get('name', run.id)}”?")
    box.setInformativeText(f"Its folder with all checkpoints and curves is removed for good:\n{run.folder.path}")
    delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.exec()
    if box.clickedButton() is not delete:
        return False
    if context.live.folder is not None and context.live.folder.path == run.folder.path:
        if context.live.live:
            context.notifier.notify("This run is being trained. Stop it first.", "warning")
            return False
        context.live.detach()
    context.library.delete(run, failed=lambda error: context.notifier.notify(str(error), "danger", title="Not deleted"))
    return True
