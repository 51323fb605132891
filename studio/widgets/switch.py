"""The switch: a check box with a knob that slides."""

from PySide6.QtCore import Property, QEasingCurve, QPoint, QPropertyAnimation, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from studio.theme import theme
from studio.theme.theme import mix


class Switch(QAbstractButton):
    """On or off, with a knob that slides. Space and Enter toggle it; `toggled(bool)` as on any button."""

    _TRACK = QSize(34, 20)
    _GAP = 9

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setText(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._knob = 0.0
        self._slide = QPropertyAnimation(self, b"knob", self)
        self._slide.setDuration(120)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self.toggled.connect(self._on_toggled)

    def sizeHint(self) -> QSize:
        text = self.fontMetrics().horizontalAdvance(self.text()) + self._GAP if self.text() else 0
        height = max(self._TRACK.height(), self.fontMetrics().height()) + 4
        return QSize(self._TRACK.width() + 4 + text, height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def hitButton(self, position: QPoint) -> bool:
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(2, (self.height() - self._TRACK.height()) / 2, self._TRACK.width(), self._TRACK.height())
        off, on = QColor(palette.faint), QColor(palette.accent)
        if not self.isEnabled():
            off = on = QColor(palette.pressed)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mix(off, on, self._knob))
        painter.drawRoundedRect(track, 10, 10)
        knob = mix(QColor("#ffffff"), QColor(palette.on_accent), self._knob)
        if not self.isEnabled():
            knob = QColor(palette.surface)
        painter.setBrush(knob)
        painter.drawEllipse(QRectF(track.left() + 3 + 14 * self._knob, track.top() + 3, 14, 14))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(palette.accent_text), 1.5))
            painter.drawRoundedRect(track.adjusted(-1.25, -1.25, 1.25, 1.25), 11, 11)
        if self.text():
            painter.setPen(QColor(palette.text if self.isEnabled() else palette.faint))
            left = int(track.right()) + self._GAP
            painter.drawText(left, 0, self.width() - left, self.height(), Qt.AlignmentFlag.AlignVCenter, self.text())

    def _on_toggled(self, checked: bool) -> None:
        self._slide.stop()
        if not self.isVisible():
            self._set_knob(float(checked))
            return
        self._slide.setEndValue(float(checked))
        self._slide.start()

    def _get_knob(self) -> float:
        return self._knob

    def _set_knob(self, position: float) -> None:
        self._knob = position
        self.update()

    knob = Property(float, _get_knob, _set_knob)  # 0 left, 1 right: what the animation moves
