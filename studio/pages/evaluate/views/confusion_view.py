"""Which class was taken for which, and the samples behind each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QBoxLayout, QScrollArea

from studio.charts.confusion_picker import Box, ConfusionPicker
from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.row_table import RowTable
from studio.state.context import AppContext
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_percent
from studio.theme import SPACING, theme
from studio.widgets import STRETCH, Segmented, hbox, icon_button, in_widget, label, vbox
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.confusions import Counts, Mistake, count_confusions, find_cells, find_mistakes
from training.system.plain_table import Table

_LEAST, _MOST = 240, 620
"""Pixels of the matrix: at least, and before a person enlarges it."""
_AROUND = 130
"""Pixels above and below the matrix."""
_BESIDE = 760
"""Pixels of the card from which the mistakes are beside the matrix."""
_WITH_BUTTONS = 500
"""Pixels of the card whose head has room for all buttons; the wheel does what these do."""
_SHARE = 0.6
"""Of the matrix then."""
_MOST_MISTAKES = 50
_EDGE = 4
"""Pixels that keep the scroll bars away from a matrix that fits."""
_ZOOM = 1.25
_LARGEST = 40
"""Pixels of a cell, as ``ConfusionMatrix`` has it: more is not to be had."""


class ConfusionView(View):
    """The matrix with the mistakes that are made most often beside it."""

    key = "confusion"
    heading = "Confusion matrix"
    tab = "Confusion"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self._names: Sequence[str] = ()
        self._zoom = 1.0
        self._target: NDArray[np.int32] = np.zeros(0, np.int32)
        self._prediction: NDArray[np.int32] = np.zeros(0, np.int32)
        self.counts: Counts = np.zeros((0, 0), np.int64)
        self._settled = QTimer(self, singleShot=True, interval=0)  # once the layouts around it have been counted again
        self._settled.timeout.connect(self._size)
        self.figures = Segmented([("rates", "Rates"), ("counts", "Counts")])
        self.figures.setAccessibleName("What the cells tell")
        self.figures.current_changed.connect(self._show_figures)
        self.matrix = ConfusionPicker()
        self.matrix.chosen.connect(self._on_chosen)
        self.area = _Area(self.matrix, self._zoom_by)
        self.smaller = icon_button("minus", "Smaller cells (Ctrl+Wheel)", clicked=lambda: self._zoom_by(-1))
        self.larger = icon_button("plus", "Larger cells (Ctrl+Wheel)", clicked=lambda: self._zoom_by(1))
        self.pointed = label("", "caption")
        self.pointed.setMinimumWidth(1)  # a long name widens no card
        self.matrix.pointed.connect(self.pointed.setText)
        self.mistakes: Sequence[Mistake] = ()
        self.frequent = RowTable("Most frequent mistakes", ("True", "Predicted as", "Samples", "Of the class"), (2, 3))
        self.frequent.row_chosen.connect(self._choose_mistake)
        self.add_action(self.figures, self.smaller, self.larger)
        self.set_subtitle(
            "Rows: true class. Columns: predicted class. Color and rates: percent of the row. Click or drag to select."
        )
        whole = in_widget(vbox(self.area, self.pointed, STRETCH))
        mistakes = in_widget(vbox(label("Most frequent mistakes", "caption"), (self.frequent, 1)))
        self._sides = hbox((whole, 3), (mistakes, 2), spacing=SPACING.l)
        self.add((self._sides, 1))
        self.offer(self.matrix, self._tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.target == "class" and "prediction" in record.columns

    def show_evaluation(self, evaluation: Evaluation) -> None:
        names = evaluation.record.names
        if names != self._names:
            self._zoom = 1.0
        self._names = names
        self._target, self._prediction = evaluation.column("target"), evaluation.column("prediction")

    def follow(self) -> None:
        mask = self.selection.mask_of_others(self.key)
        self.counts = count_confusions(self._target, self._prediction, len(self._names), mask)
        self.matrix.set_counts(self._names, self.counts)
        place = self.find_chosen()
        self.matrix.mark(place if isinstance(place, Box) else None)
        self.mistakes, names = find_mistakes(self.counts, _MOST_MISTAKES), self._names
        self.frequent.rows.replace(
            [
                (names[each.true], names[each.predicted], f"{each.samples:,}", format_percent(each.share))
                for each in self.mistakes
            ]
        )
        self._size()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settled.start()

    def fit_height(self) -> None:
        self._settled.start()

    def _size(self) -> None:
        """As large as the card has room, up to a limit; then as the person zoomed it. The mistakes are beside it where both fit."""
        width = self._sides.geometry().width()
        is_wide = width >= _BESIDE * max(theme().font_scale, 1.0)
        directions = QBoxLayout.Direction
        self._sides.setDirection(directions.LeftToRight if is_wide else directions.TopToBottom)
        wide = round((width - self._sides.spacing()) * _SHARE) if is_wide else width
        high = self._height - _AROUND if self._height is not None else _MOST
        room = min(max(min(wide, high), _LEAST), _MOST)
        self.matrix.fit(room - _EDGE, self._zoom)
        self.matrix.resize(self.matrix.sizeHint())
        bar = self.area.horizontalScrollBar().sizeHint().height() if self._zoom > 1 else 0
        self.area.setFixedHeight(min(self.matrix.sizeHint().height(), room) + bar + 2)
        classes = max(len(self._names), 1)
        self.smaller.setEnabled(self._zoom > 1)
        self.larger.setEnabled(room * self._zoom / classes < _LARGEST)
        is_of_use = (
            self.smaller.isEnabled() or self.larger.isEnabled()
        )  # of few classes the cells are as large as can be
        for each in (self.smaller, self.larger):
            each.setVisible(is_of_use and self.width() >= _WITH_BUTTONS * max(theme().font_scale, 1.0))

    def _zoom_by(self, notches: int) -> None:
        self._zoom = min(max(self._zoom * _ZOOM**notches, 1.0), max(1.0, _LARGEST * len(self._names) / _LEAST))
        self._size()

    def _show_figures(self, figures: str) -> None:
        self.matrix.set_figures("counts" if figures == "counts" else "rates")

    def _choose_mistake(self, row: int) -> None:
        mistake = self.mistakes[row]
        self._on_chosen(Box(mistake.true, mistake.predicted, mistake.true, mistake.predicted))

    def _on_chosen(self, box: Box | None) -> None:
        if box is None:
            self.selection.remove(self.key)
        else:
            self.choose(describe_box(self._names, box), partial(find_cells, **box._asdict()), box)

    def _tabulate(self) -> Table:
        """A row for each true class, as the matrix shows it."""
        columns = {name: self.counts[:, at].tolist() for at, name in enumerate(self._names)}
        return {"true \\ predicted": list(self._names), **columns}


class _Area(QScrollArea):
    """Scrolls a matrix that was enlarged; Ctrl with the wheel enlarges it."""

    def __init__(self, matrix: ConfusionPicker, zoom_by: Callable[[int], object]) -> None:
        super().__init__()
        self._zoom_by = zoom_by
        self.setWidget(matrix)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        matrix.setAutoFillBackground(False)
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.valueChanged.connect(matrix.update)  # its names keep to the edges

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.accept()
            self._zoom_by(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)


def describe_box(names: Sequence[str], box: Box) -> str:
    """What a box of cells stands for, for a chip."""
    last = len(names) - 1
    if box.top == box.bottom and box.left == box.right:
        return f"“{names[box.top]}” predicted as “{names[box.left]}”"
    parts = []
    if (box.top, box.bottom) != (0, last):
        parts.append(f"True: {_describe_span(names, box.top, box.bottom)}")
    if (box.left, box.right) != (0, last):
        parts.append(f"predicted: {_describe_span(names, box.left, box.right)}")
    words = ", ".join(parts) or "All classes"
    return words[0].upper() + words[1:]


def _describe_span(names: Sequence[str], first: int, last: int) -> str:
    return (
        f"“{names[first]}”" if first == last else f"“{names[first]}” to “{names[last]}” ({last - first + 1:,} classes)"
    )
