"""Buttons, the switch, and a row of which exactly one is chosen."""

from collections.abc import Sequence

from PySide6.QtCore import Property, QEasingCurve, QPoint, QPropertyAnimation, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QToolTip,
    QWidget,
)

from studio.theme import IconRole, Variant, icon, set_variant, theme
from studio.theme.colors import mixed

_ICON_ROLES: dict[Variant, IconRole] = {
    "primary": "on_accent",
    "danger": "danger",
    "secondary": "text",
    "ghost": "muted",
}


def button(text: str, icon_name: str = "", variant: Variant = "secondary", *, tooltip: str = "") -> QPushButton:
    """A push button; the icon takes the colour that fits the variant."""
    made = QPushButton(text)
    set_variant(made, variant)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    if icon_name:
        made.setIcon(icon(icon_name, _ICON_ROLES[variant]))
        made.setIconSize(QSize(20, 16))  # the picture is square: the rest is the gap before the text
    made.setToolTip(tooltip)
    made.setAutoDefault(False)
    return made


def icon_button(icon_name: str, name: str, *, checkable: bool = False) -> QToolButton:
    """A button that is only an icon; `name` is its tool tip and what a screen reader says."""
    made = QToolButton()
    made.setIcon(icon(icon_name, "muted"))
    made.setIconSize(QSize(18, 18))
    made.setToolTip(name)
    made.setAccessibleName(name)
    made.setCheckable(checkable)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    return made


class Switch(QAbstractButton):
    """On or off, with a knob that slides. Space and Enter toggle it; `toggled(bool)` as on any button."""

    _TRACK = QSize(34, 20)
    _GAP = 9

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        off, on = QColor(palette.border_strong), QColor(palette.accent)
        if not self.isEnabled():
            off = on = QColor(palette.pressed)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(mixed(off, on, self._knob))
        painter.drawRoundedRect(track, 10, 10)
        knob = QColor("#ffffff") if self.isEnabled() else QColor(palette.surface)
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


class Segmented(QFrame):
    """A row of choices of which exactly one is taken. Signals: `current_changed(key)` when it is another one."""

    current_changed = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str]] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._buttons: dict[str, QToolButton] = {}
        self._group = QButtonGroup(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(2, 2, 2, 2)
        self._row.setSpacing(2)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        for key, text in options:
            self.add_option(key, text)

    def add_option(self, key: str, text: str, icon_name: str = "", tooltip: str = "") -> None:
        """Append a choice; the first one added is taken."""
        option = QToolButton()
        option.setText(text)
        option.setCheckable(True)
        option.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        option.setToolTip(tooltip)
        option.setAccessibleName(text or tooltip)
        if icon_name:
            option.setIcon(icon(icon_name, "muted"))
            option.setIconSize(QSize(16, 16))
            style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if text else Qt.ToolButtonStyle.ToolButtonIconOnly
            option.setToolButtonStyle(style)
        self._group.addButton(option)
        self._row.addWidget(option)
        self._buttons[key] = option
        if len(self._buttons) == 1:
            option.setChecked(True)
        option.toggled.connect(lambda checked: self._on_toggled(key, checked))

    def _on_toggled(self, key: str, checked: bool) -> None:
        if checked:
            self.current_changed.emit(key)

    def current(self) -> str:
        """The key that is taken, "" while there is none."""
        return next((key for key, option in self._buttons.items() if option.isChecked()), "")

    def set_current(self, key: str) -> None:
        """Take another choice. Raises KeyError for an unknown key."""
        self._buttons[key].setChecked(True)


class Hint(QToolButton):
    """An info icon that explains the thing beside it: on hover, on click and, with the keyboard, on Space."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setIcon(icon("info", "muted"))
        self.setIconSize(QSize(15, 15))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)
        self.clicked.connect(self._show)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Change the explanation."""
        self.setToolTip(wrapped_tooltip(text))
        self.setAccessibleName("Explanation")
        self.setAccessibleDescription(text)

    def _show(self) -> None:
        QToolTip.showText(self.mapToGlobal(self.rect().bottomLeft()), self.toolTip(), self)


def wrapped_tooltip(text: str) -> str:
    """Plain text as a tool tip that breaks its lines; Qt never breaks those of plain text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>")
    return f'<div style="max-width: 320px">{escaped}</div>' if text else ""
