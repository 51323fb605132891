"""Says what another optimizer made of the rates that somebody had set."""

from __future__ import annotations

from studio.forms.sentences import shown
from studio.state.context import AppContext
from studio.state.setting_specs import specs, split_path
from training import catalog
from training.config.optimizer_scale import Moved

_SUBJECT = "the optimizer's scale"


def tell_of_move(context: AppContext, old_kind: str, moved: Moved) -> None:
    """Show what ``moved`` when the optimizer ``old_kind`` was left, and the way back."""
    draft = context.draft
    old, new = (catalog.entry("optimizer", kind).title for kind in (old_kind, draft.kind("optimizer")))
    parts = []
    for path, (before, after) in moved.items():
        section, name = split_path(path)
        spec = specs(section, draft.kind(section))[name]
        parts.append(f"{spec.title} {shown(after, spec)} instead of {shown(before, spec)}")
    context.notifier.notify(
        f"{'; '.join(parts)}.",
        title=f"Moved to {new}'s scale",
        action_text=f"Back to {old}",
        action=lambda: draft.set_kind("optimizer", old_kind),
        subject=_SUBJECT,
    )


def withdraw_move(context: AppContext, section: str) -> None:
    """Say nothing more of the optimizer that was left, once another kind is chosen in its ``section``."""
    if section == "optimizer":
        context.notifier.withdrawn.emit(_SUBJECT)
