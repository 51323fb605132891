"""A card that is pressed: an icon, a title, and a line about it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from studio.forms.kinds.choices import KindChoice
from studio.theme import SPACING, set_property
from studio.widgets import STRETCH, IconLabel, hbox, label, vbox

_ICON = 20
_ARROWS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right)


class KindCard(QPushButton):
    """``more`` stands at its right. Signals: `arrow_pressed(key)`, which a button on its own takes for Tab."""

    arrow_pressed = Signal(Qt.Key)

    def __init__(self, more: str = "") -> None:
        super().__init__()
        set_property(self, "kindCard", True)
        self.choice = KindChoice("", "", "", "")
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._image = IconLabel("", _ICON)
        self._title = label("", "field", wrap=True)
        self._line = label("", "help", wrap=True)
        self._more = label(more, "link")
        self._more.setVisible(bool(more))
        head = hbox((self._title, 1), (self._more, 0, Qt.AlignmentFlag.AlignTop))
        hbox(
            (vbox(2, self._image, STRETCH), 0),
            (vbox(head, self._line, STRETCH, spacing=1), 1),
            parent=self,
            spacing=SPACING.s + 2,
            margins=(SPACING.s + 2, SPACING.s - 1, SPACING.s + 2, SPACING.s - 1),
        )
        for part in self.findChildren(QWidget):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        rule = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        rule.setHeightForWidth(True)
        self.setSizePolicy(rule)

    def set_choice(self, choice: KindChoice) -> None:
        """Show ``choice``; one with a reason cannot be pressed, and says the reason in place of its line."""
        self.choice = choice
        self._image.set_icon(choice.icon, "accent" if not choice.reason else "muted")
        self._title.setText(choice.title)
        self._line.setText(choice.reason or choice.line)
        self.setToolTip(choice.reason)
        self.setEnabled(not choice.reason)
        self.setAccessibleName(choice.title)
        self.setAccessibleDescription(choice.reason or choice.line)

    def set_marked(self, mark: str) -> None:
        """``current`` is the one that is chosen, ``aimed`` the one that Enter would choose, "" any other."""
        set_property(self, "mark", mark)

    def sizeHint(self) -> QSize:
        layout = self.layout()
        assert layout is not None
        return layout.sizeHint()

    def minimumSizeHint(self) -> QSize:
        layout = self.layout()
        assert layout is not None
        return layout.minimumSize()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        elif key in _ARROWS:
            self.arrow_pressed.emit(key)
        else:
            super().keyPressEvent(event)
