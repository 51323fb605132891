"""What the model is made of: parameters, memory, layer by layer."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.panels.data.engine_query import EngineQuery
from studio.theme import SPACING
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, BigNumber, Card, dress_table, hbox, let_grow, vbox
from training.errors import format_bytes
from training.protocol.answers import Layer, ModelSummary

_COLUMNS = ("Layer", "Type", "Output", "Parameters")
_ALIGNMENTS = (ALIGN_LEFT, ALIGN_LEFT, ALIGN_RIGHT, ALIGN_RIGHT)
_ROW_HEIGHT = 30
_LEAST_ROWS = 14


def _make_row(layer: Layer) -> list[QStandardItem]:
    shape = " × ".join(map(str, layer.output_shape)) if layer.output_shape is not None else "–"
    count = f"{layer.parameters:,}" if layer.parameters else "–"
    row = [QStandardItem(text) for text in (layer.name or "the whole", layer.type, shape, count)]
    for at, item in enumerate(row):
        item.setToolTip(item.text())
        item.setTextAlignment(_ALIGNMENTS[at])
    return row


class ModelPreview(QWidget):
    """Four figures and the table."""

    def __init__(self, question: EngineQuery[ModelSummary]) -> None:
        super().__init__()
        self._question = question
        self._parameters = BigNumber("Parameters")
        self._memory = BigNumber("Parameter size")
        self._input = BigNumber("Input shape")
        self._outputs = BigNumber("Outputs")
        figures = hbox(
            (self._parameters, 1), (self._memory, 1), (self._input, 1), (self._outputs, 1), spacing=SPACING.l
        )
        summary = Card()
        summary.add(figures)
        self._table = QTableView()
        self._layers = QStandardItemModel(0, len(_COLUMNS), self._table)
        for column, title in enumerate(_COLUMNS):
            self._layers.setHorizontalHeaderItem(column, QStandardItem(title))
            self._layers.horizontalHeaderItem(column).setTextAlignment(_ALIGNMENTS[column])
        self._table.setModel(self._layers)
        self._table.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self._dress_table()
        layers = Card("Layers", "layers")
        layers.add(self._table)
        vbox(summary, layers, parent=self, spacing=SPACING.l)
        question.changed.connect(self._update)
        self._update()

    def _dress_table(self) -> None:
        table = self._table
        dress_table(table, "Layers of the model", _ROW_HEIGHT)
        table.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        table.verticalHeader().hide()
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setResizeContentsPrecision(200)

    def _update(self) -> None:
        answer = self._question.answer
        if answer is None:
            return
        fixed = answer.parameters - answer.trainable_parameters
        self._parameters.set_value(f"{answer.parameters:,}")
        self._parameters.set_delta(f"{fixed:,} of them frozen" if fixed else "")
        self._memory.set_value(format_bytes(answer.parameter_bytes))
        self._input.set_value("×".join(map(str, answer.input_shape)) or "–")
        self._outputs.set_value(f"{answer.outputs:,}")
        self._layers.removeRows(0, self._layers.rowCount())
        for layer in answer.layers:
            self._layers.appendRow(_make_row(layer))
        rows, head = len(answer.layers), self._table.horizontalHeader().sizeHint().height() + 6
        let_grow(self._table, min(rows, _LEAST_ROWS) * _ROW_HEIGHT + head, rows * _ROW_HEIGHT + head)
