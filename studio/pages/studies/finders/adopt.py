"""The card of what a study proposes."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue
from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent

from studio.pages.studies.adoption import ADOPT, Adoption, weigh_adoption
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import Card, button, hbox, label, make_breakable, vbox
from training.config import RunConfig
from training.studies.records import Kind, Plan, Result

_KEPT: Mapping[Kind, str] = {"batch": "Setup has the batch size already that the study proposes."}
"""Said where what was studied is what is proposed."""


class AdoptCard(Card):
    """Says what is proposed, how that differs from Setup, and what else differs there."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Proposal")
        self._context = context
        self._plan: Plan | None = None
        self._config: RunConfig | None = None
        self._values: Mapping[str, JsonValue] = {}
        self._adoption: Adoption | None = None
        self.changes = label("", wrap=True, selectable=True)
        self.reason = label("", "help", wrap=True, selectable=True)
        self.adopt = button(ADOPT, "check", "primary", clicked=self._on_adopt)
        self.add(hbox((vbox(self.changes, self.reason, spacing=SPACING.xs), 1), self.adopt))
        context.draft.changed.connect(self._on_draft_changed)

    def show_proposal(self, plan: Plan, result: Result) -> None:
        """Of a study that has come to its end."""
        if plan != self._plan:
            self._plan, self._config = plan, plan.config
        self._values = result.adopt
        if result.kind == "batch" and not result.adopt and result.details.get("knee"):  # the present one is the best
            loop = plan.config.loop
            self._values = {"loop.batch_size": loop.batch_size, "loop.accumulation": loop.accumulation}
        self._update()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    @Slot()
    def _on_draft_changed(self) -> None:
        if self.isVisible():
            self._update()

    @Slot()
    def _update(self) -> None:
        if self._config is None or self._plan is None:
            return
        kept = {"kept": _KEPT[self._plan.kind]} if self._plan.kind in _KEPT else {}
        self._adoption = found = weigh_adoption(self._context.draft, self._config, self._values, **kept)
        self.changes.setText(found.changes)
        self.changes.setVisible(bool(found.changes))
        self.reason.setText(make_breakable(found.reason))
        self.reason.setVisible(bool(found.reason))
        self.adopt.setText(found.button)
        self.adopt.setEnabled(found.can)
        self.adopt.setToolTip(found.tooltip)
        self.adopt.setAccessibleDescription(found.reason)

    @Slot()
    def _on_adopt(self) -> None:
        if self._adoption is not None:
            self._adoption.adopt(self._context)
