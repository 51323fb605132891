"""What the model is made of: parameters, memory, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.pages.setup.previews.engine_query import EngineQuery
from studio.theme import SPACING
from studio.widgets import BigNumber, Card, dress_table, hbox, vbox
from training.answers import Layer, ModelSummary
from training.errors import format_bytes

AnyIndex = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
_COLUMNS = ("Layer", "Type", "Output", "Parameters")
_ROW_HEIGHT = 30
_MOST_ROWS = 14


class LayerTable(QAbstractTableModel):
    """The layers of a summary, in the order they run."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers: Sequence[Layer] = ()

    def replace(self, layers: Sequence[Layer]) -> None:
        """Show other layers."""
        self.beginResetModel()
        self._layers = layers
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._layers)

    def columnCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() >= 2:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            layer = self._layers[index.row()]
            return (layer.name or "the whole", layer.type, _shape(layer), _count(layer))[index.column()]
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _COLUMNS[section]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section >= 2 else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


def _shape(layer: Layer) -> str:
    return " × ".join(map(str, layer.output_shape)) if layer.output_shape is not None else "–"


def _count(layer: Layer) -> str:
    return f"{layer.parameters:,}" if layer.parameters else "–"


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
        self._layers = LayerTable(self._table)
        self._table.setModel(self._layers)
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
        self._layers.replace(answer.layers)
        rows = min(len(answer.layers), _MOST_ROWS)
        self._table.setFixedHeight(rows * _ROW_HEIGHT + self._table.horizontalHeader().sizeHint().height() + 6)
