"""Check: the engine looks before the run, and the findings are listed until a setting changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject

from studio.engine.host import Inquiry
from studio.engine.messages import Refusal
from studio.forms.sentences import with_titles
from studio.pages.setup.facts import Facts
from studio.pages.setup.findings import FindingsPanel
from studio.state.context import AppContext


class Checking(QObject):
    """Drives the findings panel."""

    def __init__(self, context: AppContext, panel: FindingsPanel, facts: Facts, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._panel = panel
        self._facts = facts
        self._inquiry: Inquiry | None = None
        draft = context.draft
        for signal in (draft.edited, draft.kind_changed, draft.replaced):
            signal.connect(self._withdraw)
        panel.closed.connect(self._withdraw)
        panel.apply_asked.connect(self._apply)

    def check(self) -> None:
        """Ask the engine about the draft as it stands; the files are looked at again."""
        config = self._context.draft.usable_config()
        if config is None:
            return
        self._withdraw()
        self._panel.show_busy()
        self._facts.ask_again()
        data = config.model_dump(mode="json")
        self._inquiry = self._context.engine.check(data, self._on_done, self._on_refused, self._panel.show_busy)

    def _on_done(self, result: dict[str, Any]) -> None:
        self._show(result.get("findings", ()))

    def _on_refused(self, refusal: Refusal) -> None:
        self._show([{"level": "error", "title": refusal.message, "advice": refusal.advice}])
        self._context.draft.set_engine_problems(refusal.problems)

    def _show(self, findings: Sequence[Mapping[str, Any]]) -> None:
        """With settings called as the forms beside call them."""
        kind_of = self._context.draft.kind
        said = [
            {key: with_titles(str(found.get(key) or ""), kind_of) for key in ("title", "advice")} for found in findings
        ]
        self._panel.show_findings([{**found, **words} for found, words in zip(findings, said, strict=True)])

    def _apply(self, settings: Mapping[str, Any]) -> None:
        """Write what a finding proposes into the draft, and look again."""
        draft = self._context.draft
        try:
            draft.apply(settings)
        except KeyError as error:
            self._context.notifier.notify(f"{error} is no setting of this run any more; check again.", "warning")
            return
        self.check()

    def _withdraw(self) -> None:
        if self._inquiry is not None:
            self._inquiry.cancel()
            self._inquiry = None
        self._panel.hide()
