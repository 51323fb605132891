"""Suspicious labels as a table: each with a tick, its image, the label that was given and the one that is suggested."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, dress_table
from training.predictions.suspicious import SuspiciousLabel

_ROW_HEIGHT = 26
_IMAGE = 40
_BESIDE = 44
"""Pixels of the tick and the space around it."""
_WIDEST = 400
_LEAST_HEIGHT = 300
_TITLES = ("Sample", "Given label", "Suggested", "Score")
_TIPS = (
    "Tick what is wrong",
    "The label that the data has",
    "The class that the sample is likelier of",
    "How improbable the given label is, from 0 to 1",
)


class SuspiciousModel(QAbstractTableModel):
    """A row for each label, the most suspicious first. ``find_image`` gives the image of a sample's number, None for none.

    Signals: `ticked()` when a tick was set or taken away.
    """

    ticked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.labels: Sequence[SuspiciousLabel] = ()
        self.ticks: set[int] = set()  # numbers of samples
        self.listed: set[int] = set()  # those on the exclude list, which have no tick
        self.find_image: Callable[[int], QImage | None] | None = None

    def replace(self, labels: Sequence[SuspiciousLabel]) -> None:
        """Show others; a tick stays with its sample."""
        self.beginResetModel()
        self.labels = labels
        self.endResetModel()

    def set_ticks(self, numbers: set[int]) -> None:
        """Tick these samples, and no others."""
        self.ticks = numbers
        self._tell_all([Qt.ItemDataRole.CheckStateRole])
        self.ticked.emit()

    def set_listed(self, numbers: set[int]) -> None:
        """Say of these samples that they are on the exclude list, and take their ticks away."""
        self.listed = numbers
        self.ticks -= numbers
        self._tell_all([])

    def show_images(self) -> None:
        """There are more images than before."""
        self._tell_all([Qt.ItemDataRole.DecorationRole])

    def toggle(self, row: int) -> None:
        """Tick the label in ``row``, or take its tick away; one on the exclude list has none."""
        if self.labels[row].number in self.listed:
            return
        self.ticks ^= {self.labels[row].number}
        index = self.index(row, 0)
        self.dataChanged.emit(index, index, [Qt.ItemDataRole.CheckStateRole])
        self.ticked.emit()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.labels)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        is_free = index.column() == 0 and self.labels[index.row()].number not in self.listed
        return super().flags(index) | (Qt.ItemFlag.ItemIsUserCheckable if is_free else Qt.ItemFlag.NoItemFlags)

    def setData(self, index: AnyIndex, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid():
            return False
        self.toggle(index.row())
        return True

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        found, column = self.labels[index.row()], index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            name = f"{found.name} · on the exclude list" if found.number in self.listed else found.name
            return (name, found.given, found.suggested, f"{found.score:.3f}")[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if column == len(_TITLES) - 1 else ALIGN_LEFT
        if column == 0 and role == Qt.ItemDataRole.CheckStateRole and found.number not in self.listed:
            return Qt.CheckState.Checked if found.number in self.ticks else Qt.CheckState.Unchecked
        if column == 0 and role == Qt.ItemDataRole.DecorationRole and self.find_image is not None:
            return _fit(self.find_image(found.number))
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section == len(_TITLES) - 1 else ALIGN_LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS[section]
        return _TITLES[section] if role == Qt.ItemDataRole.DisplayRole else None

    def _tell_all(self, roles: Sequence[Qt.ItemDataRole]) -> None:
        if self.labels:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.labels) - 1, 0), list(roles))


class SuspiciousTable(QTableView):
    """Signals: `label_chosen(SuspiciousLabel)` when a row is clicked beside its tick, or Enter pressed in it. Space ticks."""

    label_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.labels = SuspiciousModel(self)
        self.setModel(self.labels)
        dress_table(self, "Suspicious labels", _ROW_HEIGHT)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setResizeContentsPrecision(40)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMaximumSectionSize(_WIDEST)
        self.setMinimumHeight(_LEAST_HEIGHT)

    def set_images(self, find: Callable[[int], QImage | None] | None) -> None:
        """Show each sample's image, or none."""
        self.labels.find_image = find
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT if find is None else _IMAGE + 6)
        self.horizontalHeader().setMinimumSectionSize(-1 if find is None else _IMAGE + _BESIDE)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.isValid():
            self.label_chosen.emit(self.labels.labels[index.row()])
        elif event.key() == Qt.Key.Key_Space and index.isValid():
            self.labels.toggle(index.row())
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        before = set(self.labels.ticks)
        with QSignalBlocker(self):
            super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if before == self.labels.ticks and index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            self.label_chosen.emit(self.labels.labels[index.row()])  # not on the tick box


def _fit(image: QImage | None) -> QImage:
    """As large as a row has room for; an empty one of that size while there is none, so that names stay where they are."""
    if image is None:
        blank = QImage(_IMAGE, _IMAGE, QImage.Format.Format_ARGB32_Premultiplied)
        blank.fill(Qt.GlobalColor.transparent)
        return blank
    return image.scaled(_IMAGE, _IMAGE, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
