"""Figures and states at a glance: a big number, a pill, a thin progress line, a table of names and values."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QVariantAnimation
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from studio.theme import SPACING, Tone, set_property, theme
from studio.widgets.labels import ElidedLabel, SteadyLabel, label
from studio.widgets.layouts import STRETCH, empty, hbox, in_widget, vbox


class BigNumber(QWidget):
    """A caption, a large figure, and below it how it changed."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._caption = label(caption, "caption")
        self._value = SteadyLabel("number", selectable=True)
        self._value.setText("–")
        self._delta = label("", "caption", wrap=True)
        self._delta.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._delta.hide()
        self._reserved = 0  # lines
        self._delta.installEventFilter(self)
        vbox(self._caption, hbox(self._value, STRETCH), self._delta, STRETCH, parent=self, spacing=2)
        self._describe()

    def value(self) -> str:
        """The figure as shown."""
        return self._value.text()

    def set_value(self, text: str) -> None:
        """Show a figure, already formatted; "–" stands for none yet."""
        if text != self._value.text():
            self._value.setText(text)
            self._describe()

    def set_caption(self, caption: str) -> None:
        """What the figure is."""
        if caption != self._caption.text():
            self._caption.setText(caption)
            self._describe()

    def set_delta(self, text: str, tone: Tone = "neutral") -> None:
        """A line below: a change, a best so far; "" removes it."""
        if text != self._delta.text():
            self._delta.setText(text)
            self._delta.setVisible(bool(text))
        set_property(self._delta, "tone", tone)

    def reserve_lines(self, count: int) -> None:
        """Keep room below for words of so many lines: what stands under the figure does not move when they come."""
        self._reserved = count
        policy = self._delta.sizePolicy()
        policy.setRetainSizeWhenHidden(count > 0)
        self._delta.setSizePolicy(policy)
        self._delta.ensurePolished()
        self._measure()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The words' own type tells how high they are: that of the whole may change before theirs does."""
        if event.type() == QEvent.Type.FontChange and watched is self._delta:
            self._measure()
        return super().eventFilter(watched, event)

    def _measure(self) -> None:
        self._delta.setMinimumHeight(self._reserved * self._delta.fontMetrics().lineSpacing())

    def _describe(self) -> None:
        self.setAccessibleName(f"{self._caption.text()}: {self._value.text()}")


class StatusPill(QLabel):
    """A word on a tint: a run's state, a data set's condition."""

    def __init__(self, text: str = "", tone: Tone = "neutral") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.set_status(text, tone)

    def set_status(self, text: str, tone: Tone) -> None:
        """Change the word and its color."""
        self.setText(text)
        set_property(self, "tone", tone)


class _Track(QWidget):
    """The line itself; moves while the end is unknown, and only while it can be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(6)
        self.fraction: float | None = 0.0
        self.tone: Tone = "accent"
        self._sweep = QVariantAnimation(self, duration=1400, startValue=0.0, endValue=1.0)
        self._sweep.setLoopCount(-1)
        self._sweep.valueChanged.connect(self.update)

    def show_fraction(self, fraction: float | None, tone: Tone) -> None:
        if (fraction, tone) != (self.fraction, self.tone):
            self.fraction, self.tone = fraction, tone
            self._move_if_seen()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, 6)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._move_if_seen()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._sweep.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.pressed))
        painter.drawRoundedRect(self.rect(), 3, 3)
        color = palette.accent if self.tone == "accent" else palette.tone(self.tone)
        painter.setBrush(QColor(color))
        width = float(self.width())
        if self.fraction is None:
            share = float(self._sweep.currentValue() or 0.0)
            left, right = width * (1.3 * share - 0.3), width * 1.3 * share
            painter.setClipRect(self.rect())
            painter.drawRoundedRect(QRectF(left, 0, right - left, 6), 3, 3)
        elif self.fraction > 0:
            painter.drawRoundedRect(QRectF(0, 0, max(6.0, width * min(self.fraction, 1.0)), 6), 3, 3)

    def _move_if_seen(self) -> None:
        if self.fraction is None and self.isVisible():
            self._sweep.start()
        else:
            self._sweep.stop()


class ProgressLine(QWidget):
    """A thin line with a text at the left above it and a detail at the right."""

    def __init__(self) -> None:
        super().__init__()
        self._track = _Track()
        self._text = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self._detail = SteadyLabel("caption")
        self._detail.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._words = in_widget(hbox((self._text, 1), self._detail))
        vbox(self._words, self._track, parent=self, spacing=6)
        self._words.hide()

    def set_progress(self, fraction: float | None, text: str = "", detail: str = "", tone: Tone = "accent") -> None:
        """Show 0 to 1, or None for "busy, end unknown"."""
        self._track.show_fraction(fraction, tone)
        self._text.setText(text)
        self._detail.setText(detail)
        self._words.setVisible(bool(text or detail))
        share = "busy" if fraction is None else f"{fraction:.0%}"
        self.setAccessibleName(f"{text} {share} {detail}".strip())


class KeyValueTable(QWidget):
    """Two columns, names and values; the values can be selected and copied."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, QLabel] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACING.l)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)

    def set_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Replace all rows; cheap when only values changed."""
        if [name for name, _ in rows] != list(self._values):
            self._rebuild([name for name, _ in rows])
        for name, value in rows:
            self.set_value(name, value)

    def set_value(self, key: str, value: str) -> None:
        """Change one value. Raises KeyError for a name that has no row."""
        shown = self._values[key]
        if shown.text() != value:
            shown.setText(value)
            shown.setAccessibleName(f"{key}: {value}")

    def _rebuild(self, names: list[str]) -> None:
        empty(self._grid)
        self._values.clear()
        top = Qt.AlignmentFlag.AlignTop
        for row, name in enumerate(names):
            value = label("", selectable=True, wrap=True)
            self._grid.addWidget(label(name, "caption"), row, 0, top)
            self._grid.addWidget(value, row, 1, top)
            self._values[name] = value
