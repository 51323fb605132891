"""The rail at the left of the window: one item per area, exactly one of them current."""

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QAbstractButton, QBoxLayout, QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget

from studio.theme import RADIUS, SPACING, Tone, font, icon, set_property, theme
from studio.widgets.buttons import find_taken, icon_button
from studio.widgets.labels import label
from studio.widgets.layouts import STRETCH, fill, hbox, vbox

_BY_KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_WIDTH = 196
_FOLDED_WIDTH = 61  # an icon with as much room on both sides as it has above and below


class RailItem(QAbstractButton):
    """Icon, word, and at the right a dot; folded, the icon with the dot at its corner."""

    def __init__(self, icon_name: str, text: str, tooltip: str) -> None:
        super().__init__()
        self._tooltip = tooltip
        self._folded = False
        self.setToolTip(tooltip)
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._plain = icon(icon_name, "muted")
        self._lit = icon(icon_name, "accent")
        self._shows_ring = False
        self.dot: Tone | None = None

    def sizeHint(self) -> QSize:
        width = 40 + self.fontMetrics().horizontalAdvance(self.text()) + 40
        return QSize(40 if self._folded else width, max(36, self.fontMetrics().height() + 16))

    def set_folded(self, folded: bool) -> None:
        """Only the icon, or the word, too; folded, the tool tip begins with the word."""
        self._folded = folded
        self.setToolTip(": ".join(filter(None, (self.text() if folded else "", self._tooltip))))
        self.updateGeometry()
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        # A ring is for those who came by the keyboard; after a click or at the start it only looks like a fault.
        self._shows_ring = event.reason() in _BY_KEYBOARD
        super().focusInEvent(event)
        rail = self.parentWidget()
        if rail is not None and (taken := find_taken(self, rail.findChildren(RailItem), event.reason())):
            taken.setFocus(event.reason())

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.75, 0.75, -0.75, -0.75)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked():
            painter.setBrush(QColor(palette.accent_soft))
            painter.drawRoundedRect(box, RADIUS.medium, RADIUS.medium)
        elif self.underMouse():
            painter.setBrush(QColor(palette.hover))
            painter.drawRoundedRect(box, RADIUS.medium, RADIUS.medium)
        if self.hasFocus() and self._shows_ring:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(palette.accent), 1.5))
            painter.drawRoundedRect(box, RADIUS.medium, RADIUS.medium)
        side = 20
        area = self.rect().adjusted(10, (self.height() - side) // 2, 0, 0)
        area.setSize(QSize(side, side))
        (self._lit if self.isChecked() else self._plain).paint(painter, area)
        if not self._folded:
            self._paint_text(painter)
        self._paint_mark(painter)

    def _paint_text(self, painter: QPainter) -> None:
        palette = theme().palette
        painter.setPen(QColor(palette.accent_text if self.isChecked() else palette.text))
        face = font("body")
        face.setWeight(face.Weight.Medium)
        painter.setFont(face)
        painter.drawText(self.rect().adjusted(40, 0, -36, 0), Qt.AlignmentFlag.AlignVCenter, self.text())

    def _paint_mark(self, painter: QPainter) -> None:
        palette = theme().palette
        if self.dot is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.tone(self.dot)))
            left, top = (28, 5) if self._folded else (self.width() - 20, (self.height() - 8) / 2)
            painter.drawEllipse(QRectF(left, top, 8, 8))


