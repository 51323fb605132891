"""The curves of a whole run, written for other programs."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from studio.actions.saving import add_suffix, save_file
from studio.state.context import AppContext
from training.runs.folder import RunFolder
from training.runs.records.curves import save_curves

TITLE = "Save curves as …"
_FORMS = {
    f"A row for each {row}, as {title} (*.{suffix})": (suffix, row == "epoch")
    for row in ("step", "epoch")
    for title, suffix in (("CSV", "csv"), ("Parquet", "parquet"))
}


def ask_and_save_curves(context: AppContext, parent: QWidget, folder: RunFolder) -> None:
    """Let the person name a file and choose what a row is; write all there is of the run, in the background."""
    proposed = str(Path.home() / f"{folder.id}-curves.csv")
    chosen, form = QFileDialog.getSaveFileName(parent, "Save the curves", proposed, ";;".join(_FORMS))
    if not chosen:
        return
    suffix, epochs = _FORMS.get(form, ("csv", False))
    # A name with one of the suffixes says itself what it is to be.
    path = add_suffix(parent, chosen, (suffix, "csv", "parquet"))
    if path is not None:
        save_file(context, lambda: save_curves(path, folder, epochs), path, "The curves were not saved")
