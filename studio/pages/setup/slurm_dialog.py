"""A run for a Slurm cluster: the script is written and shown, and submitted by a button alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QFormLayout, QLineEdit, QWidget

from studio.actions.files import reveal
from studio.engine.side_command import Answer, SideCommand
from studio.state.config_file import save_for_command
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, MonoText, button, hbox, in_widget, label, vbox
from training.config import RunConfig

_SIZE = 760, 680
_WORDS = (
    "“Write script” makes the run's folder, with the script for sbatch in it; the cluster's machines have to see that folder under the same "
    "path. The run is followed like any other once the cluster has begun it."
)
_GPUS, _RANKS = "--gpus-per-node", "--ranks"
_FIELDS = (
    ("--partition", "Partition", "the cluster's default"),
    ("--account", "Account", "the cluster's default"),
    ("--time", "Time limit", "04:00:00, or the cluster's default"),
    ("--notice", "Saves before the limit (seconds)", "120"),
    ("--nodes", "Nodes", "1"),
    (_GPUS, "GPUs per node", "0"),
    (_RANKS, "Processes per node", "one for each GPU"),
    ("--cpus-per-node", "CPUs per node", "one for each process"),
)
_TYPED = re.compile(r"\.? Submit it by: |; how far it is tells: ")
"""What is to be typed follows, for people without a window."""
NO_SLURM = "Slurm is not installed on this computer (there is no sbatch): submit the script on the cluster."


class SlurmDialog(QDialog):
    """For a new run of ``config``. What is written again, with other words, is the script of the same run."""

    def __init__(self, context: AppContext, config: RunConfig, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Slurm script")
        self._context, self._config = context, config
        self._command: SideCommand | None = None
        self._place: TemporaryDirectory[str] | None = None
        self.run: Path | None = None
        self.fields: dict[str, QLineEdit] = {}
        form = QFormLayout()
        for option, title, usual in _FIELDS:
            self.fields[option] = QLineEdit(placeholderText=usual)
            form.addRow(title, self.fields[option])
        if context.where.count > 1:  # as was chosen for here
            self.fields[_GPUS if context.where.gpus > 1 else _RANKS].setText(str(context.where.count))
        self.text = MonoText("Script for sbatch")
        self.text.setPlaceholderText("The script is shown here once it is written.")
        self.words = label(_WORDS, "help", wrap=True)
        self.problem = label("", "problem", wrap=True, selectable=True)
        self.problem.hide()
        self.write_button = button("Write script", "save", "primary", clicked=self._write)
        self.show_button = button("Show file", "folder", clicked=self._reveal)
        self.submit_button = button("Submit", "play", clicked=self._submit)
        self.close_button = button("Close", clicked=self.close)
        vbox(
            label(f"Train “{config.name}” by Slurm", "section", wrap=True),
            self.words,
            in_widget(form),
            (self.text, 1),
            self.problem,
            hbox(self.show_button, STRETCH, self.write_button, self.submit_button, self.close_button),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l),
        )
        self.resize(*_SIZE)
        self._update()

    @property
    def is_busy(self) -> bool:
        """Whether something is being written or submitted."""
        return self._command is not None

    @Slot()
    def _write(self) -> None:
        if self.run is None:
            self._place = TemporaryDirectory(prefix="launch-", ignore_cleanup_errors=True)
            target = save_for_command(self._config, Path(self._place.name))
        else:
            target = self.run
        given = [(option, field.text().strip()) for option, field in self.fields.items()]
        options = [word for option, value in given if value for word in (option, value)]
        self._ask(["launch", str(target), "--slurm", *options])

    @Slot()
    def _submit(self) -> None:
        self._ask(["launch", str(self.run), "--submit"])

    def _ask(self, words: Sequence[str]) -> None:
        python = self._context.settings.get().engine_python
        where = ["--workspace", str(self._context.workspace), "--json"]
        self.problem.hide()
        self._command = SideCommand(self, python, [*words, *where], self._take)
        self._update()

    def _take(self, answer: Answer) -> None:
        self._command = None
        if self._place is not None:
            self._place.cleanup()
            self._place = None
        lines, said = answer.out.rstrip().splitlines(), answer.error.splitlines()
        try:
            told = json.loads(lines[-1]) if answer.code == 0 else None
        except (ValueError, IndexError):
            told = None
        if told is None:
            self.problem.setText(_name_fields(said[-1]) if said else "The command ended without a word.")
            self.problem.show()
        else:
            self.run = Path(told["folder"])
            if len(lines) > 1:
                self.text.setPlainText("\n".join(lines[:-1]))
            self.words.setText(_TYPED.split(said[-1])[0] if said else _WORDS)
            self._context.library.refresh()
        self._update()

    @Slot()
    def _reveal(self) -> None:
        if self.run is not None:
            reveal(self.run)

    def _update(self) -> None:
        written = self.run is not None and not self.is_busy
        has_slurm = shutil.which("sbatch") is not None
        self.write_button.setEnabled(not self.is_busy)
        self.write_button.setText("Write again" if self.run is not None else "Write script")
        self.show_button.setEnabled(written)
        self.submit_button.setEnabled(written and has_slurm)
        self.submit_button.setToolTip("Hand the script to Slurm (sbatch)" if has_slurm else NO_SLURM)


def _name_fields(sentence: str) -> str:
    """What the command says of its options, by the fields that they are here."""
    for option, title, _ in _FIELDS:
        sentence = re.sub(rf"(?<![\w-]){option}(?![\w-])", title, sentence)
    return sentence
