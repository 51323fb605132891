"""Short notices that come and go, in a place of their own where they cover nothing that can be clicked."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from studio.services.notifier import Notification
from studio.theme import SPACING
from studio.widgets.buttons import button, icon_button
from studio.widgets.labels import IconLabel, label, make_breakable
from studio.widgets.layouts import hbox, vbox
from studio.widgets.messages import TONE_ICONS

_AT_ONCE = 2
_MOST_TEXT = 200  # characters; the rest is among the details
_TO_READ, _TO_ACT = 8.0, 25.0  # seconds; what can be undone is thought about first
_LONGEST_WORD = 18  # characters that fit beside each other; a longer word, such as a path, is broken


class Toast(QFrame):
    """A notice that goes away by itself after ``seconds`` of being seen (0: when it is closed), but not under the mouse. Who says
    nothing of them leaves a danger, and what is to last, until it is closed.

    Signals: `dismissed()`; `details_wanted(str)`.
    """

    dismissed = Signal()
    details_wanted = Signal(str)

    def __init__(self, notice: Notification, seconds: float | None = None) -> None:
        super().__init__()
        self.notice = notice
        self.title, self.text, action = notice.title, notice.text, notice.action
        self.setAccessibleName(f"{self.title} {self.text}".strip())
        short = _shorten(self.text)
        self.details = _list_untold(notice.details, self.text, short)
        if seconds is None:
            seconds = 0.0 if notice.lasting or notice.tone == "danger" else _TO_READ if action is None else _TO_ACT
        self._life = QTimer(self, singleShot=True, interval=round(seconds * 1000))
        self._life.timeout.connect(self.dismiss)
        close = icon_button("cross", "Close this notice", clicked=self.dismiss)
        top = Qt.AlignmentFlag.AlignTop
        row = hbox(
            (IconLabel(TONE_ICONS[notice.tone][0], 16, TONE_ICONS[notice.tone][1]), 0, top),
            (
                label(make_breakable(self.title or short, _LONGEST_WORD), "field" if self.title else "help", wrap=True),
                1,
                top,
            ),
            (close, 0, top),
        )
        column = vbox(row, parent=self, spacing=SPACING.xs, margins=(SPACING.m, SPACING.s, SPACING.xs, SPACING.m))
        if self.title:
            words = label(make_breakable(short, _LONGEST_WORD), "help", wrap=True)
            words.setContentsMargins(0, 0, SPACING.s, 0)
            column.addWidget(words)
        if action is not None:
            act = button(notice.action_text)
            act.clicked.connect(lambda: action())
            act.clicked.connect(self.dismiss)
            buttons = hbox(act)
            if (other := notice.other) is not None:
                beside = button(notice.other_text, variant="ghost", clicked=lambda: other())
                beside.clicked.connect(self.dismiss)
                buttons.addWidget(beside)
            buttons.addStretch(1)
            column.addLayout(buttons)
            self.setTabOrder(act, close)  # the keyboard comes to it first where what it was in went away
        if self.details:
            more = button("Show details", variant="ghost", clicked=lambda: self.details_wanted.emit(self.details))
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def dismiss(self) -> None:
        """Go away now."""
        self._life.stop()
        self.hide()
        self.dismissed.emit()
        self.deleteLater()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._live_on()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._life.stop()  # one that has to wait does not grow old

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._life.stop()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._live_on()

    def _live_on(self) -> None:
        if self._life.interval():
            self._life.start()


class ToastArea(QWidget):
    """Where toasts pile up, at the foot of the room that is theirs: the newest two, below a word on how many more wait.

    Signals: `details_wanted(Toast, str)`.
    """

    details_wanted = Signal(object, str)

    def __init__(self, host: QWidget, room: Callable[[], QRect], reserve: Callable[[int], object]) -> None:
        """``room`` says which part of ``host`` is free, or becomes so when ``reserve`` is told how high they are."""
        super().__init__(host)
        self._room, self._reserve = room, reserve
        self._toasts: dict[object, Toast] = {}  # oldest first
        self._more = label("", "caption")
        self._column = vbox(self._more, parent=self)
        host.installEventFilter(self)
        self.hide()

    def add(self, toast: Toast) -> None:
        """Show a notice. It takes the place of the one on the same subject, or of one that says the same."""
        key = toast.notice.subject or (toast.title, toast.text)
        earlier = self._toasts.pop(key, None)
        if earlier is not None:
            earlier.dismiss()
        self._toasts[key] = toast
        toast.hide()
        self._column.addWidget(toast)
        toast.dismissed.connect(lambda: self._forget(toast))
        toast.details_wanted.connect(lambda details: self.details_wanted.emit(toast, details))
        self._settle()

    def toasts(self) -> list[Toast]:
        """The notices that are showing, oldest first."""
        return [toast for toast in self._toasts.values() if not toast.isHidden()]

    def dismiss(self, subject: str) -> None:
        """Take the notice of ``subject`` away, if there is one."""
        toast = self._toasts.get(subject)
        if toast is not None:
            toast.dismiss()

    def dismiss_all(self, but: str = "") -> None:
        """Take every notice away, those on the subject ``but`` excepted: what they speak of is past."""
        for toast in list(self._toasts.values()):
            if not but or toast.notice.subject != but:
                toast.dismiss()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            QTimer.singleShot(0, self, self._settle)  # once the host is laid out
        return False

    def _forget(self, toast: Toast) -> None:
        self._toasts = {key: each for key, each in self._toasts.items() if each is not toast}
        self._column.removeWidget(toast)
        self._settle()

    def _settle(self) -> None:
        room = self._room()
        heights = {toast: _height(toast, room.width()) for toast in self._toasts.values()}
        shown: list[Toast] = []
        taken = 0
        for toast in reversed(self._toasts.values()):
            taken += heights[toast] + self._column.spacing()
            if len(shown) == _AT_ONCE or (shown and taken + self._more.sizeHint().height() > room.height()):
                break
            shown.append(toast)
        waiting = len(self._toasts) - len(shown)
        self._more.setText(f"{waiting} more" if waiting else "")
        self._more.setVisible(waiting > 0)
        for toast in self._toasts.values():
            toast.setVisible(toast in shown)
        height = sum(heights[toast] for toast in shown) + self._column.spacing() * max(len(shown) - 1, 0)
        height += self._more.sizeHint().height() + self._column.spacing() if waiting else 0
        self.setGeometry(room.left(), room.bottom() + 1 - height, room.width(), height)
        self.setVisible(bool(shown))
        self.raise_()
        self._reserve(height if shown else 0)


def _height(toast: Toast, width: int) -> int:
    toast.setFixedWidth(width)
    toast.ensurePolished()  # fonts decide how high wrapped lines are
    inner = toast.layout()
    assert inner is not None
    inner.activate()
    return inner.totalHeightForWidth(width)


def _shorten(text: str) -> str:
    if len(text) <= _MOST_TEXT:
        return text
    return f"{text[:_MOST_TEXT].rsplit(None, 1)[0]} …"


def _list_untold(details: str, text: str, short: str) -> str:
    """What the details tell that is not to be read already; "" for nothing."""
    told = [line for line in details.splitlines() if line.strip() and line.strip() not in short]
    parts = [text] if short != text else []
    return "\n\n".join([*parts, details] if told else parts)
