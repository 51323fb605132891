"""Tables on the Setup page: the first rows, the roles, and columns chosen from a list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.charts.histogram import Histogram
from studio.forms.editors import SuggestEditor
from studio.forms.names_editor import NamesEditor
from studio.pages.setup.page import SetupPage
from studio.pages.setup.preview_frame import PreviewFrame
from studio.pages.setup.table_card import TableCard
from tests.studio.pages_setup.fakes import FakeContext
from training.config import parse_config
from training.data.inspect import inspect_dataset


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = [f"{i},{'' if i == 2 else i * 0.5},{'xyz'[i % 3]},2020-01-{i % 28 + 1:02},{i % 9}.5" for i in range(60)]
    (tmp_path / "t.csv").write_text("a,gappy,kind,when,price\n" + "\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def shown(qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path, **settings: Any) -> TableCard:
    """The page with the engine's own answer for the table."""
    config = parse_config(
        {
            "dataset": {"kind": "table", "path": str(table), **settings},
            "model": {"kind": "tabular"},
            "objective": {"kind": "regression"},
        }
    )
    asked = len(context.engine.inspections)
    context.draft.set_config(config)
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].done(json.loads(json.dumps(inspect_dataset(config))))
    return page.findChildren(TableCard)[0]


def frame_of(page: SetupPage) -> PreviewFrame:
    return next(frame for frame in page.findChildren(PreviewFrame) if frame.findChildren(TableCard))


def cell(card: TableCard, row: int, column: int, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
    return card.model.data(card.model.index(row, column), role)


def test_the_first_rows_stand_below_what_their_columns_are_for(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    card = shown(qtbot, page, context, table, ignored=["when"])
    assert card.isVisible()
    names = [card.model.headerData(number, Qt.Orientation.Horizontal) for number in range(5)]
    assert names == ["price", "a", "gappy", "kind", "when"]  # what is predicted first
    assert [cell(card, 0, number) for number in range(5)] == ["target", "feature", "feature", "category", "left out"]
    assert [cell(card, 1, number) for number in range(5)] == ["numbers", "whole numbers", "numbers", "text", "dates"]
    assert cell(card, 2, 3) == "3 different"
    assert [cell(card, 3, number) for number in (1, 2)] == ["none", "1"]
    assert [cell(card, 4, number) for number in range(5)] == ["0.5", "0", "0", "x", "2020-01-01"]
    assert cell(card, 6, 2) == ""
    inks = [cell(card, 5, number, Qt.ItemDataRole.ForegroundRole).color().name() for number in (0, 1, 4)]
    assert len(set(inks)) == 3
    histograms = [each for each in page.findChildren(Histogram) if each.isVisibleTo(page)]
    assert len(histograms) == 1
    assert histograms[0].accessibleName() == "price: 48 values from 0.5 to 8.5"
    card.view.grab()
    histograms[0].grab()


def test_a_view_of_some_columns_ends_with_a_whole_one(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    view = shown(qtbot, page, context, table, ignored=["when"]).view
    header = view.horizontalHeader()
    for width in (300, 345, 2000):
        view.setMinimumWidth(width)
        view.setMaximumWidth(width)
        qtbot.waitUntil(lambda width=width: view.width() == width)  # type: ignore[misc]
        ends = [header.sectionPosition(at) + header.sectionSize(at) for at in range(header.count())]
        assert view.viewport().width() in ends or ends[-1] < view.viewport().width()
        needed = [max(view.sizeHintForColumn(at), header.sectionSizeHint(at)) for at in range(header.count())]
        assert all(header.sectionSize(at) >= needed[at] for at in range(header.count()))


def test_what_cannot_be_is_said_above_the_table_that_shows_it(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    card = shown(qtbot, page, context, table)
    assert card.isVisible()
    frame = frame_of(page)
    assert "Column 'when' holds dates or times: split it into numbers" in frame.message()
    assert "dataset.features" not in frame.message()
    assert "price" in [card.model.headerData(number, Qt.Orientation.Horizontal) for number in range(5)]


def test_columns_are_ticked_in_a_list(qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    editor = page.forms[1].rows()["dataset.ignored"].editor
    assert isinstance(editor, NamesEditor)
    qtbot.mouseClick(editor.choose_button, Qt.MouseButton.LeftButton)
    assert editor.list.isVisible()
    assert page.window().geometry().contains(editor.list.geometry())
    items = {item.text(0): item for item in editor.list.view.findItems("", Qt.MatchFlag.MatchContains)}
    assert [name for name, item in items.items() if item.checkState(0) == Qt.CheckState.Checked] == ["when"]
    assert [[item.text(at) for at in range(1, 5)] for item in items.values()] == [
        ["numbers", "9", "none", "target"],
        ["whole numbers", "60", "none", "feature"],
        ["numbers", "59", "1", "feature"],
        ["text", "3", "none", "category"],
        ["dates", "28", "none", "left out"],
    ]
    items["gappy"].setCheckState(0, Qt.CheckState.Checked)
    assert context.draft.value("dataset.ignored") == ["when", "gappy"]
    items["when"].setCheckState(0, Qt.CheckState.Unchecked)
    assert context.draft.value("dataset.ignored") == ["gappy"]
    qtbot.keyClick(editor.list, Qt.Key.Key_Escape)
    assert not editor.list.isVisible()
    group = page.forms[1].rows()["dataset.group_column"].editor
    assert isinstance(group, SuggestEditor)
    assert group.value() is None
    combo = group.control
    assert [combo.itemText(row) for row in range(combo.count())] == ["price", "a", "gappy", "kind", "when"]  # type: ignore[attr-defined]


def test_names_with_commas_are_typed_in_quotes(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table)
    editor = page.forms[1].rows()["dataset.features"].editor
    assert isinstance(editor, NamesEditor)
    qtbot.keyClicks(editor.findChildren(QLineEdit)[0], 'a, "b, c"')
    assert context.draft.value("dataset.features") == ["a", "b, c"]


def test_the_table_goes_with_its_dataset(qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path) -> None:
    card = shown(qtbot, page, context, table, ignored=["when"])
    asked = len(context.engine.inspections)
    context.draft.set_config(parse_config({"dataset": {"kind": "moons", "samples": 60}, "model": {"kind": "mlp"}}))
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    config = context.draft.usable_config()
    assert config is not None
    context.engine.inspections[-1].done(json.loads(json.dumps(inspect_dataset(config))))
    assert not card.isVisible()
    assert frame_of(page).message() == ""


def test_a_task_that_the_target_is_not_for_is_doubted_in_the_form(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    assert not context.draft.problems()
    shown(qtbot, page, context, table, ignored=["when"], targets=["kind"])
    (problem,) = context.draft.problems()
    assert problem.path == "objective.kind"
    assert problem.message.startswith("regression needs numbers to predict, but table gives one class for each sample")
    context.draft.apply(problem.fix)
    assert not context.draft.problems()
