"""Files over the window: what will become of them is said before they are let go, on every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.pages.setup.drops import Dropped, open_dropped, recognize, unreadable
from studio.state.context import AppContext
from studio.theme import RADIUS, SPACING, FontRole, font, icon, theme
from training.system.untrusted import escape_unprintable

_VEIL = 225  # of 255: the page shines through, and the words stay readable
_ICON = 44
_WIDTH = 520  # of the card, in pixels
_LONGEST = 60  # letters of a file's name
_TO_REACH = 100  # milliseconds in which a drag goes over from the window to what covers it


@runtime_checkable
class FileTaker(Protocol):
    """A page that takes files itself."""

    def describe_files(self, paths: Sequence[Path]) -> tuple[str, str]:
        """What would become of them: a title, and a smaller line."""

    def take_files(self, paths: Sequence[Path]) -> None:
        """They were let go."""


class DropOverlay(QWidget):
    """Covers ``host`` while a file is dragged over it and takes the drop; ``take`` is told the kind and the place of data. The page
    in front, which ``find_page`` tells, may take files itself."""

    def __init__(
        self,
        host: QWidget,
        context: AppContext,
        take: Callable[[str, Path, Mapping[str, str | None]], object],
        find_page: Callable[[], QWidget | None],
    ) -> None:
        super().__init__(host)
        self._find_page = find_page
        self._host = host
        self._context = context
        self._take = take
        self._over: Path | None = None
        self._more = 0
        self.use: Dropped | None = None
        self._leaving = QTimer(self, singleShot=True, interval=_TO_REACH)
        self._leaving.timeout.connect(self._withdraw)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)
        host.setAcceptDrops(True)
        host.installEventFilter(self)
        self.hide()

    def message(self) -> str:
        """What is said of the file."""
        if self._over is None:
            return ""
        return self.use.title if self.use else f"Looking at {escape_unprintable(self._over.name, _LONGEST)} …"

    def detail(self) -> str:
        """The smaller line below it."""
        parts = [self.use.detail] if self.use and self.use.detail else []
        if self._more:
            parts.append(f"Only the first of {self._more + 1} files is taken.")
        return " ".join(parts)

    # -------------------------------------------------------------------------------------------- Qt's own

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._cover()
        return self._answer(event)

    def event(self, event: QEvent) -> bool:
        return self._answer(event) or super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._withdraw()  # no mouse moves during a drag: its end was told to somebody else

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, refused = theme().palette, self.use is not None and not self.use.usable
        line = QColor(palette.warning if refused else palette.accent)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(palette.background)
        veil.setAlpha(_VEIL)
        painter.fillRect(self.rect(), veil)
        frame = QRectF(self.rect()).adjusted(*(SPACING.l,) * 2, *(-SPACING.l,) * 2)
        painter.setPen(QPen(line, 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(frame, RADIUS.large, RADIUS.large)
        self._paint_card(painter, refused)

    def _paint_card(self, painter: QPainter, refused: bool) -> None:
        """The words on ground of their own: those of the page would show through them."""
        palette = theme().palette
        width = min(_WIDTH, self.width() - 2 * SPACING.xxl)
        inner = QRectF(0, 0, width - 2 * SPACING.xl, _ICON)
        title = self._write(painter, inner, self.message(), "title", None)
        detail = self._write(painter, inner, self.detail(), "subtitle", None)
        card = QRectF(0, 0, width, 2 * SPACING.xl + _ICON + SPACING.m + title + SPACING.s + detail)
        card.moveCenter(QRectF(self.rect()).center())
        painter.setPen(QPen(QColor(palette.border), 1))
        painter.setBrush(QColor(palette.raised))
        painter.drawRoundedRect(card, RADIUS.large, RADIUS.large)
        inner.moveTo(card.left() + SPACING.xl, card.top() + SPACING.xl)
        image = icon("warning", "warning") if refused else icon("download", "accent")
        image.paint(painter, QRect(round(card.center().x()) - _ICON // 2, round(inner.top()), _ICON, _ICON))
        inner.translate(0, _ICON + SPACING.m)
        self._write(painter, inner, self.message(), "title", palette.text)
        inner.translate(0, title + SPACING.s)
        self._write(painter, inner, self.detail(), "subtitle", palette.muted)

    @staticmethod
    def _write(painter: QPainter, room: QRectF, text: str, role: FontRole, color: str | None) -> float:
        """Returns the height of the text; without a color it is only measured."""
        painter.setFont(font(role))
        flags = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
        needed = painter.boundingRect(QRectF(room.left(), room.top(), room.width(), 1e4), flags, text)
        if color is not None:
            painter.setPen(QColor(color))
            painter.drawText(QRectF(room.left(), room.top(), room.width(), needed.height()), flags, text)
        return needed.height() if text else 0.0

    # ------------------------------------------------------------------------------------------ the drag

    def _answer(self, event: QEvent) -> bool:
        """Whether the event belonged to a drag of files and is dealt with."""
        kind = event.type()
        if kind == QEvent.Type.DragLeave and self._over is not None:
            self._leaving.start()
            return True
        if not isinstance(event, QDropEvent):  # entering and moving are among them
            return False
        paths = _local_paths(event)
        if not paths:
            return False
        event.acceptProposedAction()
        self._leaving.stop()
        if kind == QEvent.Type.Drop:
            self._withdraw()
            # After the drop: a message must not keep the file manager waiting.
            QTimer.singleShot(0, self, lambda: self._use(paths))
        elif isinstance(event, QDragEnterEvent) and self._over != paths[0]:
            self._show(paths)
        return True

    def _use(self, paths: Sequence[Path]) -> None:
        page = self._find_page()
        if isinstance(page, FileTaker):
            page.take_files(paths)
        else:
            open_dropped(self._context, paths[0], self._take)

    def _show(self, paths: Sequence[Path]) -> None:
        page, path = self._find_page(), paths[0]
        taker = page if isinstance(page, FileTaker) else None
        self._over, self._more = path, 0 if taker else len(paths) - 1
        self._tell(path, Dropped(*taker.describe_files(paths)) if taker else None)
        self._cover()
        self.raise_()
        self.show()
        if taker:
            return
        self._context.background.submit(
            lambda: recognize(path),
            lambda use: self._tell(path, use),
            lambda error: self._tell(path, unreadable(path, error)),
        )

    def _tell(self, path: Path, use: Dropped | None) -> None:
        """An answer about a file that has gone is too late."""
        if path == self._over:
            self.use = use
            self.setAccessibleName(" ".join(filter(None, (self.message(), self.detail()))))
            self.update()

    def _withdraw(self) -> None:
        self._leaving.stop()
        self._over, self.use = None, None
        self.hide()

    def _cover(self) -> None:
        self.setGeometry(self._host.rect())


def _local_paths(event: QDropEvent) -> list[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
