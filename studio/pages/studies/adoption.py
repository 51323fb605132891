"""Adopt: what a study proposes, or a trial tried, is put into the forms as one step that can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from studio.forms.messages import KindOf, kinds_of, tell_change, title_of
from studio.state.context import AppContext
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import is_setting, specs, split_path
from training.config import RunConfig
from training.config.diff import Change, diff, telling
from training.toml_text import Toml

ADOPT, ADOPT_ANYWAY, ADOPTED = "Adopt", "Adopt anyway", "Adopted"
_MOST_TOLD = 4
_NO_MATTER = ("name", "seed", "muted_findings")
_NOTHING = "Nothing is proposed, so there is nothing to adopt."
_THERE = "Setup has this already."
_KEPT = "Setup has this already, as the configuration studied had it."
_WRONG = "Some settings in Setup are wrong now, so what else differs from the configuration studied cannot be told."
_INTO = "Put this into the forms; it can be undone there"


class Adoption(NamedTuple):
    """``values`` by their paths; ``changes`` tells each in a line. ``reason`` says why it cannot be adopted, or what is to be known before."""

    values: Mapping[str, Toml]
    changes: str
    can: bool
    button: str
    reason: str

    @property
    def tooltip(self) -> str:
        """Of the button."""
        return self.reason or _INTO

    def adopt(self, context: AppContext) -> None:
        """Do it, with a notice that takes it back."""
        draft = context.draft
        draft.apply(self.values)
        adopted = draft.settings()

        def undo() -> None:
            if draft.settings() == adopted:
                draft.undo()
            else:
                context.notifier.notify("Setup was changed since: take it back there, with Undo.", "info")

        context.notifier.notify(
            self.changes.replace("\n", "; "),
            "success",
            title="Adopted in Setup",
            action_text="Undo",
            action=undo,
            subject="adopted",
        )


def weigh_adoption(draft: Draft, studied: RunConfig, values: Mapping[str, Toml], kept: str = _KEPT) -> Adoption:
    """What it would mean for the forms to have ``values``, which were found with the rest of ``studied``. ``kept`` is said where nothing has to
    change, neither in the forms nor in what was studied."""

    def kind_after(section: str) -> str:
        return str(values.get(f"{section}.kind") or draft.kind(section))

    def look_up(path: str) -> object:
        if not is_setting(path, draft.kind):  # it comes with the kind
            return None
        return draft.kind(split_path(path)[0]) if path.endswith(".kind") else draft.value(path)

    missing = [path for path in values if not _is_same(path, kinds_of(studied), kind_after)]
    changes = [Change(path, _of(studied, path) if path in missing else look_up(path), values[path]) for path in values]
    is_there = bool(changes) and not missing and all(each.old == each.new for each in changes)
    if is_there:  # what it brought is told, and not that it stays
        changes = [_since(each, studied) for each in changes]
    told = "\n".join(tell_change(each, kinds_of(studied) if each.path in missing else kind_after) for each in changes)
    others = _find_others(draft, studied, values)
    can, reason = True, ""
    if not changes:
        can, reason = False, _NOTHING
    elif missing:
        titles = ", ".join(title_of(Change(path, None, None), kinds_of(studied)) for path in missing)
        reason = f"Setup has no such setting now: {titles}. It is another configuration than the one studied."
        can = False
    elif is_there:
        can, reason = False, _THERE if any(each.old is not None for each in changes) else kept
    elif others is None:
        reason = _WRONG
    elif others:
        reason = f"Setup differs from what was studied: {_list(others, draft.kind)}. The proposal rests on the configuration studied."
    button = ADOPT_ANYWAY if can and reason else ADOPTED if reason == _THERE else ADOPT
    return Adoption(values, told, can, button, reason)


def _since(change: Change, studied: RunConfig) -> Change:
    """From what it was where that was studied; without an old value where that was the same."""
    old = _of(studied, change.path)
    return Change(change.path, None if old == change.new else old, change.new)


def _is_same(path: str, kind_before: KindOf, kind_after: KindOf) -> bool:
    """Whether the forms have that setting and mean by it what was studied: another kind may have one of that name that is none."""
    if not is_setting(path, kind_after):
        return False
    section, name = split_path(path)
    before, after = (specs(section, kind(section)).get(name) for kind in (kind_before, kind_after))
    return before is None or after is None or (before.title, before.editor) == (after.title, after.editor)


def _find_others(draft: Draft, studied: RunConfig, values: Mapping[str, Toml]) -> Sequence[Change] | None:
    """Settings of the forms that differ from what was studied and will stay so; None where the forms hold something wrong."""
    config = draft.config()
    if config is None:
        return None
    replaced = {split_path(path)[0] for path in values if path.endswith(".kind")}
    found = [each for each in telling(diff(studied, config)) if each.path not in values]
    return [each for each in found if each.path not in _NO_MATTER and split_path(each.path)[0] not in replaced]


def _of(config: RunConfig, path: str) -> object:
    section, _, name = path.partition(".")
    return getattr(getattr(config, section, None), name, None)


def _list(changes: Sequence[Change], kind_in_setup: KindOf) -> str:
    told = "; ".join(tell_change(each, kind_in_setup) for each in changes[:_MOST_TOLD])
    rest = len(changes) - _MOST_TOLD
    return f"{told}; and {rest} more" if rest > 0 else told
