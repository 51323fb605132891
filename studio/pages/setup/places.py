"""Where on the page something is wrong or missing: named by the start bar, marked on the tabs. What is wrong says the field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from PySide6.QtWidgets import QTabBar

from studio.forms.messages import with_title
from studio.forms.section_form import SectionForm
from studio.forms.waiting import is_waiting
from studio.pages.setup.panel import Panel
from studio.state.drafts.draft import Draft
from studio.theme import icon
from training.errors import pluralize


@dataclass(frozen=True)
class Place:
    """A setting to be put right: its ``path``, what it is ``called`` on the page ("Dataset › Folder"), the ``sentence`` that its
    form says with the field's name, what would mend it, and whether it only waits for its first value."""

    path: str
    called: str
    sentence: str
    fix: Mapping[str, JsonValue]
    waits: bool


def find_places(draft: Draft, forms: Iterable[SectionForm]) -> list[Place]:
    """One for each setting with a problem, in the order of the file."""
    places: dict[str, Place] = {}
    for problem in draft.problems():
        for form in forms:
            path = form.stem(problem.path)
            if form.knows(path):
                title, sentence = form.sentence(path)
                said = f"{form.heading} › {title}", with_title(title, sentence)
                places.setdefault(path, Place(path, *said, problem.fix, is_waiting(draft, problem)))
    return list(places.values())


def describe_places(places: Sequence[Place]) -> str:
    """How many there are, in front of their names."""
    wrong = [place for place in places if not place.waits]
    return f"{pluralize(len(wrong), 'setting')} to put right" if wrong else "Still needed"


def mark_tabs(tabs: QTabBar, panels: Sequence[Panel], places: Sequence[Place]) -> None:
    """Show on each tab whether its panel is complete."""
    for number, panel in enumerate(panels):
        here = [place for place in places if any(form.knows(place.path) for form in panel.forms)]
        wrong = sum(not place.waits for place in here)
        if wrong:
            sign, state = icon("warning", "danger"), f"{pluralize(wrong, 'setting')} to put right"
        elif here:
            sign, state = icon("dot", "muted"), f"{pluralize(len(here), 'setting')} still needed"
        else:
            sign, state = icon("check", "success"), "ready"
        tabs.setTabIcon(number, sign)
        tabs.setTabToolTip(number, state[:1].upper() + state[1:])
        tabs.setAccessibleTabName(number, f"{tabs.tabText(number).replace('&&', 'and')}, {state}")
