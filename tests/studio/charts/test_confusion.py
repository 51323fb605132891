"""What stands in the cells of the confusion matrix."""

from typing import Any

import pytest
from PySide6.QtGui import QPainter
from pytestqt.qtbot import QtBot

from studio.charts import confusion
from studio.charts.confusion import ConfusionMatrix


def test_a_rare_mistake_is_told_from_none(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Recorder(QPainter):
        def drawText(self, *arguments: Any) -> Any:
            written.append(arguments[-1])
            return super().drawText(*arguments)

    monkeypatch.setattr(confusion, "QPainter", Recorder)
    matrix = ConfusionMatrix()
    qtbot.addWidget(matrix)
    matrix.set_counts(["cat", "dog", "fox"], [[399, 1, 0], [0, 300, 100], [0, 0, 400]])
    matrix.resize(400, 400)
    matrix.grab()
    assert [text for text in written if text not in ("cat", "dog", "fox")] == ["100", "<1", "75", "25", "100"]
