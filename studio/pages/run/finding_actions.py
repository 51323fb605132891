"""What a person does with a finding of the run that is shown: apply what it proposes, prove it, put it away, read about it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.organize import dismiss_finding
from studio.engine.state import ENDED
from studio.pages.run.findings import FindingList
from studio.pages.run.prove_dialog import ProveDialog
from studio.panels.fix_dialog import apply_fix
from studio.state.context import AppContext
from studio.state.runs.run_findings import RunFindings
from training.diagnosis import read_recorded, replay
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.fork import began_at
from training.runs.records.proofs import read_proofs
from training.runs.trace_plan import plan_trace

logger = logging.getLogger(__name__)


class FindingActions(QObject):
    """``findings`` of ``context.shown`` and the ``list`` that shows them; dialogs open over ``page``, ``dialog`` is the proof's."""

    def __init__(self, context: AppContext, page: QWidget) -> None:
        super().__init__(page)
        self._context, self._page = context, page
        self.findings = RunFindings(context.shown, self)
        self.list = FindingList(self.findings)
        self.list.apply_asked.connect(self.apply)
        self.list.dismiss_asked.connect(self._dismiss)
        self.list.help_asked.connect(context.help_requested)
        self.list.prove_asked.connect(self._prove)
        self.list.trace_asked.connect(self._trace)
        context.library.refreshed.connect(self.findings.read_dismissed)
        context.shown.attached.connect(self._on_attached)
        context.shown.state_changed.connect(self._replay)
        self._replayer = context.background.make_other()  # a long run takes a while, and nobody waits for it
        self._replayed: RunFolder | None = None
        context.proofs.finished.connect(self._on_proved)
        context.traces.changed.connect(self._follow_trace)
        context.traces.finished.connect(self._on_traced)
        self.dialog: ProveDialog | None = None
        self._read_proofs()

    @Slot(object)
    def apply(self, finding: Finding) -> None:
        """Ask, then train with what it proposes, from before it began."""
        found = self.findings
        apply_fix(self._context, self._page, finding.fix, found.folder, found.config, began_at(finding))

    @Slot(object, bool)
    def _dismiss(self, finding: Finding, on: bool) -> None:
        if self.findings.folder is not None:
            dismiss_finding(self._context, self.findings.folder, finding, on=on, done=self.findings.read_dismissed)

    @Slot(object)
    def _prove(self, finding: Finding) -> None:
        folder = self.findings.folder
        if folder is None:
            return
        if self.dialog is not None:
            self.dialog.close()
        self.dialog = dialog = ProveDialog(self._context, folder, finding, self._page.window())
        dialog.finished.connect(lambda: self._forget(dialog))
        dialog.show()

    def _forget(self, dialog: ProveDialog) -> None:
        if self.dialog is dialog:
            self.dialog = None

    @Slot(object)
    def _trace(self, finding: Finding) -> None:
        folder, job = self.findings.folder, self._context.traces
        if folder is None:
            return
        if not job.is_busy:
            self.list.show_trace(finding.key, "Looking for the checkpoint to begin from …", on=False)
            self._context.background.submit(
                lambda: plan_trace(folder, finding.step),
                lambda plan: job.start(plan, finding),
                lambda error: self._refuse_trace(folder, finding, error),
            )
        elif job.run == folder and job.traced is not None and job.traced.key == finding.key:
            job.stop()
        else:
            self._context.notifier.notify("Another step is being traced: wait for its end, or cancel it.")

    def _refuse_trace(self, folder: RunFolder, finding: Finding, error: Exception) -> None:
        if folder == self.findings.folder:  # else another run is shown by now
            self.list.show_trace(finding.key, str(error), on=False)

    @Slot()
    def _follow_trace(self) -> None:
        """Say at the finding how far its trace is, or why it came to nothing."""
        job = self._context.traces
        if job.traced is None or job.run != self.findings.folder:
            self.list.show_trace("", "", on=False)
            return
        self.list.show_trace(job.traced.key, job.words, on=job.is_busy)

    @Slot()
    def _on_traced(self) -> None:
        """What the step showed takes the place of what was told before."""
        job = self._context.traces
        if job.traced is None or job.found is None:
            return
        if job.run == self.findings.folder:
            self.findings.close(job.traced)
            self.findings.add(job.found)
        else:
            self._context.notifier.notify(
                f"A step of {job.run.id if job.run else 'a run'} was traced. {job.found.title}"
            )

    @Slot()
    def _read_proofs(self) -> None:
        """What was proved of the run that is shown, to say it at each finding."""
        folder = self.findings.folder
        self.list.show_proofs({})
        if folder is not None:
            self._context.background.submit(
                lambda: _list_verdicts(folder), lambda said: self._say(folder, said), logger.info
            )

    def _say(self, folder: RunFolder, said: Mapping[str, str]) -> None:
        if folder == self.findings.folder:
            self.list.show_proofs(said)

    @Slot()
    def _on_attached(self) -> None:
        self._replayed = None
        self.list.select("")  # that was one of another run
        self._read_proofs()
        self._follow_trace()
        self._replay()

    @Slot()
    def _replay(self) -> None:
        """Judge a run that ended by its records, once: an earlier version did not look while it trained."""
        folder = self.findings.folder
        if self._context.shown.run.state not in ENDED:
            self._replayed = None
        elif folder is not None and folder != self._replayed:
            self._replayed = folder
            self._replayer.submit(
                lambda: replay(read_recorded(folder)), lambda told: self._show_replayed(folder, told), logger.info
            )

    def _show_replayed(self, folder: RunFolder, told: Sequence[Finding]) -> None:
        if folder == self.findings.folder and self._replayed == folder:
            self.findings.show_replayed(told)

    @Slot()
    def _on_proved(self) -> None:
        job = self._context.proofs
        self._read_proofs()
        if self.dialog is None and job.plan is not None and job.plan.finding is not None:
            self._context.notifier.notify(f"The proof is complete: {job.plan.finding.title}")


def _list_verdicts(folder: RunFolder) -> dict[str, str]:
    return {proof.finding: proof.sentence for proof in read_proofs(folder) if proof.finding}
