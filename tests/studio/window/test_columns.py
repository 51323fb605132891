"""Two parts beside each other where there is room, else one below the other, and back."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.panels.columns import TwoColumns
from studio.widgets import scroll_area


def test_a_narrow_window_puts_the_side_below_without_scrolling_sideways(qtbot: QtBot) -> None:
    main, side = QWidget(), QWidget()
    main.setMinimumWidth(600)
    columns = TwoColumns(main, side)
    area = scroll_area(columns, "Columns")
    qtbot.addWidget(area)
    area.resize(1080, 700)
    area.show()
    qtbot.waitUntil(lambda: side.x() > main.x())
    area.resize(690, 560)
    qtbot.waitUntil(lambda: side.y() > main.y())
    assert area.horizontalScrollBar().maximum() == 0
    area.resize(1080, 700)
    qtbot.waitUntil(lambda: side.x() > main.x() and side.y() == main.y())
