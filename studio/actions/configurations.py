"""Configurations that come in from the disk, and go out."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.recent_files import remember_file
from studio.actions.saving import ask_for_place
from studio.state.context import AppContext
from training.errors import TrainingError

_FILTER = "Run configuration (*.toml)"
_READ = "Run configuration or report (*.toml *.html)"


def ask_and_open(context: AppContext, parent: QWidget) -> None:
    """Let the person pick a TOML file and open it."""
    chosen, _ = QFileDialog.getOpenFileName(parent, "Open a configuration", str(Path.home()), _READ)
    if chosen and context.open_config(chosen):
        context.show_page("setup")


def ask_and_save(context: AppContext, parent: QWidget) -> None:
    """Let the person name a TOML file and write the draft to it."""
    name = str(context.draft.value("name")).strip() or "run"
    safe = "".join(letter if letter.isalnum() or letter in " -_." else "_" for letter in name)
    path = ask_for_place(parent, "Save the configuration", "Run configuration", f"{safe}.toml", "toml")
    if path is None:
        return
    try:
        context.draft.save_file(path)
    except TrainingError as error:
        context.notifier.notify(str(error), "danger", title="The configuration was not saved")
        return
    remember_file(context.settings, path)
    context.notifier.notify(f"Saved as {path.name}.", "success")
