"""Adopt: what a study proposes, put into the forms as one step that can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent

from studio.forms.messages import KindOf, tell_change, title_of
from studio.pages.studies.finders.words import kind_of
from studio.state.context import AppContext
from studio.state.drafts.setting_specs import is_setting
from studio.theme import SPACING
from studio.widgets import Card, button, hbox, label, make_breakable, vbox
from training.config import RunConfig
from training.config.diff import Change, diff, telling
from training.studies.records import Plan, Result

ADOPT, ADOPT_ANYWAY = "Adopt", "Adopt anyway"
_MOST_TOLD = 4
_NO_MATTER = ("name", "seed", "muted_findings")
_NOTHING = "Nothing is proposed, so there is nothing to adopt."
_THERE = "Setup has this already."


class AdoptCard(Card):
    """Says what is proposed, how that differs from Setup, and what else differs there."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Proposal")
        self._context = context
        self._plan: Plan | None = None
        self._config: RunConfig | None = None
        self._adopt: Mapping[str, JsonValue] = {}
        self.changes = label("", wrap=True, selectable=True)
        self.reason = label("", "help", wrap=True, selectable=True)
        self.adopt = button(ADOPT, "check", "primary", clicked=self._on_adopt)
        self.add(hbox((vbox(self.changes, self.reason, spacing=SPACING.xs), 1), self.adopt))
        context.draft.changed.connect(self._on_draft_changed)

    def show_proposal(self, plan: Plan, result: Result) -> None:
        """Of a study that has come to its end."""
        if plan != self._plan:
            self._plan, self._config = plan, plan.config
        self._adopt = result.adopt
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
        if self._config is None:
            return
        draft, studied = self._context.draft, self._config
        now = {path: draft.value(path) for path in self._adopt if is_setting(path, draft.kind)}
        missing = [path for path in self._adopt if path not in now]
        changes = [Change(path, now.get(path, _of(studied, path)), new) for path, new in self._adopt.items()]
        self.changes.setText("\n".join(tell_change(each, draft.kind) for each in changes))
        self.changes.setVisible(bool(changes))
        others = self._find_others()
        can, reason = True, ""
        if not changes:
            can, reason = False, _NOTHING
        elif missing:
            titles = ", ".join(title_of(Change(path, None, None), kind_of(studied)) for path in missing)
            can, reason = (
                False,
                f"Setup has no such setting now: {titles}. It is another configuration than the one studied.",
            )
        elif all(change.old == change.new for change in changes):
            can, reason = False, _THERE
        elif others is None:
            reason = "Some settings in Setup are wrong now, so what else differs from the configuration studied cannot be told."
        elif others:
            reason = f"Setup differs from what was studied: {_list(others, draft.kind)}. The proposal rests on the configuration studied."
        self.reason.setText(make_breakable(reason))
        self.reason.setVisible(bool(reason))
        self.adopt.setText(ADOPT_ANYWAY if can and (others is None or others) else ADOPT)
        self.adopt.setEnabled(can)
        self.adopt.setToolTip(reason or "Put this into the forms; it can be undone there")
        self.adopt.setAccessibleDescription(reason)

    def _find_others(self) -> Sequence[Change] | None:
        """Settings of the forms that differ from what was studied; None where the forms hold something wrong."""
        config, studied = self._context.draft.config(), self._config
        if config is None or studied is None:
            return None
        found = telling(diff(studied, config))
        return [each for each in found if each.path not in self._adopt and each.path not in _NO_MATTER]

    @Slot()
    def _on_adopt(self) -> None:
        draft = self._context.draft
        told = self.changes.text().replace("\n", "; ")
        draft.apply(dict(self._adopt))
        adopted = draft.settings()

        def undo() -> None:
            if draft.settings() == adopted:
                draft.undo()
            else:
                self._context.notifier.notify("Setup was changed since: take it back there, with Undo.", "info")

        self._context.notifier.notify(
            told, "success", title="Adopted in Setup", action_text="Undo", action=undo, subject="adopted"
        )


def _of(config: RunConfig, path: str) -> object:
    section, _, name = path.partition(".")
    return getattr(getattr(config, section, None), name, None)


def _list(changes: Sequence[Change], kind_in_setup: KindOf) -> str:
    told = "; ".join(tell_change(each, kind_in_setup) for each in changes[:_MOST_TOLD])
    rest = len(changes) - _MOST_TOLD
    return f"{told}; and {rest} more" if rest > 0 else told
