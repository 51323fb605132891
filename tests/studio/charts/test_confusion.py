"""What stands in the cells of the confusion matrix."""

from typing import Any

import pytest
from PySide6.QtGui import QPainter
from pytestqt.qtbot import QtBot

from studio.charts import confusion
from studio.charts.confusion import ConfusionMatrix
from studio.charts.confusion_picker import ConfusionPicker


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


def test_names_of_a_single_digit_stand_beside_their_rows(qtbot: QtBot) -> None:
    """They are as narrow as the handles that stand where no name fits."""
    images = []
    for kind in (ConfusionMatrix, ConfusionPicker):
        matrix = kind()
        qtbot.addWidget(matrix)
        matrix.set_counts([f"{digit}" for digit in range(10)], [[1] * 10] * 10)
        matrix.resize(400, 400)
        images.append(matrix.grab().toImage())
    assert images[0] == images[1]
