"""What somebody meets who uses the window by keyboard and screen reader: every stop of the Tab key, and what is read aloud there."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QAbstractSpinBox, QApplication, QComboBox, QWidget


def read_name(widget: QWidget) -> str:
    """The name that a screen reader says."""
    said = QAccessible.queryAccessibleInterface(widget)
    return str(said.text(QAccessible.Text.Name)).strip() if said is not None else ""


def describe(widget: QWidget) -> str:
    """A widget as a failed test tells of it."""
    ways: list[str] = []
    at: QWidget | None = widget
    while at is not None and len(ways) < 6:
        ways.append(type(at).__name__ + (f"#{at.objectName()}" if at.objectName() else ""))
        at = at.parentWidget()
    return f"{' < '.join(ways)} “{read_name(widget)}” at {widget.mapTo(widget.window(), QPoint()).toTuple()}"


def list_stops(root: QWidget) -> list[QWidget]:
    """All that the Tab key has to reach now."""
    return [widget for widget in root.findChildren(QWidget) if _is_stop(widget)]


def _is_stop(widget: QWidget) -> bool:
    if not (widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus):
        return False
    parent = widget.parentWidget()
    if widget.focusProxy() is not None or isinstance(parent, (QAbstractSpinBox, QComboBox)):
        return False  # the one that it stands for, or that it is a part of, is reached
    if isinstance(parent, QAbstractScrollArea) and parent.viewport() is widget:
        return False
    return not isinstance(widget, QAbstractButton) or widget.isChecked() or not _is_one_of_several(widget)


def _is_one_of_several(button: QAbstractButton) -> bool:
    """Whether another choice is taken: Tab comes to that one, and the arrow keys reach the others."""
    parent, group = button.parentWidget(), button.group()
    others = group.buttons() if group is not None and group.exclusive() else []
    if button.autoExclusive() and parent is not None:
        others = [each for each in parent.findChildren(QAbstractButton) if each.autoExclusive() and each.isCheckable()]
    return any(each.isChecked() for each in others)


def walk(start: QWidget, *, backward: bool = False) -> list[QWidget]:
    """Press Tab from ``start`` until it has the keyboard again, or a stop comes twice."""
    start.window().activateWindow()
    start.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    key = Qt.Key.Key_Backtab if backward else Qt.Key.Key_Tab
    walked: list[QWidget] = []
    while (now := QApplication.focusWidget()) is not None and now not in walked:
        walked.append(now)
        QTest.keyClick(now, key)
    return walked
