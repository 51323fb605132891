"""Tables on the Setup page: the first rows, the roles, and columns chosen from a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from studio.charts.histogram import Histogram
from studio.forms.editors import SuggestEditor
from studio.forms.names_editor import NamesEditor
from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.dataset_preview import DatasetPreview
from studio.pages.setup.previews.model_preview import ModelPreview
from studio.panels.data.preview_frame import PreviewFrame
from studio.panels.data.table_card import TableCard
from tests.reports import inspect
from tests.studio.pages_setup.fakes import FakeContext, model_summary, refusal
from training.config import parse_config
from training.protocol.answers import TablePreview


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
    context.engine.inspections[-1].done(inspect(config))
    return page.findChildren(TableCard)[0]


def frame_of(page: SetupPage) -> PreviewFrame:
    return next(frame for frame in page.findChildren(PreviewFrame) if frame.findChildren(TableCard))


def cell(card: TableCard, row: int, column: int, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
    return card.model.data(card.model.index(row, column), role)


def test_the_first_rows_stand_below_what_their_columns_are_for(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    card = shown(qtbot, page, context, table, ignored=["kind"])
    assert card.isVisible()
    names = [card.model.headerData(number, Qt.Orientation.Horizontal) for number in range(5)]
    assert names == ["price", "a", "gappy", "kind", "when"]  # what is predicted first
    assert [cell(card, 0, number) for number in range(5)] == [
        *("target", "left out: numbers the rows", "feature", "ignored", "date: weekday")
    ]
    assert [cell(card, 1, number) for number in range(5)] == ["float", "int", "float", "string", "date"]
    assert cell(card, 2, 3) == "3 unique"
    assert [cell(card, 3, number) for number in (1, 2)] == ["none", "1"]
    assert [cell(card, 4, number) for number in range(5)] == ["0.5", "0", "0", "x", "2020-01-01"]
    assert cell(card, 6, 2) == ""
    inks = [cell(card, 5, number, Qt.ItemDataRole.ForegroundRole).color().name() for number in range(5)]
    assert len(set(inks)) == 3
    assert inks[1] == inks[3]  # what the model does not see
    card.view.grab()


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
    card = shown(qtbot, page, context, table, categorical=["gappy"])
    assert card.isVisible()
    frame = frame_of(page)
    assert frame.message() == "No samples to show: Fix the highlighted fields to see a preview."
    ((_, sentence),) = page.problem_sentences()  # the field says it
    assert "column 'gappy' holds fractions, which are no categories" in sentence
    assert "dataset.features" not in sentence
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
        ["int", "60", "none", "left out"],
        ["float", "59", "1", "feature"],
        ["string", "3", "none", "categorical"],
        ["date", "28", "none", "ignored"],
        ["float", "9", "none", "target"],
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
    assert [combo.itemText(row) for row in range(combo.count())] == ["a", "gappy", "kind", "when", "price"]  # type: ignore[attr-defined]


def target_editor(qtbot: QtBot, page: SetupPage) -> NamesEditor:
    """The editor of the target, with its list of columns open, which has the keyboard."""
    editor = page.forms[1].rows()["dataset.targets"].editor
    assert isinstance(editor, NamesEditor)
    qtbot.mouseClick(editor.choose_button, Qt.MouseButton.LeftButton)
    assert editor.list.isVisible()
    assert QApplication.focusWidget() is editor.list.view
    return editor


def box_of(editor: NamesEditor, name: str) -> tuple[QTreeWidgetItem, QPoint]:
    """The row of a column, and where its box is on the list."""
    (item,) = editor.list.view.findItems(name, Qt.MatchFlag.MatchExactly)
    row = editor.list.view.visualItemRect(item)
    return item, QPoint(row.left() + 10, row.center().y())


def click(qtbot: QtBot, editor: NamesEditor, place: QPoint) -> None:
    qtbot.mouseClick(editor.list.view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_a_click_anywhere_on_a_row_ticks_it_and_so_do_space_and_enter(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    editor = target_editor(qtbot, page)
    assert [item.text(0) for item in editor.list.view.selectedItems()] == ["a"]  # where the keyboard is
    for at in range(5):  # its name, what it holds, ...
        name = ("kind", "gappy")[at % 2]
        row = box_of(editor, name)[1].y()
        left = editor.list.view.columnViewportPosition(at)
        click(qtbot, editor, QPoint(left + editor.list.view.columnWidth(at) - 4, row))
        assert context.draft.value("dataset.targets") == [name]
    qtbot.keyClick(editor.list.view, Qt.Key.Key_Up)
    qtbot.keyClick(editor.list.view, Qt.Key.Key_Space)
    assert context.draft.value("dataset.targets") == ["gappy"]
    qtbot.keyClick(editor.list.view, Qt.Key.Key_Up)
    qtbot.keyClick(editor.list.view, Qt.Key.Key_Return)
    assert context.draft.value("dataset.targets") == ["a"]
    assert not editor.list.isVisible()
    context.draft.set("dataset.targets", ["gappy"])
    target_editor(qtbot, page)
    assert [item.text(0) for item in editor.list.view.selectedItems()] == ["gappy"]


def answer(page: SetupPage, context: FakeContext) -> None:
    """Let the engine say what it says of the table as the form has it."""
    config = context.draft.usable_config()
    assert config is not None
    context.engine.inspections[-1].done(inspect(config))


def test_a_click_hits_the_column_that_was_seen_although_a_preview_arrives(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    editor = target_editor(qtbot, page)
    names = [item.text(0) for item in editor.list.view.findItems("", Qt.MatchFlag.MatchContains)]
    assert names == ["a", "gappy", "kind", "when", "price"]  # as in the file, although price is the target
    place = box_of(editor, "gappy")[1]
    asked = len(context.engine.inspections)
    click(qtbot, editor, box_of(editor, "a")[1])
    assert context.draft.value("dataset.targets") == ["a"]
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    answer(page, context)  # the target is another one now
    assert box_of(editor, "a")[0].text(4) == "target"
    assert [item.text(0) for item in editor.list.view.findItems("", Qt.MatchFlag.MatchContains)] == names
    click(qtbot, editor, place)
    assert context.draft.value("dataset.targets") == ["gappy"]
    # Another file's columns wait until the list is closed.
    columns = [{"name": name, "holds": "text", "missing": 0, "distinct": 1, "role": ""} for name in ("x", "gappy")]
    other = {"columns": columns, "rows": [], "column_count": 2}
    page.previews.dataset.table = TablePreview.model_validate(other)
    page.previews.dataset.changed.emit()
    assert box_of(editor, "gappy")[1] == place
    assert box_of(editor, "gappy")[0].checkState(0) == Qt.CheckState.Checked
    qtbot.keyClick(editor.list, Qt.Key.Key_Escape)
    assert [item.text(0) for item in editor.list.view.findItems("", Qt.MatchFlag.MatchContains)] == ["x", "gappy"]


def test_one_target_is_taken_until_several_are_asked_for(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    editor = target_editor(qtbot, page)
    switch = editor.list.switch
    assert switch.text() == "Several targets"
    assert not switch.isChecked()
    for name in ("a", "price"):
        click(qtbot, editor, box_of(editor, name)[1])
        assert context.draft.value("dataset.targets") == [name]
    assert box_of(editor, "a")[0].checkState(0) == Qt.CheckState.Unchecked
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    click(qtbot, editor, box_of(editor, "a")[1])
    assert context.draft.value("dataset.targets") == ["price", "a"]
    qtbot.keyClick(editor.list, Qt.Key.Key_Escape)
    assert target_editor(qtbot, page).list.switch.isChecked()  # there are several
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert context.draft.value("dataset.targets") == ["a"]
    qtbot.keyClick(editor.list, Qt.Key.Key_Escape)
    assert not target_editor(qtbot, page).list.switch.isChecked()
    left_out = page.forms[1].rows()["dataset.ignored"].editor
    assert isinstance(left_out, NamesEditor)
    assert left_out.list.several
    assert not left_out.list.switch.isVisibleTo(left_out.list)


def test_a_task_of_labels_offers_several_targets_at_once(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    context.draft.set_kind("objective", "multi_label")
    editor = target_editor(qtbot, page)
    assert editor.list.switch.isChecked()
    for name in ("a", "gappy"):
        click(qtbot, editor, box_of(editor, name)[1])
    assert context.draft.value("dataset.targets") == ["a", "gappy"]


def test_start_waits_until_what_was_chosen_can_be_seen(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    card = shown(qtbot, page, context, table, ignored=["when"])
    assert page.bar.start_button.isEnabled()
    asked = len(context.engine.inspections)
    context.draft.set("dataset.targets", ["gappy"])
    sentence = "Reading the preview of gappy …"
    assert not page.bar.start_button.isEnabled()
    assert page.bar.reason.text() == page.bar.start_button.toolTip() == context.held == sentence
    page.bar.start_asked.emit()
    assert context.started == []
    assert [cell(card, 0, number) for number in range(5)] == [""] * 5  # nobody says that it is the price any more
    assert not [each for each in page.findChildren(Histogram) if each.isVisibleTo(page)]
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    assert page.bar.reason.text() == sentence
    answer(page, context)
    assert page.bar.start_button.isEnabled()
    assert context.held == ""
    assert card.model.headerData(0, Qt.Orientation.Horizontal) == "gappy"
    context.draft.set("dataset.targets", [])
    assert page.bar.reason.text() == "Reading the preview of t.csv …"
    asked = len(context.engine.inspections)
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].failed(refusal("The engine ended."))
    assert page.bar.start_button.isEnabled()  # nothing comes any more
    context.draft.set("loop.epochs", 3)
    assert page.bar.start_button.isEnabled()


def test_a_page_that_is_left_before_it_asked_still_holds_start_back(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    shown(qtbot, page, context, table, ignored=["when"])
    context.draft.set("dataset.targets", ["gappy"])
    page.hide()
    assert context.held == "Reading the preview of gappy …"
    page.show()
    asked = len(context.engine.inspections)
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    answer(page, context)
    assert context.held == ""


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
    context.engine.inspections[-1].done(inspect(config))
    assert not card.isVisible()
    assert frame_of(page).message() == ""


def test_nothing_of_other_data_remains_while_it_is_read(
    qtbot: QtBot, page: SetupPage, context: FakeContext, table: Path
) -> None:
    """Table, bars, figures and the network built for it: gone at once, and said to be on their way."""
    card = shown(qtbot, page, context, table, ignored=["when"], targets=["kind"])
    context.engine.summaries[-1].done(model_summary())
    content = page.findChild(DatasetPreview)
    (network,) = page.findChildren(ModelPreview)
    assert content is not None
    assert not card.isHidden()
    assert not content.isHidden()
    assert not network.isHidden()
    other = table.with_name("other.csv")
    other.write_text("x,y\n1,2\n3,4\n")
    asked = len(context.engine.inspections)
    context.draft.set("dataset.path", str(other))
    assert card.isHidden()
    assert content.isHidden()
    assert network.isHidden()
    assert frame_of(page).message() == "Reading the dataset: "
    editor = page.forms[1].rows()["dataset.targets"].editor
    assert isinstance(editor, NamesEditor)
    assert editor.choose_button.isHidden()  # nor a list of its columns
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    answer(page, context)
    assert not card.isHidden()
    context.draft.set_kind("dataset", "text")  # of which no file is chosen yet
    assert card.isHidden()
    assert content.isHidden()
    assert frame_of(page).message() == "No samples to show: Fill in the required fields to see a preview."


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
