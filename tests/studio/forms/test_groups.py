"""Advanced settings that belong together stand under a heading of their own."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from training.config.describe import describe
from training.config.sections.data.dataset import ShapesDataset


def shown(form: SectionForm) -> list[str]:
    """What stands in the advanced part, from top to bottom: titles of rows, and headings in brackets."""
    parts = []
    for path, row in form.rows().items():
        if row.spec.advanced:
            parts.append((row.y(), path.partition(".")[2]))
    groups = {spec.group for spec in describe(ShapesDataset) if spec.group}
    parts += [(found.y(), f"[{found.text()}]") for found in form.findChildren(QLabel) if found.text() in groups]
    return [text for _, text in sorted(parts)]


def test_groups_follow_what_belongs_to_none(qtbot: QtBot) -> None:
    draft = Draft()
    form = SectionForm(draft, "dataset")
    qtbot.addWidget(form)
    form.resize(500, 2000)
    form.unfold_for("dataset.hue")
    form.show()
    found = shown(form)
    assert found[0] == "data_seed"
    headings = [place for place, text in enumerate(found) if text.startswith("[")]
    assert [found[place] for place in headings] == [
        *("[Geometry]", "[RandAugment]", "[Color jitter & blur]", "[Erasing & mixing]")
    ]
    group = {spec.name: spec.group for spec in describe(ShapesDataset)}
    for begin, end in zip(headings, [*headings[1:], len(found)], strict=True):
        assert {group[name] for name in found[begin + 1 : end]} == {found[begin][1:-1]}
    assert all(group[name] == "" for name in found[: headings[0]])


def test_headings_go_with_the_kind(qtbot: QtBot) -> None:
    draft = Draft()
    form = SectionForm(draft, "dataset")
    qtbot.addWidget(form)
    form.show()
    draft.set_kind("dataset", "spiral")
    qtbot.waitUntil(lambda: not [text for text in shown(form) if text.startswith("[")])
    draft.set_kind("dataset", "shapes")
    assert len([text for text in shown(form) if text.startswith("[")]) == 4
