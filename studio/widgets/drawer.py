"""Two parts that belong together: beside each other where there is room for both, else the second as a drawer over the first."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeySequence, QPainter, QPaintEvent, QPen, QResizeEvent, QShortcut
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QSizePolicy, QWidget

from studio.theme import RADIUS, SPACING, font, icon, theme
from studio.widgets.layouts import hbox, vbox

_ICON = 16


class BesideOrOver(QWidget):
    """Lays out ``main`` and, at its right, ``side``. Where both do not have the room they cannot do without, or less than
    ``least`` pixels in all, ``side`` lies over ``main`` while the drawer is open, and covers as little of it as it can.

    With a ``handle``, a word, the drawer is opened by a button at the right edge that is there whenever ``side`` is not
    beside ``main``. Without one ``side`` is seen nowhere until somebody else calls ``set_open``.

    Signals: `open_changed(bool)`.
    """

    open_changed = Signal(bool)

    def __init__(
        self,
        main: QWidget,
        side: QWidget,
        parent: QWidget,
        *,
        shares: tuple[int, int],
        least: int = 0,
        handle: str = "",
    ) -> None:
        super().__init__(parent)
        self._main, self._side = main, side
        self._share, self._least = shares[1], least
        self.handle = DrawerHandle(handle) if handle else None
        self._drawer = QFrame(self)
        self._drawer.setProperty("drawer", True)
        vbox((side, 1), parent=self._drawer, spacing=0)
        side.show()  # it is seen where its drawer is
        self._row = hbox((main, shares[0]), (self._drawer, shares[1]), parent=self, spacing=0)
        self._open = False
        self.beside = True
        if self.handle is not None:
            self._row.addWidget(self.handle)
            self.handle.hide()
            self.handle.toggled.connect(self.set_open)
        self._escape = QShortcut(
            QKeySequence(Qt.Key.Key_Escape), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut
        )
        self._escape.activated.connect(lambda: self.set_open(False))
        self._show_side()

    def set_open(self, on: bool) -> None:
        """Open the drawer, or close it; the keyboard does not stay in what is closed."""
        if on == self._open:
            return
        focused = QApplication.focusWidget()
        left = not on and focused is not None and self._drawer.isAncestorOf(focused)
        self._open = on
        if self.handle is not None:
            self.handle.setChecked(on)
        self._show_side()
        if left:
            (self.handle or self._main).setFocus(Qt.FocusReason.OtherFocusReason)
        self.open_changed.emit(on)

    def chain(self) -> list[QWidget]:
        """What Tab visits after ``main``, in order: the handle, and what it opens."""
        return [part for part in (self.handle, self._side) if part is not None]

    def minimumSizeHint(self) -> QSize:
        """Only what ``main`` cannot do without: asking for both would keep the width from ever falling below."""
        hint = self._main.minimumSizeHint()
        return QSize(hint.width() + self._handle_width(), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # one of them may need more than before
            self._arrange()
            self.updateGeometry()
        return done

    def _arrange(self) -> None:
        needed = self._main.minimumSizeHint().width() + self._side.minimumSizeHint().width()
        beside = self.width() >= max(needed, self._least)
        if beside != self.beside:
            self.beside = beside
            if beside:
                self._row.insertWidget(1, self._drawer, self._share)
            else:
                self._row.removeWidget(self._drawer)
            if self.handle is not None:
                self.handle.setVisible(not beside)
            self._show_side()
        if not beside:
            self._place_drawer()

    def _place_drawer(self) -> None:
        room = self.width() - self._handle_width()
        width = max(self._side.minimumSizeHint().width(), room - self._main.minimumSizeHint().width(), room // 2)
        width = min(width, room)
        self._drawer.setGeometry(room - width, 0, width, self.height())
        self._drawer.raise_()

    def _show_side(self) -> None:
        self._drawer.setProperty("over", not self.beside)
        self._drawer.setVisible(self._open or (self.beside and self.handle is not None))
        self._drawer.style().unpolish(self._drawer)
        self._drawer.style().polish(self._drawer)
        self._escape.setEnabled(self._open and not self.beside)

    def _handle_width(self) -> int:
        return self.handle.sizeHint().width() if self.handle is not None and not self.beside else 0


class DrawerHandle(QAbstractButton):
    """A strip as high as the drawer, with its word from top to bottom."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.setText(word)
        self.setCheckable(True)
        self.setAccessibleName(word)
        self.setToolTip(f"{word}: lay it over the form, or put it away (Esc)")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.height() + 2 * SPACING.s, metrics.horizontalAdvance(self.text()) + 60)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = palette.accent_soft if self.isChecked() else palette.hover if self.underMouse() else palette.surface
        painter.fillRect(self.rect(), QColor(ground))
        painter.setPen(QColor(palette.border))
        painter.drawLine(0, 0, 0, self.height())
        if self.hasFocus():
            painter.setPen(QPen(QColor(palette.accent), 1.5))
            box = self.rect().adjusted(2, 2, -2, -2)
            painter.drawRoundedRect(box, RADIUS.small, RADIUS.small)
        top = SPACING.l
        arrow = icon("chevron-right" if self.isChecked() else "chevron-left", "muted")
        arrow.paint(painter, (self.width() - _ICON) // 2, top, _ICON, _ICON)
        painter.setFont(font("body"))
        painter.setPen(QColor(palette.accent_text if self.isChecked() else palette.text))
        painter.translate(self.width() / 2, top + _ICON + SPACING.s)
        painter.rotate(90)
        metrics = painter.fontMetrics()
        painter.drawText(0, round(metrics.ascent() - metrics.height() / 2), self.text())
        painter.end()
