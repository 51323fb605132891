"""The line above a plot: its title, its curves with their colors and values, and where the cursor stands."""

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QComboBox, QSizePolicy, QWidget

from studio.charts.gestures import TIP
from studio.charts.plots.curve import curve_color
from studio.theme import SPACING, set_property, theme
from studio.widgets import ElidedLabel, SteadyLabel, hbox, label


class Swatch(QWidget):
    """A short stroke in a curve's color."""

    def __init__(self, color_index: int, *, is_faded: bool = False) -> None:
        super().__init__()
        self._color_index, self._is_faded = color_index, is_faded
        self._is_hollow = False
        self.setFixedSize(QSize(14, 14))

    def set_hollow(self, on: bool) -> None:
        """Its curve is hidden."""
        self._is_hollow = on
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = curve_color(theme().palette, self._color_index, is_faded=self._is_faded)
        if self._is_hollow:
            painter.setPen(color)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
        painter.drawRoundedRect(QRectF(1, 5.5, 12, 3), 1.5, 1.5)


class LegendEntry(QWidget):
    """Swatch, name, value. That of a faded curve is its swatch and name, and takes no room while there is none.

    Signals: `pressed()` by the mouse, Space or Enter; `left()` by the keyboard.
    """

    pressed, left = Signal(), Signal()

    def __init__(self, name: str, color_index: int, *, is_faded: bool = False) -> None:
        super().__init__()
        self.name, self.is_faded = name, is_faded
        self._value = SteadyLabel()
        self._word = label(name, "caption")
        self._swatch = Swatch(color_index, is_faded=is_faded)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("legendEntry", True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        hbox(self._swatch, self._word, self._value, parent=self, spacing=5)
        self.is_off = False
        self.set_off(False)
        if is_faded:
            self._value.hide()
            self.hide()

    def set_off(self, off: bool) -> None:
        """Its curve is hidden, or shown again."""
        self.is_off = off
        self._swatch.set_hollow(off)
        for part in (self._word, self._value):
            set_property(part, "isOff", off)
        self.setToolTip(f"{self.name}: click to {'show' if off else 'hide'} it")
        self._name_it()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.pressed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.pressed.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.left.emit()

    def _name_it(self) -> None:
        value = f": {self._value.text()}" if self._value.text() else ""
        self.setAccessibleName(f"{self.name}{value}{', hidden' if self.is_off else ''}")

    def set_worded(self, worded: bool) -> None:
        """Show the name, or only the color and the value: half a word says nothing, and the figure is worth more."""
        self._word.setVisible(worded)

    def word_width(self) -> int:
        """What is saved where the name is not shown."""
        return self._word.sizeHint().width() + 5

    def words_width(self) -> int:
        """What it takes to show all of it."""
        if self.isHidden():
            return 0
        value = 0 if self.is_faded else 5 + self._value.maximumWidth()
        return 14 + 5 + self._word.sizeHint().width() + value

    def set_value(self, text: str) -> None:
        """What the curve is at the cursor, or last."""
        if self.is_faded:
            self.setVisible(bool(text))
        elif text != self._value.text():
            self._value.setText(text)
            self._name_it()


class Legend(QWidget):
    """Title at the left, then one entry for each curve, the cursor's position at the right.

    Signals: `title_chosen(key)`, where there are several titles to choose from; `entry_pressed(key)`; `entry_left()` by the keyboard, for
    something else than another entry.
    """

    title_chosen = Signal(str)
    entry_pressed = Signal(str)
    entry_left = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        self._entries: dict[str, LegendEntry] = {}
        self._row = hbox(parent=self, spacing=SPACING.l)
        self._title = label(title, "section")
        self._title.setToolTip(TIP)
        if not title:  # setVisible(True) would show it as a window of its own, for a blink
            self._title.hide()
        self._row.addWidget(self._title)
        self._choice = QComboBox()
        self._choice.setProperty("titleChoice", True)
        self._choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._choice.setToolTip("Choose what is shown")
        self._choice.hide()
        self._choice.currentIndexChanged.connect(self._on_chosen)
        self._row.addWidget(self._choice)
        self._note = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self._note.setProperty("role", "caption")
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._note.hide()  # an empty one would take room from the entries
        self._notes = "", ""
        self._yields = False
        self._row.addStretch(1)
        self._row.addWidget(self._note, 100)
        # The plots decide how wide a board can get, not these words: in a small window their end is cut.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_words()

    def _fit_words(self) -> None:
        titles = [each for each in (self._title, self._choice) if each.isVisibleTo(self)]
        wanted = sum(each.sizeHint().width() + SPACING.l for each in titles)
        entries = [entry for entry in self._entries.values() if not entry.isHidden()]
        wanted += sum(entry.words_width() + SPACING.l for entry in entries)
        text, short = self._notes
        room = self.width() + SPACING.l
        if self._yields:
            text = next((each for each in (text, short) if self._measure_note(each) <= room - wanted), "")
        else:
            wanted += self._measure_note(text)
        for is_faded in (False, True):  # the words of what has no figure go last
            for entry in entries:
                if entry.is_faded is is_faded:
                    entry.set_worded(wanted <= room)
                    wanted -= entry.word_width() if wanted > room else 0
        self._note.setText(text if self._yields or wanted <= room else short)
        self._note.setVisible(bool(self._note.text()))

    def _measure_note(self, text: str) -> int:
        return (
            self._note.fontMetrics().horizontalAdvance(text) + 2 + SPACING.l if text else 0
        )  # ends of letters, rounding

    def add_entry(self, key: str, name: str, color_index: int, *, is_faded: bool = False) -> None:
        """Append a curve; without a name it has no entry."""
        if name:
            self._entries[key] = LegendEntry(name, color_index, is_faded=is_faded)
            self._entries[key].pressed.connect(lambda: self.entry_pressed.emit(key))
            self._entries[key].left.connect(self._on_left)
            self._row.insertWidget(self._row.count() - 2, self._entries[key])
            self._describe_entries()

    def _on_left(self) -> None:
        now = QApplication.focusWidget()
        if now is None or not self.isAncestorOf(now):
            self.entry_left.emit()

    def _describe_entries(self) -> None:
        """Several charts of a page have a curve of the same name."""
        for entry in self._entries.values():
            entry.setAccessibleDescription(f"{self._title.text()}: Space hides or shows the curve".removeprefix(": "))

    def word(self, key: str) -> str:
        """A curve's name; "" where it has no entry."""
        return self._entries[key].name if key in self._entries else ""

    def set_off(self, key: str, off: bool) -> None:
        """Say of a curve that it is hidden, or shown."""
        if key in self._entries:
            self._entries[key].set_off(off)

    def set_titles(self, titles: Mapping[str, str], current: str) -> None:
        """Let the person choose among quantities, by their keys; a single one is the title."""
        with QSignalBlocker(self._choice):
            self._choice.clear()
            for key, text in titles.items():
                self._choice.addItem(text, key)
            self._choice.setCurrentIndex(max(self._choice.findData(current), 0))
        self._choice.setAccessibleName("Quantity shown")
        self._choice.setAccessibleDescription("Quantity shown")  # on Linux its name is what is chosen
        self._title.setText(titles[current])
        self._title.setVisible(len(titles) == 1)
        self._choice.setVisible(len(titles) > 1)
        self._describe_entries()
        self._fit_words()

    def _on_chosen(self) -> None:
        self._title.setText(self._choice.currentText())
        self._describe_entries()
        self.title_chosen.emit(self._choice.currentData())

    def set_value(self, key: str, text: str) -> None:
        """The value beside a curve's name."""
        if key in self._entries:
            before = self._entries[key].words_width()
            self._entries[key].set_value(text)
            if self._entries[key].words_width() != before:
                self._fit_words()
                self._settle()

    def _settle(self) -> None:
        """Give all their room now: layouts within layouts take a turn of events each, and words are cut meanwhile."""
        for entry in self._entries.values():
            if (inner := entry.layout()) is not None:
                inner.activate()
        self._row.activate()

    def set_note(self, text: str, short: str = "", *, yields: bool = False) -> None:
        """What stands at the right, never cut: where there is no room for it, names of curves make room, and then it is its ``short``
        form. One that ``yields`` is short rather than that, and goes where even that is too long."""
        if (text, short, yields) != (*self._notes, self._yields):
            self._notes, self._yields = (text, short), yields
            self._fit_words()
            self._settle()
