"""What a person does with a finding of the run that is shown: apply what it proposes, prove it, put it away, read about it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.organize import dismiss_finding
from studio.pages.run.findings import FindingList
from studio.panels.fix_dialog import apply_fix
from studio.state.context import AppContext
from studio.state.runs.run_findings import RunFindings
from training.events import Finding
from training.runs.fork import began_at


class FindingActions(QObject):
    """``findings`` of ``context.shown`` and the ``list`` that shows them; dialogs open over ``page``."""

    def __init__(self, context: AppContext, page: QWidget) -> None:
        super().__init__(page)
        self._context, self._page = context, page
        self.findings = RunFindings(context.shown, self)
        self.list = FindingList(self.findings)
        self.list.apply_asked.connect(self._apply)
        self.list.dismiss_asked.connect(self._dismiss)
        self.list.help_asked.connect(context.help_requested)
        context.library.refreshed.connect(self.findings.read_dismissed)

    @Slot(object)
    def _apply(self, finding: Finding) -> None:
        found = self.findings
        apply_fix(self._context, self._page, finding.fix, found.folder, found.config, began_at(finding))

    @Slot(object, bool)
    def _dismiss(self, finding: Finding, on: bool) -> None:
        if self.findings.folder is not None:
            dismiss_finding(self._context, self.findings.folder, finding, on=on, done=self.findings.read_dismissed)
