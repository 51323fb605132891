"""The runs that judge the labels of a training part: begun, watched, stopped, and what they found."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer, ask
from studio.state.context import AppContext
from studio.widgets import ProgressLine, button, flow_box, in_widget, label, vbox
from training.errors import InputError, pluralize
from training.labels.progress import USUAL, expect_time, read_progress
from training.predictions import EvaluationRecord
from training.predictions.suspicious import SuspiciousLabels, read_found
from training.runs.folder import RunFolder


class FoldRuns(QWidget):
    """Of one run at a time, whatever part is looked at; with a way to the training part where something was found in it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._run: RunFolder | None = None
        self._is_shown = False  # what was found stands beside
        self._found: SuspiciousLabels | None = None  # of the run
        self._fingerprint = ""  # of the run's data; "" where that is not known
        self._step = 0
        self.progress = ProgressLine()
        self.words = label("", "help", wrap=True)
        self.look = button("Look at them", "eye", clicked=self._look)
        self.examine = button("Examine the training part …", clicked=self.ask_to_examine)
        self.stop = button("Stop", "stop", clicked=context.labels.stop)
        buttons = in_widget(flow_box(self.look, self.examine, self.stop))
        vbox(self.progress, self.words, buttons, parent=self)
        context.labels.changed.connect(self.follow)
        context.labels.finished.connect(self._read_found)

    def show_run(self, run: RunFolder, record: EvaluationRecord, is_shown: bool) -> None:
        """Be about ``run``, of which ``record`` is looked at; ``is_shown``: what was found stands beside."""
        fingerprint = record.fingerprint if record.part else self._fingerprint if run == self._run else ""
        if (run, fingerprint) != (self._run, self._fingerprint):
            self._run, self._fingerprint = run, fingerprint
            self._read_found()
        self._step, self._is_shown = record.step, is_shown
        self.follow()

    def ask_to_examine(self) -> None:
        """Say how long the runs take, and start them on a yes."""
        run = self._run
        if run is None:
            return
        begun = read_progress(run)
        folds = begun.folds if begun is not None else USUAL
        try:
            expected = expect_time(run, folds)
        except InputError as error:
            self._context.notifier.notify(str(error), "danger")
            return
        done = f" {begun.steps:,} of {begun.of:,} steps are done already." if begun is not None and begun.of else ""
        text = (
            f"{expected.words}{done}\n\nEach leaves a part of the training samples out and judges it then. They train one after the "
            "other, beside whatever else is trained, and can be stopped at any time: what was trained is kept."
        )
        answers = [Answer("go", "Go on" if done else "Start", "primary")]
        if ask(self.window(), "Examine the training part?", text, answers) == "go":
            self._context.labels.start(run, folds)

    @Slot()
    def follow(self) -> None:
        """Show what is so now."""
        job, run = self._context.labels, self._run
        mine = run is not None and job.run == run
        busy = job.is_busy and mine
        self.progress.setVisible(busy)
        self.stop.setVisible(busy)
        self.stop.setEnabled(not job.is_stopping)
        if busy:
            self._show_reached()
        done = self._found is not None
        self.examine.setVisible(not busy and not done)
        self.examine.setEnabled(not job.is_busy)
        self.look.setVisible(done and not busy and not self._is_shown)
        words = self._describe(run, busy, mine)
        self.words.setText(words)
        self.words.setVisible(bool(words))

    # ------------------------------------------------------------------------------------------- inside

    def _describe(self, run: RunFolder | None, busy: bool, mine: bool) -> str:
        job, found = self._context.labels, self._found
        if mine and job.problem:
            return job.problem
        if job.is_busy and not mine:
            return "Another run's training part is being examined."
        if busy or run is None or self._is_shown:
            return ""
        if found is not None:
            count = pluralize(len(found.found), "label")
            few = "is" if len(found.found) == 1 else "are"
            return f"{count} of the training part {few} suspicious to {found.folds} runs that did not train on them."
        begun = read_progress(run)
        if begun is None or not begun.of:
            return ""
        return f"The training part: stopped at step {begun.steps:,} of {begun.of:,}; it goes on from there."

    def _show_reached(self) -> None:
        job = self._context.labels
        if job.is_stopping:
            self.progress.set_progress(None, "Stopping; what was trained is kept …")
        elif job.reached is None or not job.reached.of:
            self.progress.set_progress(None, "Dividing the training part …")
        else:
            self.progress.set_progress(job.reached.fraction, job.reached.words)

    @Slot()
    def _read_found(self) -> None:
        self._found = read_found(self._run, self._fingerprint) if self._run is not None else None
        self.follow()

    def _look(self) -> None:
        if self._run is not None:
            self._context.evaluation.want(self._run, self._step, "train")
