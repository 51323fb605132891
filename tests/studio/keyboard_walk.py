"""What somebody meets who uses the window by keyboard and screen reader: every stop of the Tab key, and what is read aloud there."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QWidget,
)
from pytestqt.exceptions import TimeoutError
from pytestqt.qtbot import QtBot

_MOST = 500  # keys: more stops has no page


def read(widget: QWidget) -> tuple[str, str, str]:
    """What a screen reader says of it: role, name, description."""
    said = QAccessible.queryAccessibleInterface(widget)
    texts = (said.text(kind).strip() for kind in (QAccessible.Text.Name, QAccessible.Text.Description))
    return said.role().name, *texts  # type: ignore[return-value]


def describe(widget: QWidget) -> str:
    """A widget as a failed test tells of it."""
    ways: list[str] = []
    at: QWidget | None = widget
    while at is not None and len(ways) < 6:
        ways.append(type(at).__name__ + (f"#{at.objectName()}" if at.objectName() else ""))
        at = at.parentWidget()
    return f"{' < '.join(ways)} “{read(widget)[1]}” at {widget.mapTo(widget.window(), QPoint()).toTuple()}"


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
    """Press Tab from ``start`` until something has the keyboard that had it before, which is the last one listed. In a text Tab goes from
    link to link."""
    start.window().activateWindow()
    start.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    key = Qt.Key.Key_Backtab if backward else Qt.Key.Key_Tab
    walked: list[QWidget] = []
    for _ in range(_MOST):
        now = QApplication.focusWidget()
        if now is None:
            break
        if not walked or now is not walked[-1]:
            walked.append(now)
        if now in walked[:-1]:
            break
        QTest.keyClick(now, key)
    return walked


def find_faults(root: QWidget) -> list[str]:
    """What keeps somebody from using ``root`` by keyboard and screen reader: stops and buttons without a name, stops that cannot be told apart, stops that Tab
    does not reach or does not leave, and words that are shown and not read, or read with the marks of HTML."""
    stops = list_stops(root)
    faults = [f"has no name: {describe(stop)}" for stop in stops if not _says_what_it_is_for(stop)]
    said = Counter(read(stop) for stop in stops)
    faults += [f"is called as another one: {describe(stop)}" for stop in stops if said[read(stop)] > 1]
    shown = [each for each in root.findChildren(QWidget) if each.isVisible()]
    faults += [
        f"can be pressed and has no name: {describe(each)}"
        for each in shown
        if isinstance(each, QAbstractButton) and each not in stops and not _says_what_it_is_for(each)
    ]
    faults += [
        f"does not read “{each.text()}”: {describe(each)}"
        for each in shown
        if isinstance(each, QLabel) and _hides_words(each)
    ]
    faults += [f"reads marks of HTML: {describe(each)}" for each in shown if "<div" in "".join(read(each))]
    for backward in (False, True) if stops else ():
        way = "Shift+Tab" if backward else "Tab"
        walked = walk(stops[0], backward=backward)
        if not walked or walked[-1] is not stops[0]:
            faults.append(f"{way} does not come back, but ends at: {describe(walked[-1]) if walked else 'nothing'}")
        faults += [f"not reached by {way}: {describe(stop)}" for stop in list_stops(root) if stop not in walked]
    return faults


def wait_for_soundness(qtbot: QtBot, root: QWidget, where: str = "") -> None:
    """Until ``root`` has no faults: what is read in other threads comes and goes while Tab is pressed."""
    faults: list[str] = []

    def is_sound() -> bool:
        faults[:] = find_faults(root)
        return not faults

    try:
        qtbot.waitUntil(is_sound, timeout=20_000)
    except TimeoutError:
        raise AssertionError("\n".join([where, *faults])) from None


def _hides_words(label: QLabel) -> bool:
    """Whether its name stands in the place of what it shows."""
    return bool(label.accessibleName()) and label.text() not in label.accessibleName()


def _says_what_it_is_for(widget: QWidget) -> bool:
    _role, name, description = read(widget)
    # Of a list of choices the name is what is chosen, on Linux.
    return bool(description) if isinstance(widget, QComboBox) and not widget.isEditable() else bool(name)
