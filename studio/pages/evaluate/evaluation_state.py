"""What stands in the place of an evaluation that is not there: why, the way to it, and how far it is."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.pages.evaluate.header import describe_data
from studio.state.context import AppContext
from studio.state.evaluations.evaluation_choice import EvaluationChoice
from studio.state.evaluations.evaluation_job import EvaluationJob
from studio.state.runs.way_on import describe_lack
from studio.widgets import STRETCH, EmptyState, ProgressLine, button, hbox, in_widget, vbox

_ICON = "evaluate"
_WIDTH = 440
_NO_RUN = ("No runs yet", "Train a model first: every checkpoint of a run can be evaluated here, sample by sample.")
_NO_RUN_SHOWN = (
    "No run is shown",
    "Its folder is not there any more, or none was chosen. Choose one on the Runs page.",
)
_READING = ("Reading the run …", "Its checkpoints and its evaluations are being listed.")
_NO_CHECKPOINT = ("Nothing to evaluate yet", "This run has no checkpoint. One is saved at its first validation.")
_NONE_LEFT = "Nothing to evaluate"


class EvaluationState(QWidget):
    """Follows ``choice`` and ``job``. Signals: `evaluate_asked()`."""

    evaluate_asked = Signal()

    def __init__(self, context: AppContext, choice: EvaluationChoice, job: EvaluationJob) -> None:
        super().__init__()
        self._context = context
        self._choice = choice
        self._job = job
        self._problem = ""  # why the evaluation that is there cannot be read
        self.empty = EmptyState(_ICON, *_READING)
        self.empty.action_triggered.connect(self.evaluate_asked)
        self.progress = ProgressLine()
        self.progress.setFixedWidth(_WIDTH)
        self.cancel = button("Cancel", "stop", clicked=job.cancel)
        self._working = in_widget(vbox(hbox(STRETCH, self.progress, STRETCH), hbox(STRETCH, self.cancel, STRETCH)))
        vbox(STRETCH, self.empty, self._working, STRETCH, parent=self)
        choice.changed.connect(self._follow)
        job.changed.connect(self._show)
        context.library.refreshed.connect(self._follow)
        self._follow()

    def set_problem(self, sentence: str) -> None:
        """Say why the evaluation cannot be shown, until another one is chosen."""
        self._problem = sentence
        self._show()

    @Slot()
    def _follow(self) -> None:
        self._problem = ""
        self._show()

    @property
    def _is_computing(self) -> bool:
        """Whether what was chosen is being computed."""
        job, checkpoint = self._job, self._choice.checkpoint
        return job.is_busy and checkpoint is not None and (job.checkpoint, job.on) == (checkpoint.path, self._choice.on)

    @Slot()
    def _show(self) -> None:
        self.empty.set_content(*self._describe())
        self.empty.button.setEnabled(not self._job.is_busy)
        self._working.setVisible(self._is_computing)
        words = self._job.words
        self.progress.set_progress(self._job.fraction, words[:1].upper() + words[1:] if words else "Starting …")

    def _describe(self) -> tuple[str, ...]:
        choice, library, job = self._choice, self._context.library, self._job
        if self._problem:
            return "warning", "This evaluation cannot be read", self._problem, "Evaluate again", "evaluate"
        if choice.folder is None:
            return (_ICON, *((_NO_RUN_SHOWN if library.runs else _NO_RUN) if library.loaded else _READING))
        if not choice.loaded:
            return (_ICON, *_READING)
        if choice.step is None:
            if self._context.shown.is_at_work(choice.folder):
                return (_ICON, *_NO_CHECKPOINT)
            return _ICON, _NONE_LEFT, describe_lack(choice.folder)
        data = describe_data(choice.on)
        if self._is_computing:
            return _ICON, "Evaluating …", f"Step {choice.step:,} on the {data}."
        checkpoint = choice.checkpoint
        if checkpoint is None:
            return _ICON, "Not evaluated", f"The checkpoint of step {choice.step:,} is not there any more."
        if job.problem and (job.checkpoint, job.on) == (checkpoint.path, choice.on):
            return "warning", "The evaluation was not made", job.problem, "Try again", "evaluate"
        sentence = f"The checkpoint of step {choice.step:,} has not been evaluated on the {data} yet. Evaluating does not change the run."
        if job.is_busy:
            sentence += " Another evaluation is being made; this one can be made after it."
        return _ICON, "Not evaluated yet", sentence, "Evaluate", "evaluate"
