"""Prove: what it takes is told, then some steps are trained with and without what a finding proposes, and both are shown."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from studio.forms.messages import kinds_of, tell_overrides, with_titles
from studio.panels.proof_view import ProofView
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, ProgressLine, button, hbox, in_widget, label, make_breakable, scroll_area, vbox
from training.errors import TrainingError
from training.events import Finding
from training.prove.plan import ProofPlan, plan_proof
from training.runs.folder import RunFolder
from training.runs.records.proofs import Proof, read_proofs

_SIZE = 860, 560
_READING = "Looking for the checkpoint to begin from …"
GONE = "This run is not there any more."
PROVED = "Proved so before: the same steps come out the same"
_BUSY = "Another proof is under way: wait for its end."


class ProveDialog(QDialog):
    """About ``finding`` of the run in ``folder``. Closed while it works, the proof goes on, and is shown when the dialog is opened again."""

    def __init__(self, context: AppContext, folder: RunFolder, finding: Finding, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Prove a fix")
        self.folder, self.finding = folder, finding
        self._context, self._job = context, context.proofs
        self._plan: ProofPlan | None = None
        self._proved = False  # in just that way
        self.words = label(_READING, wrap=True, selectable=True)
        self.progress = ProgressLine()
        self.problem = label("", "problem", wrap=True, selectable=True)
        self.view = ProofView()
        self.start = button("Start", "play", "primary", clicked=self._start)
        self.cancel = button("Cancel proof", "stop", tooltip="Arms that are done are kept", clicked=self._job.stop)
        self.close_button = button("Close", clicked=self.close)
        vbox(
            label(make_breakable(with_titles(finding.title)), "section", wrap=True),
            self.words,
            self.progress,
            self.problem,
            (scroll_area(in_widget(vbox(self.view, STRETCH)), "Proof"), 1),
            hbox(STRETCH, self.start, self.cancel, self.close_button),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l),
        )
        self.resize(*_SIZE)
        self.view.hide()
        self._job.changed.connect(self._follow)
        self._job.finished.connect(self._read)
        self._read()
        self._follow()

    # ------------------------------------------------------------------------------------------- reading

    @Slot()
    def _read(self) -> None:
        """What it takes, and what was proved before; reading both may wait for a disk."""
        folder, finding = self.folder, self.finding

        def work() -> tuple[ProofPlan | TrainingError, list[Proof]]:
            kept = [proof for proof in read_proofs(folder) if proof.finding == finding.key]
            try:
                plan: ProofPlan | TrainingError = plan_proof(folder, finding.key)
            except TrainingError as error:
                plan = error
            return plan, kept

        self._context.background.submit(work, self._take, lambda error: self._take((TrainingError(str(error)), [])))

    def _take(self, read: tuple[ProofPlan | TrainingError, list[Proof]]) -> None:
        if not isValid(self):  # it was closed meanwhile
            return
        plan, kept = read
        proof = kept[-1] if kept else None
        if isinstance(plan, ProofPlan):
            self._plan = plan
            self._proved = any(each.key == plan.key for each in kept)
            self.words.setText(make_breakable(tell_overrides("\n".join(plan.words), kinds_of(plan.after))))
        else:
            self._plan = None
            self.words.setText(f"{plan.message} {plan.advice}".strip() if self.folder.path.is_dir() else GONE)
        self.view.setVisible(proof is not None)
        if proof is not None:
            self.view.show_proof(proof)
        self.start.setText("Prove again" if proof is not None else "Start")
        self._follow()

    # ------------------------------------------------------------------------------------------- working

    @Slot()
    def _start(self) -> None:
        if not self.folder.path.is_dir():
            self._plan = None
            self.words.setText(GONE)
        elif self._plan is not None:
            self._job.start(self._plan)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Show how far the work is."""
        job = self._job
        ours = job.is_proving(self.folder, self.finding.key)
        self.progress.setVisible(ours)
        self.cancel.setVisible(ours)
        self.cancel.setEnabled(not job.is_stopping)
        self.start.setVisible(not ours)
        self.start.setEnabled(self._plan is not None and not self._proved and not job.is_busy)
        self.start.setToolTip(_BUSY if job.is_busy else PROVED if self._proved else "")
        mine = job.run == self.folder and job.plan is not None and job.plan.name == self.finding.key
        said = job.problem if mine and not ours else ""
        self.problem.setText(_BUSY if job.is_busy and not ours else said)
        self.problem.setVisible(bool(self.problem.text()))
        if ours:
            words = "Stopping …" if job.is_stopping else job.reached.words if job.reached else "Starting …"
            self.progress.set_progress(job.reached.fraction if job.reached else None, words)
