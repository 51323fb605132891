"""What is done with the listed samples as a whole: their names are taken along, or they are left out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from studio.actions.excluding import branch_without, exclude_rows
from studio.actions.saving import ask_for_place, save_file
from studio.pages.evaluate.view import name_file
from studio.panels.samples.images import find_file
from studio.state.context import AppContext
from studio.state.evaluations.sample_table import SampleTable
from studio.state.evaluations.selection import Selection
from training.errors import TrainingError
from training.predictions import Evaluation
from training.runs.folder import RunFolder
from training.runs.relocation import config_here
from training.system.atomic import write_text


class SampleActions:
    """Of the samples that ``table`` lists; what has to be asked is asked over ``panel``."""

    def __init__(self, context: AppContext, panel: QWidget, selection: Selection, table: SampleTable) -> None:
        self._context = context
        self._panel = panel
        self._selection = selection
        self._table = table

    def list_rows(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        """For a menu."""
        return (
            ("Copy list of files", self.copy_list),
            ("Save list of files …", self.save_list),
            ("Put on exclude list …", self.exclude),
            ("Branch without excluded samples", self.branch),
        )

    def copy_list(self) -> None:
        """Put what the samples are called on the clipboard, a line for each."""
        QGuiApplication.clipboard().setText("\n".join(self._list_names()))
        count = f"{len(self._table.rows):,}"
        self._context.notifier.notify(f"{count} names are on the clipboard.", "success", subject="samples copied")

    def save_list(self) -> None:
        """Ask where to, and write what the samples are called, a line for each; files with their folders."""
        evaluation = self._selection.evaluation
        if evaluation is None:
            return
        name = f"{name_file(evaluation, 'files')}.txt"
        path = ask_for_place(self._panel, "Save the list of samples", "Text", name, "txt")
        if path is None:
            return
        names, place = self._list_names(), find_data(evaluation)

        def save() -> None:
            write_text(path, "".join(f"{find_file(name, place) or name}\n" for name in names))

        save_file(self._context, save, path, "The list was not saved")

    def exclude(self) -> None:
        """Put the selected samples on the exclude list of the run."""
        evaluation = self._selection.evaluation
        if evaluation is None:
            return
        if not self._selection.criteria:
            words = "Select samples first: nothing is selected, and no run can leave out all of a part."
            self._context.notifier.notify(words, "warning", subject="exclude list")
            return
        exclude_rows(self._context, self._panel, evaluation, self._table.rows.tolist())

    def branch(self) -> None:
        """Prepare a branch that leaves out what is on the exclude list of the run."""
        branch_without(self._context)

    # ------------------------------------------------------------------------------------------- inside

    def _list_names(self) -> list[str]:
        evaluation = self._selection.evaluation
        return [str(evaluation.names[row]) for row in self._table.rows.tolist()] if evaluation is not None else []


def find_data(evaluation: Evaluation) -> str:
    """Where the files of the samples lie; "" where that cannot be told."""
    if not evaluation.record.part:
        return evaluation.record.on
    try:
        config = config_here(RunFolder(evaluation.folder.parent.parent))
    except TrainingError:
        return ""
    return str(getattr(config.dataset, "path", None) or "")
