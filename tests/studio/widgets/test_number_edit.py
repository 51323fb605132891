"""Numbers as people type them."""

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.widgets import NumberEdit, format_number, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("3E-4", 3e-4), (" .5 ", 0.5), ("−2", -2.0), ("1_000", 1000.0), ("+7.", 7.0), ("0", 0.0)],
)
def test_floats_are_understood(text: str, value: float) -> None:
    assert parse_number(text, "float") == (value, "")


@pytest.mark.parametrize(
    ("text", "value"), [("128", 128), ("1e4", 10_000), ("2.0", 2), ("9007199254740993", 2**53 + 1)]
)
def test_whole_numbers_are_understood(text: str, value: int) -> None:
    assert parse_number(text, "int") == (value, "")
    assert isinstance(parse_number(text, "int")[0], int)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", "float", "Enter a number"),
        ("1,5", "float", "1.5"),
        ("1e-", "float", "not finished"),
        ("abc", "float", "not a number"),
        ("nan", "float", "not a number"),
        ("inf", "float", "not a number"),
        ("1e999", "float", "too large"),
        ("1 2", "float", "not a number"),
        ("1.5", "int", "whole number"),
        ("many", "int", "not a whole number; write for example 1, 20 or 128."),
        ("1,5", "int", "not a whole number"),
        ("1,000", "int", "without commas: 1000."),
    ],
)
def test_anything_else_gets_a_sentence(text: str, kind: str, says: str) -> None:
    value, problem = parse_number(text, "int" if kind == "int" else "float")
    assert value is None
    assert says in problem
    assert problem.endswith(".")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "1e-3"),
        (3e-4, "3e-4"),
        (0.01, "0.01"),
        (128, "128"),
        (5.0, "5"),
        (1.25e-7, "1.25e-7"),
        (0.1 + 0.2, None),
    ],
)
def test_numbers_are_written_short_and_read_back_equal(value: float, text: str | None) -> None:
    assert text is None or format_number(value) == text
    assert parse_number(format_number(value), "float")[0] == value


def test_what_was_typed_stays(qtbot: QtBot) -> None:
    edit = NumberEdit()
    qtbot.addWidget(edit)
    qtbot.keyClicks(edit, "1e-3")
    assert edit.text() == "1e-3"
    assert edit.value() == 0.001
    qtbot.keyClicks(edit, "x")
    assert edit.text() == "1e-3x"
    assert edit.value() is None
    assert not edit.is_valid()
    assert "1e-3x" in edit.problem()


def test_an_empty_field_is_a_value_only_where_that_is_allowed(qtbot: QtBot) -> None:
    for optional in (True, False):
        edit = NumberEdit(optional=optional)
        qtbot.addWidget(edit)
        edit.setText("5")
        edit.clear()
        assert edit.value() is None
        assert edit.is_valid() == optional


def test_the_arrow_keys_step_sensibly(qtbot: QtBot) -> None:
    rate = NumberEdit(log=True, maximum=1.0)
    share = NumberEdit(step=0.05, minimum=0.0)
    size = NumberEdit("int", log=True, minimum=1)
    for edit in (rate, share, size):
        qtbot.addWidget(edit)
    rate.setText("1e-3")
    for key, modifier, shown in [
        (Qt.Key.Key_Up, Qt.KeyboardModifier.NoModifier, "0.002"),
        (Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier, "0.02"),
        (Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier, "0.002"),
        (Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier, "1e-3"),
    ]:
        qtbot.keyClick(rate, key, modifier)
        assert rate.text() == shown
    rate.setText("0.8")
    qtbot.keyClick(rate, Qt.Key.Key_Up)
    assert rate.value() == 1.0
    share.setText("0.1")
    qtbot.keyClick(share, Qt.Key.Key_Down)
    assert share.text() == "0.05"
    qtbot.keyClick(share, Qt.Key.Key_Down)
    qtbot.keyClick(share, Qt.Key.Key_Down)
    assert share.value() == 0.0
    size.setText("1")
    qtbot.keyClick(size, Qt.Key.Key_Down)
    assert size.value() == 1
    qtbot.keyClick(size, Qt.Key.Key_Up)
    assert size.value() == 2
    size.setText("many")
    qtbot.keyClick(size, Qt.Key.Key_Up)
    assert size.text() == "many"
