"""What the program says to the person: empty screens, banners, toasts."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from studio.theme import SPACING, IconRole, Tone, Variant, font, icon, set_property
from studio.widgets.buttons import button, icon_button
from studio.widgets.labels import IconLabel, label

_TONE_ICONS: dict[Tone, tuple[str, IconRole]] = {
    "neutral": ("info", "muted"),
    "info": ("info", "accent"),
    "accent": ("info", "accent"),
    "success": ("check", "success"),
    "warning": ("warning", "warning"),
    "danger": ("warning", "danger"),
}


_MOST_FOR_BUTTONS = 0.45  # of a banner's width; more of them go below the words


class EmptyState(QWidget):
    """What a screen shows while it has nothing: why, and the way on. Signals: `action_triggered()`."""

    action_triggered = Signal()

    def __init__(
        self,
        icon_name: str,
        title: str,
        sentence: str,
        action_text: str = "",
        action_icon: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._picture = IconLabel(icon_name, 40)
        self._title = label("", "section")
        self._sentence = label("", "subtitle", wrap=True)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._sentence.setMinimumWidth(320)
        self._sentence.setMaximumWidth(440)
        self.button = button("", variant="primary")
        self.button.clicked.connect(self.action_triggered)
        # Between stretches, not by an alignment: an aligned label is given the height of one line only.
        sentence_row = QHBoxLayout()
        sentence_row.addStretch(1)
        sentence_row.addWidget(self._sentence, 4)
        sentence_row.addStretch(1)
        center = Qt.AlignmentFlag.AlignHCenter
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.xl, SPACING.xxl, SPACING.xl, SPACING.xxl)
        column.setSpacing(SPACING.s)
        column.addStretch(1)
        column.addWidget(self._picture, 0, center)
        column.addSpacing(SPACING.xs)
        column.addWidget(self._title, 0, center)
        column.addLayout(sentence_row)
        column.addSpacing(SPACING.s)
        column.addWidget(self.button, 0, center)
        column.addStretch(1)
        self.set_content(icon_name, title, sentence, action_text, action_icon)

    def set_content(
        self, icon_name: str, title: str, sentence: str, action_text: str = "", action_icon: str = ""
    ) -> None:
        """Say something else; without `action_text` there is no button."""
        self._picture.set_icon(icon_name, "muted")
        self._title.setText(title)
        self._sentence.setText(sentence)
        self.button.setText(action_text)
        self.button.setVisible(bool(action_text))
        if action_icon:
            self.button.setIcon(icon(action_icon, "on_accent"))
        self.setAccessibleName(f"{title}. {sentence}")


class Banner(QFrame):
    """A message across a page that stays until it is dealt with. Signals: `closed()` when the person closes it."""

    closed = Signal()

    def __init__(
        self, tone: Tone, title: str, text: str = "", *, closable: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._tone = tone
        self._picture = IconLabel("info", 18)
        self._title = label("", "section", wrap=True)
        self._text = label("", wrap=True, selectable=True)
        self._close = icon_button("cross", "Close this message")
        self._close.clicked.connect(self._on_close_clicked)
        if not closable:
            self._close.hide()
        self._words = QVBoxLayout()
        self._words.setSpacing(3)
        self._words.addWidget(self._title)
        self._words.addWidget(self._text)
        self._buttons = QWidget()
        self._actions = QHBoxLayout(self._buttons)
        self._actions.setContentsMargins(0, 0, 0, 0)
        self._actions.setSpacing(SPACING.s)
        self._beside = True
        top = Qt.AlignmentFlag.AlignTop
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACING.m + 2, SPACING.m, SPACING.m, SPACING.m)
        row.setSpacing(SPACING.m)
        row.addWidget(self._picture, 0, top)
        row.addLayout(self._words, 1)
        row.addWidget(self._buttons)
        row.addWidget(self._close, 0, top)
        self._row = row
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.set_message(title, text, tone)

    def set_message(self, title: str, text: str = "", tone: Tone | None = None) -> None:
        """Say something else, in another tone when one is given."""
        self._tone = tone or self._tone
        self._picture.set_icon(*_TONE_ICONS[self._tone])
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        set_property(self, "tone", self._tone)
        self.setAccessibleName(f"{title}. {text}" if text else title)

    def add_action(self, text: str, callback: Callable[[], object], *, variant: Variant = "secondary") -> QPushButton:
        """Add a button at the right; returns it."""
        made = button(text, variant=variant)
        made.clicked.connect(lambda: callback())
        self._actions.addWidget(made)
        return made

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside = self._buttons.sizeHint().width() <= _MOST_FOR_BUTTONS * event.size().width()
        if beside == self._beside:
            return
        self._beside = beside
        if beside:
            self._words.removeWidget(self._buttons)
            self._row.insertWidget(2, self._buttons)
        else:  # below the words, which would be a narrow column beside them
            self._row.removeWidget(self._buttons)
            self._words.addWidget(self._buttons, 0, Qt.AlignmentFlag.AlignLeft)
        self._actions.setContentsMargins(0, 0 if beside else SPACING.s, 0, 0)

    def _on_close_clicked(self) -> None:
        self.hide()
        self.closed.emit()


class Toast(QFrame):
    """A short notice that goes away by itself, but not while the mouse or the details hold it."""

    def __init__(
        self,
        text: str,
        tone: Tone,
        title: str,
        details: str,
        action_text: str,
        action: Callable[[], object] | None,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setFixedWidth(360)
        self.setAccessibleName(f"{title} {text}".strip())
        self._life = QTimer(self)
        self._life.setSingleShot(True)
        self._life.timeout.connect(self.dismiss)
        self._details = QPlainTextEdit(details)
        self._details.setReadOnly(True)
        self._details.setFont(font("mono"))
        self._details.setMinimumHeight(140)
        self._details.hide()
        close = icon_button("cross", "Close this notice")
        close.clicked.connect(self.dismiss)
        words = QVBoxLayout()
        words.setSpacing(2)
        if title:
            words.addWidget(label(title, "section", wrap=True))
        words.addWidget(label(text, "body" if not title else "help", wrap=True, selectable=True))
        top = Qt.AlignmentFlag.AlignTop
        row = QHBoxLayout()
        row.setSpacing(SPACING.m)
        row.addWidget(IconLabel(_TONE_ICONS[tone][0], 18, _TONE_ICONS[tone][1]), 0, top)
        row.addLayout(words, 1)
        row.addWidget(close, 0, top)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.m + 2, SPACING.m, SPACING.s, SPACING.m)
        column.setSpacing(SPACING.s)
        column.addLayout(row)
        column.addWidget(self._details)
        if details or action_text:
            column.addLayout(self._buttons(bool(details), action_text, action))

    def live_for(self, seconds: float) -> None:
        """Go away after a while; 0 stays until closed."""
        if seconds > 0:
            self._life.start(round(seconds * 1000))

    def dismiss(self) -> None:
        """Go away now."""
        self.hide()
        self.deleteLater()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._life.stop()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if self._life.interval() and self._details.isHidden():
            self._life.start()

    def _buttons(self, has_details: bool, action_text: str, action: Callable[[], object] | None) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(30 if not has_details or action_text else 16, 0, 0, 0)
        if action_text and action is not None:
            act = button(action_text)
            act.clicked.connect(lambda: action())
            act.clicked.connect(self.dismiss)
            row.addWidget(act)
        if has_details:
            more = button("Show details", variant="ghost")
            more.clicked.connect(lambda: self._toggle_details(more))
            row.addWidget(more)
        row.addStretch(1)
        return row

    def _toggle_details(self, more: QPushButton) -> None:
        self._life.stop()
        self._details.setVisible(self._details.isHidden())
        more.setText("Hide details" if not self._details.isHidden() else "Show details")


class ToastArea(QWidget):
    """The lower right corner of a window, where toasts pile up. Takes no mouse beside them."""

    _MARGIN = 18
    _FOOT = 92  # the start bar and the status strip: their buttons stay in reach under a notice that waits

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACING.s)
        window.installEventFilter(self)
        self.hide()

    def show_message(
        self,
        text: str,
        tone: Tone = "info",
        *,
        title: str = "",
        details: str = "",
        seconds: float = 6.0,
        action_text: str = "",
        action: Callable[[], object] | None = None,
    ) -> Toast:
        """Show a notice for `seconds` (0: until closed); `details` unfold on demand."""
        toast = Toast(text, tone, title, details, action_text, action, self)
        self._column.addWidget(toast)
        toast.show()
        toast.destroyed.connect(self._settle)
        toast.installEventFilter(self)
        toast.live_for(seconds)
        self._settle()
        return toast

    def toasts(self) -> list[Toast]:
        """The notices that are showing, oldest first."""
        return [toast for toast in self.findChildren(Toast) if not toast.isHidden()]

    def dismiss_all(self) -> None:
        """Take every notice away: what they speak of is past."""
        for toast in self.toasts():
            toast.dismiss()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest, QEvent.Type.Hide):
            # Afterwards: a toast that is resized while it hears of its resize would be laid out for the older size.
            QTimer.singleShot(0, self, self._settle)
        return False

    def _settle(self) -> None:
        self.setVisible(bool(self.toasts()))
        for toast in self.toasts():
            toast.ensurePolished()  # fonts decide how high wrapped lines are
            if (inner := toast.layout()) is not None:
                inner.activate()
        self._column.activate()
        self.adjustSize()
        room = self._window.rect()
        self.move(room.right() - self.width() - self._MARGIN, room.bottom() - self.height() - self._FOOT)
        self.raise_()
