"""A skipped step computed again, in a process of its own: ``python -m training doctor RUN --trace STEP``."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject

from studio.engine.side_command import Answer
from studio.services.settings import SettingsStore
from studio.state.side_job import RunJob
from training.events import Finding, decode
from training.runs.folder import RunFolder
from training.runs.trace_plan import TracePlan

_FOUND = 1
"""Exit code of a step that was computed again."""


class TraceJob(RunJob):
    """``finished``: ``found`` is what the step of ``traced`` showed."""

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.traced: Finding | None = None  # of the one under way, or of the last one
        self.found: Finding | None = None
        self.plan: TracePlan | None = None

    @property
    def words(self) -> str:
        """What is being done, or why it came to nothing."""
        if self.is_stopping:
            return "Canceling the trace …"
        return self.plan.words if self.is_busy and self.plan is not None else self.problem

    def start(self, plan: TracePlan, finding: Finding) -> None:
        """Compute the step of ``finding`` again, as ``plan`` says."""
        if not self.is_busy:
            self.traced, self.found, self.plan = finding, None, plan
            self._begin(plan.folder, ["doctor", str(plan.folder.path), "--trace", str(plan.skip.step), "--json"])

    def _read(self, run: RunFolder) -> None:
        """It says nothing before its end."""

    def _take(self, answer: Answer) -> bool:
        if answer.code == _FOUND:
            [told] = json.loads(answer.out.splitlines()[-1])["findings"]
            found = decode(json.dumps({"kind": Finding.kind, **told}).encode())
            self.found = found if isinstance(found, Finding) else None
        return self.found is not None
