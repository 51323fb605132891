"""A setting's way into the sweep being prepared: the entry of its menu, and the mark that it is in there."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QToolButton

from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import kinds, split_path
from studio.theme import icon
from studio.widgets import icon_button
from training.errors import InputError
from training.sweeps.dimension import propose_text
from training.sweeps.space import explain_unvaried, read_space

PUT_IN, TAKE_OUT = "Sweep this setting", "Take out of the sweep"


def add_sweep_entry(menu: QMenu, draft: Draft, path: str) -> None:
    """Let the menu of the setting at ``path`` put it into the sweep, or take it out."""
    if path in draft.swept:
        menu.addAction(icon("sliders", "muted"), TAKE_OUT, lambda: draft.swept.take_out(path))
        menu.addAction("Show the sweep", lambda: draft.swept.asked.emit(path))
        return
    entry = menu.addAction(icon("sliders", "muted"), PUT_IN, lambda: sweep_setting(draft, path))
    if why := _explain(draft, path):
        entry.setEnabled(False)
        entry.setText(f"{PUT_IN} ({why})")


def _explain(draft: Draft, path: str) -> str:
    name = split_path(path)[1]
    is_alone = name != "kind" and draft.spec(path).editor == "choice" and len(draft.spec(path).choices) < 2
    return "there is nothing else to choose" if is_alone else explain_unvaried(path)


def sweep_setting(draft: Draft, path: str) -> None:
    """Have the next sweep vary it, over what it is declared with, or around what it is."""
    section, name = split_path(path)
    if name == "kind":
        draft.swept.put(path, propose_text(None, None, fitting_kinds(draft, section)))
    else:
        draft.swept.put(path, propose_text(draft.spec(path), draft.value(path)))


def fitting_kinds(draft: Draft, section: str) -> list[str]:
    """The kinds of ``section`` that go with the draft's other settings; all where these are wrong."""
    base, path = draft.config(), f"{section}.kind"
    if base is None:
        return list(kinds(section))
    found = []
    for kind in kinds(section):
        if kind != draft.kind(section):
            try:
                read_space(base, [f"{path}={draft.kind(section)}|{kind}"], "random")
            except InputError:  # it asks for settings that this draft has not
                continue
        found.append(kind)
    return found


def make_mark(draft: Draft, path: str, title: str) -> QToolButton:
    """What stands in the row of a setting while the sweep varies it."""
    mark = icon_button(
        "sliders",
        f"{title} is varied by the sweep being prepared. Show it",
        clicked=lambda: draft.swept.asked.emit(path),
    )
    mark.setIcon(icon("sliders", "accent"))
    mark.setProperty("sweepMark", True)
    return mark
