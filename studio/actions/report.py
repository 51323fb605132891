"""The report of a run, written beside the window: its images are read as training reads them."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.actions.saving import SavingNotice, ask_for_place
from studio.engine.side_command import Answer, SideCommand
from studio.state.context import AppContext
from training.runs.folder import RunFolder

TITLE = "Save report as …"


def ask_and_save_report(context: AppContext, parent: QWidget, folder: RunFolder) -> None:
    """Let the person name a page, and have it written."""
    path = ask_for_place(parent, "Save the report", "Report", f"{folder.id}.html", "html")
    if path is None:
        return
    notice = SavingNotice(context, path, "The report was not saved")

    def tell(answer: Answer) -> None:
        if answer.code:
            notice.fail(answer.error.splitlines()[-1] if answer.error else "The command ended without a word.")
        else:
            notice.finish()

    words = ["report", str(folder.path), "--out", str(path)]
    SideCommand(context, context.settings.get().engine_python, words, tell)
