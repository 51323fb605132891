"""Buttons, and a row of which exactly one is chosen."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QToolTip,
    QWidget,
)

from studio.theme import IconRole, Variant, icon, set_property, set_variant
from studio.widgets.layouts import hbox

_ICON_ROLES: dict[Variant, IconRole] = {
    "primary": "on_accent",
    "danger": "danger",
    "secondary": "text",
    "ghost": "muted",
}


Slot = Callable[..., object] | SignalInstance


def button(
    text: str,
    icon_name: str = "",
    variant: Variant = "secondary",
    *,
    tooltip: str = "",
    clicked: Slot | None = None,
) -> QPushButton:
    """A push button; the icon takes the color that fits the variant."""
    made = QPushButton(text)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    dress_button(made, icon_name, variant)
    made.setToolTip(tooltip)
    made.setAutoDefault(False)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made


def dress_button(made: QPushButton, icon_name: str, variant: Variant) -> None:
    """Make a button louder or quieter; its icon takes the color that fits."""
    set_variant(made, variant)
    if icon_name:
        made.setIcon(icon(icon_name, _ICON_ROLES[variant]))
        made.setIconSize(
            QSize(20 if made.text() else 16, 16)
        )  # the image is square: the rest is the gap before the text


def icon_button(icon_name: str, name: str, *, clicked: Slot | None = None) -> QToolButton:
    """A button that is only an icon; `name` is its tool tip and what a screen reader says."""
    made = QToolButton()
    made.setIcon(icon(icon_name, "muted"))
    made.setIconSize(QSize(18, 18))
    made.setToolTip(name)
    made.setAccessibleName(name)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made


def find_taken(
    button: QAbstractButton, others: Iterable[QAbstractButton], reason: Qt.FocusReason
) -> QAbstractButton | None:
    """Which of ``others`` Tab has come for when it comes to ``button``: of choices, that which is taken. None where it is the right one."""
    if button.isChecked() or reason not in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
        return None
    return next((other for other in others if other.isChecked()), None)


class _Option(QToolButton):
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if taken := find_taken(self, self.group().buttons(), event.reason()):
            taken.setFocus(event.reason())


class Segmented(QFrame):
    """A row of choices of which exactly one is taken. Signals: `current_changed(key)` when it is another one."""

    current_changed = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__()
        self._buttons: dict[str, QToolButton] = {}
        self._group = QButtonGroup(self)
        self._row = hbox(parent=self, spacing=2, margins=2)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        for key, text in options:
            self.add_option(key, text)

    def add_option(self, key: str, text: str, icon_name: str = "", tooltip: str = "") -> None:
        """Append a choice; the first one added is taken."""
        option = _Option()
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

    def set_text(self, key: str, text: str) -> None:
        """Call a choice something else. Raises KeyError for an unknown key."""
        self._buttons[key].setText(text)
        self._buttons[key].setAccessibleName(text)

    def set_direction(self, direction: QBoxLayout.Direction) -> None:
        """Put the choices beside each other, or below each other, where less room beside them leaves their images whole."""
        self._row.setDirection(direction)
        for option in self._buttons.values():
            set_property(option, "stacked", direction == QBoxLayout.Direction.TopToBottom)

    def current(self) -> str:
        """The key that is taken, "" while there is none."""
        return next((key for key, option in self._buttons.items() if option.isChecked()), "")

    def set_current(self, key: str) -> None:
        """Take another choice. Raises KeyError for an unknown key."""
        self._buttons[key].setChecked(True)

    def focus_current(self) -> None:
        """Give the keyboard to the choice that is taken. Raises KeyError while there is none."""
        self._buttons[self.current()].setFocus()


class Hint(QToolButton):
    """An info icon that explains the thing beside it: on hover, on click and, with the keyboard, on Space."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setIcon(icon("info", "muted"))
        self.setIconSize(QSize(15, 15))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)
        self.clicked.connect(self._show)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Change the explanation."""
        set_tooltip(self, text)
        self.setAccessibleName("Explanation")

    def _show(self) -> None:
        QToolTip.showText(self.mapToGlobal(self.rect().bottomLeft()), self.toolTip(), self)


def set_tooltip(widget: QWidget, text: str) -> None:
    """Say more about a widget: as a tool tip that breaks its lines, and in plain words to a screen reader, which would read its marks."""
    widget.setToolTip(wrap_tooltip(text))
    widget.setAccessibleDescription(text)


def wrap_tooltip(text: str) -> str:
    """Plain text as a tool tip that breaks its lines; Qt never breaks those of plain text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>")
    return f'<div style="max-width: 320px">{escaped}</div>' if text else ""
