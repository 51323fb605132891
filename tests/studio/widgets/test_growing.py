"""Parts that take the height which the others leave."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.widgets import GrowingRoom, label, let_grow, scroll_area, vbox
from studio.widgets.growing import share_out


def test_each_gets_an_equal_share_and_who_needs_less_leaves_the_rest() -> None:
    assert share_out(100, [(30, 200), (30, 200)]) == [50, 50]
    assert share_out(300, [(30, 60), (30, 400)]) == [60, 240]
    assert share_out(1000, [(30, 60), (30, 400)]) == [60, 400]
    assert share_out(10, [(30, 60), (30, 400)]) == [30, 30]
    assert share_out(10, []) == []


def test_parts_fill_the_room_and_give_it_back(qtbot: QtBot) -> None:
    first, second, content = QWidget(), QWidget(), QWidget()
    words = label("below")
    vbox(first, vbox(second), words, parent=content, spacing=0)
    area = scroll_area(content, "Cards")
    qtbot.addWidget(area)
    GrowingRoom(area)
    let_grow(first, 50, 1000)
    let_grow(second, 50, 90)
    area.resize(300, 600)
    area.show()
    rest = words.sizeHint().height()
    qtbot.waitUntil(lambda: (first.height(), second.height()) == (600 - 90 - rest, 90))
    assert area.verticalScrollBar().maximum() == 0
    second.hide()
    qtbot.waitUntil(lambda: first.height() == 600 - rest)
    second.show()
    let_grow(second, 20, 30)  # something else is shown in it
    qtbot.waitUntil(lambda: (first.height(), second.height()) == (600 - 30 - rest, 30))
    area.resize(300, 60)
    qtbot.waitUntil(lambda: (first.height(), second.height()) == (50, 20))
    assert area.verticalScrollBar().maximum() > 0
