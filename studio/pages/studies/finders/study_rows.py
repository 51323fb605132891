"""The list of studies: kind and state, of which configuration, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from studio.pages.studies.finders.words import STATE_WORDS, in_words
from studio.panels.delegates import paint_pill
from studio.state.formats import format_ago
from studio.state.studies.summary import StudySummary
from studio.theme import RADIUS, SPACING, font, theme
from studio.widgets import wrap_tooltip
from studio.widgets.tables import NO_PARENT, AnyIndex

_STUDY = Qt.ItemDataRole.UserRole
_PAD = SPACING.m


def say(study: StudySummary) -> str:
    """What came of it, or what it does now."""
    return in_words(study.said, lambda _section: "")


def name_state(study: StudySummary) -> str:
    """Its state in a word or two: "At work 40 %"."""
    word = STATE_WORDS[study.state][0]
    return f"{word} {study.fraction:.0%}" if study.state == "working" and study.fraction else word


class _Rows(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.studies: tuple[StudySummary, ...] = ()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.studies)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        study = self.studies[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return study.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{study.title} of {study.name}, {name_state(study)}. {say(study)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return wrap_tooltip(f"{say(study)}\n{study.id}".strip())
        return study if role == _STUDY else None


class _Delegate(QStyledItemDelegate):
    """Three lines: kind and state; configuration and when; a sentence."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        heights = [QFontMetricsF(font(role)).height() for role in ("section", "caption", "caption")]
        return QSize(200, round(sum(heights)) + 2 * _PAD + 6)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        study: StudySummary = index.data(_STUDY)
        palette, box = theme().palette, QRectF(option.rect).adjusted(2, 1, -2, -1)
        chosen = bool(option.state & option.state.State_Selected)
        hovered = bool(option.state & option.state.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selection if chosen else palette.hover))
            painter.drawRoundedRect(box, RADIUS.medium, RADIUS.medium)
        inner = box.adjusted(_PAD, _PAD, -_PAD, -_PAD)
        tone, state = STATE_WORDS[study.state][1], name_state(study)
        face = font("caption")
        face.setWeight(face.Weight.Medium)
        pill = QFontMetricsF(face).horizontalAdvance(state) + 16
        top = inner.top()
        painter.setFont(font("section"))
        metrics = QFontMetricsF(painter.font())
        line = QRectF(inner.left(), top, inner.width() - pill - SPACING.s, metrics.height())
        painter.setPen(QColor(palette.text))
        painter.drawText(line, metrics.elidedText(study.title, Qt.TextElideMode.ElideRight, line.width()))
        paint_pill(painter, QPointF(inner.right() - pill, line.center().y()), state, tone)
        top = line.bottom() + 3
        painter.setFont(font("caption"))
        metrics = QFontMetricsF(painter.font())
        when = format_ago(study.created, time.time()) if study.created else ""
        for text, color in ((" · ".join(filter(None, (study.name, when))), palette.muted), (say(study), palette.muted)):
            line = QRectF(inner.left(), top, inner.width(), metrics.height())
            painter.setPen(QColor(color))
            painter.drawText(line, metrics.elidedText(text, Qt.TextElideMode.ElideRight, line.width()))
            top = line.bottom() + 3
        painter.restore()


class StudyRows(QListView):
    """Newest first. Signals: `chosen(str)` another study is to be shown, by its id."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._rows = _Rows(self)
        self.setModel(self._rows)
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName("Studies")
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setMinimumWidth(220)
        self.selectionModel().currentChanged.connect(self._on_current)
        self._current = ""

    def show_studies(self, studies: Sequence[StudySummary]) -> None:
        """Have these for rows; the one that was chosen stays so, or the newest is."""
        same = [each.id for each in self._rows.studies] == [each.id for each in studies]
        if same:
            self._rows.studies = tuple(studies)
            self._rows.dataChanged.emit(self._rows.index(0), self._rows.index(len(studies) - 1))
            return
        wanted = self._current
        self._rows.beginResetModel()
        self._rows.studies = tuple(studies)
        self._rows.endResetModel()
        row = next((row for row, each in enumerate(studies) if each.id == wanted), 0)
        if studies:
            self.setCurrentIndex(self._rows.index(row))

    def choose(self, study: str) -> None:
        """Select the one of that id, now or once it is listed."""
        self._current = study
        row = next((row for row, each in enumerate(self._rows.studies) if each.id == study), None)
        if row is not None:
            self.setCurrentIndex(self._rows.index(row))

    def current(self) -> StudySummary | None:
        """The one that is selected."""
        study: StudySummary | None = self.currentIndex().data(_STUDY)
        return study

    def _on_current(self) -> None:
        study = self.current()
        if study is not None:
            self._current = study.id
            self.chosen.emit(study.id)