class NavigationRail(QFrame):
    """A column of items. Signals: `current_changed(key)` when another item becomes current; `fold_asked()` when a person
    wants it folded to its icons, or unfolded."""

    current_changed = Signal(str)
    fold_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Areas")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._items: dict[str, RailItem] = {}
        self._folded = False
        self._foot: QWidget | None = None
        self._fold = icon_button("sidebar", "", clicked=self.fold_asked)
        self._fold.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab comes to the areas; folding has a shortcut
        self._name = label("")
        self._name.setProperty("role", "brand")
        self._header = hbox(spacing=10, margins=(8, 2, 0, 14))
        self._top, self._bottom = QVBoxLayout(), QVBoxLayout()
        for part in (self._top, self._bottom):
            part.setSpacing(2)
        parts = (self._header, self._top, STRETCH, self._bottom)
        self._column = vbox(*parts, parent=self, spacing=0, margins=(10, 14, 11, 12))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.set_folded(False)

    def set_header(self, image: QPixmap, title: str) -> None:
        """The program's mark and name above the items."""
        mark = QLabel()
        mark.setPixmap(image)
        self._name.setText(title)
        fill(self._header, mark, (self._name, 1), self._fold)
        self.set_folded(self._folded)

    @property
    def folded(self) -> bool:
        """Whether only the icons are shown."""
        return self._folded

    def set_folded(self, folded: bool) -> None:
        """Show only the icons, or the words, too."""
        self._folded = folded
        self._name.setVisible(not folded and self._name.parent() is not None)
        self._header.setDirection(QBoxLayout.Direction.TopToBottom if folded else QBoxLayout.Direction.LeftToRight)
        self._header.setContentsMargins(*((6, 2, 0, 10) if folded else (8, 2, 0, 14)))
        words = "Show the names of the areas (Ctrl+B)" if folded else "Show only the icons of the areas (Ctrl+B)"
        self._fold.setToolTip(words)
        self._fold.setAccessibleName(words)
        for item in self._items.values():
            item.set_folded(folded)
        self._header.invalidate()
        self.setFixedWidth(_FOLDED_WIDTH if folded else self._full_width())  # last: it asks how wide the words are

    def add_item(self, key: str, icon_name: str, text: str, *, tooltip: str = "") -> None:
        """Append an area; the first becomes current."""
        item = RailItem(icon_name, text, tooltip)
        item.set_folded(self._folded)
        item.toggled.connect(lambda checked: self._on_toggled(key, checked))
        self._items[key] = item
        self._top.addWidget(item)
        if len(self._items) == 1:
            item.setChecked(True)

    def add_footer(self, widget: QWidget) -> None:
        """Put something of the caller's own below all items."""
        self._bottom.addSpacing(SPACING.s)
        self._bottom.addWidget(widget)

    def keys(self) -> list[str]:
        """The areas, in the order they were added."""
        return list(self._items)

    def current(self) -> str:
        """The key of the current item, "" while there is none."""
        return next((key for key, item in self._items.items() if item.isChecked()), "")

    def set_current(self, key: str) -> None:
        """Make an item current. Raises KeyError for an unknown key."""
        self._items[key].setChecked(True)

    def set_dot(self, key: str, tone: Tone | None, words: str = "") -> None:
        """A colored dot at the right of an item, which says ``words`` to a screen reader; None removes it."""
        item = self._items[key]
        item.dot = tone
        item.setAccessibleDescription(words)
        set_property(item, "marked", tone is not None)
        item.update()

    def set_foot(self, foot: QWidget) -> None:
        """Where notices lie while this is folded: below the page, as high as they are."""
        self._foot = foot
        foot.setFixedHeight(0)

    def make_room_for_notices(self, height: int) -> None:
        """Let the page give way to notices of this height, where there is no room for them here."""
        if self._foot is not None:
            self._foot.setFixedHeight(height + 2 * SPACING.s if self._folded and height else 0)

    def find_room_for_notices(self) -> QRect:
        """What lies between the upper group and the lower one, where they cover nothing; folded, the foot of the page, which
        gives way. In the parent's pixels."""
        edge = SPACING.s
        if self._folded and self._foot is not None:
            host = self.parentWidget() or self
            end = self._foot.mapTo(host, QPoint(0, self._foot.height()))
            high = end.y() // 4  # at the most, or the newest notice: nothing of the page is to be cut
            return QRect(end.x() + edge, end.y() - edge - high, self._foot.width() - 2 * edge, high)
        upper, lower = self._top.geometry().bottom() + SPACING.m, self._bottom.geometry().top() - edge
        return QRect(self.x() + edge, self.y() + upper, self.width() - 2 * edge, max(lower - upper, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        items = list(self._items.values())
        focused = next((at for at, item in enumerate(items) if item.hasFocus()), None)
        if focused is None:
            super().keyPressEvent(event)
        elif event.key() in _STEPS:
            self._go_to(items[(focused + _STEPS[Qt.Key(event.key())]) % len(items)])
        elif event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go_to(items[0 if event.key() == Qt.Key.Key_Home else -1])
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.set_folded(self._folded)  # words of another size need another width

    def _full_width(self) -> int:
        margins = self._column.contentsMargins()
        beside_name = self._header.sizeHint().width() if not self._name.isHidden() else 0
        needed = [beside_name, *(item.sizeHint().width() for item in self._items.values())]
        return max(_WIDTH, max(needed) + margins.left() + margins.right())

    def _on_toggled(self, key: str, checked: bool) -> None:
        if checked:
            self.current_changed.emit(key)

    def _go_to(self, item: RailItem) -> None:
        item.setFocus(Qt.FocusReason.ShortcutFocusReason)
        item.setChecked(True)
