"""What the program says to the person: empty screens and banners."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QWidget

from studio.theme import SPACING, IconRole, Tone, Variant, icon, set_property
from studio.widgets.buttons import button, icon_button
from studio.widgets.inputs import take_keyboard
from studio.widgets.labels import IconLabel, label, make_breakable
from studio.widgets.layouts import STRETCH, hbox, vbox

TONE_ICONS: dict[Tone, tuple[str, IconRole]] = {
    "neutral": ("info", "muted"),
    "info": ("info", "accent"),
    "accent": ("info", "accent"),
    "success": ("check", "success"),
    "warning": ("warning", "warning"),
    "danger": ("warning", "danger"),
}
"""Of a message: its icon, and the icon's role."""

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
        self._image = IconLabel(icon_name, 40)
        self._title = label("", "section")
        self._sentence = label("", "subtitle", wrap=True)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._sentence.setMinimumWidth(320)
        self._sentence.setMaximumWidth(440)
        self.button = button("", variant="primary", clicked=self.action_triggered)
        # Between stretches, not by an alignment: an aligned label is given the height of one line only.
        sentence_row = hbox(STRETCH, (self._sentence, 4), STRETCH)
        center = Qt.AlignmentFlag.AlignHCenter
        vbox(
            STRETCH,
            (self._image, 0, center),
            SPACING.xs,
            (self._title, 0, center),
            sentence_row,
            SPACING.s,
            (self.button, 0, center),
            STRETCH,
            parent=self,
            margins=(SPACING.xl, SPACING.xxl, SPACING.xl, SPACING.xxl),
        )
        self.set_content(icon_name, title, sentence, action_text, action_icon)

    def set_content(
        self, icon_name: str, title: str, sentence: str, action_text: str = "", action_icon: str = ""
    ) -> None:
        """Say something else; without `action_text` there is no button."""
        self._image.set_icon(icon_name, "muted")
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

    def __init__(self, tone: Tone, title: str, text: str = "", *, closable: bool = True) -> None:
        super().__init__()
        self._tone = tone
        self._image = IconLabel("info", 18)
        self._title = label("", "section", wrap=True)
        self._text = label("", wrap=True, selectable=True)
        self._caption = label("", "caption", wrap=True, selectable=True)
        self._caption.hide()
        self._close = icon_button("cross", "Close this message", clicked=self._on_close_clicked)
        if not closable:
            self._close.hide()
        self._words = vbox(self._title, self._text, self._caption, spacing=3)
        self._buttons = QWidget()
        self._actions = hbox(parent=self._buttons)
        self._beside = True
        top = Qt.AlignmentFlag.AlignTop
        row = hbox(
            (self._image, 0, top),
            (self._words, 1),
            self._buttons,
            (self._close, 0, top),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.m + 2, SPACING.m, SPACING.m, SPACING.m),
        )
        self._row = row
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.set_message(title, text, tone)

    def set_message(self, title: str, text: str = "", tone: Tone | None = None) -> None:
        """Say something else, in another tone when one is given."""
        self._tone = tone or self._tone
        self._said = title, text
        self._image.set_icon(*TONE_ICONS[self._tone])
        self._title.setText(make_breakable(title))
        self._text.setText(make_breakable(text))
        self._text.setVisible(bool(text))
        set_property(self, "tone", self._tone)
        self.setAccessibleName(f"{title}. {text}" if text else title)
        for each in (self._close, *self._buttons.findChildren(QPushButton)):
            each.setAccessibleDescription(title)  # what is closed or begun over, where there are several messages

    def set_caption(self, text: str) -> None:
        """What stands small below the text; "" for nothing."""
        self._caption.setText(make_breakable(text))
        self._caption.setVisible(bool(text))
        self.setAccessibleDescription(text)

    def set_marked(self, on: bool) -> None:
        """Give it an edge, as the one that was asked for."""
        set_property(self, "marked", on)

    @property
    def message(self) -> tuple[Tone, str, str]:
        """Tone, title and text."""
        return self._tone, *self._said

    def add_action(self, text: str, callback: Callable[[], object], *, variant: Variant = "secondary") -> QPushButton:
        """Add a button at the right; returns it."""
        made = button(text, variant=variant, clicked=lambda: callback())
        made.setAccessibleDescription(self._said[0])
        self._actions.addWidget(made)
        return made

    def setVisible(self, visible: bool) -> None:
        holder = self.parentWidget()
        if not visible and holder is not None:
            take_keyboard(holder, [self])
        super().setVisible(visible)

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
