"""One sample, large: its pixels, what is known of it, and the ones before and after it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QWidget

from studio.actions.files import reveal
from studio.theme import SPACING
from studio.widgets import STRETCH, Thumbnail, button, hbox, icon_button, label, paint_image, vbox
from studio.widgets.thumbnails import fit_image

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class SampleView(QWidget):
    """Paints one image as large as there is room for, with sharp pixels.

    Signals: `pressed(float, float)` where in the image it is clicked: from 0 at the left and at the top to 1.
    """

    pressed = Signal(float, float)

    def __init__(self) -> None:
        super().__init__()
        self._thumbnail: Thumbnail | None = None
        self._overlay: tuple[QImage, QImage] | None = None
        self._opacity = 1.0
        self.setMinimumSize(320, 320)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # so that the arrow keys reach the dialog

    def set_thumbnail(self, thumbnail: Thumbnail) -> None:
        """Show another image, and nothing over it."""
        self._thumbnail, self._overlay = thumbnail, None
        self.setAccessibleName(thumbnail.tooltip)
        self.update()

    def set_overlay(self, overlay: tuple[QImage, QImage] | None) -> None:
        """Show an image and one over it in the place of the sample's own."""
        self._overlay = overlay
        self.update()

    def set_opacity(self, opacity: float) -> None:
        """How much of what lies over the image is seen, from 0 to 1."""
        self._opacity = opacity
        self.update()

    @property
    def has_overlay(self) -> bool:
        """Whether something lies over the image."""
        return self._overlay is not None

    def sizeHint(self) -> QSize:
        return QSize(520, 520)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        image = self._thumbnail.image if self._thumbnail is not None else QImage()
        if event.button() == Qt.MouseButton.LeftButton and not image.isNull():
            ratio = self.devicePixelRatioF()
            size = fit_image(image.size(), self.size() * ratio) / ratio
            across = (event.position().x() - (self.width() - size.width()) / 2) / size.width()
            down = (event.position().y() - (self.height() - size.height()) / 2) / size.height()
            if 0 <= across < 1 and 0 <= down < 1:
                self.pressed.emit(across, down)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._thumbnail is not None:
            painter = QPainter(self)
            image, over = self._overlay or (self._thumbnail.image, None)
            paint_image(painter, image, QRect(self.rect()))
            if over is not None:
                painter.setOpacity(self._opacity)
                paint_image(painter, over, QRect(self.rect()))
            painter.end()


class EnlargedSample(QDialog):
    """Shows one sample after another by its buttons and the arrow keys; who goes where is for a class of its own to say. ``view``
    takes the place of the image; ``below`` stands under it."""

    def __init__(
        self, parent: QWidget | None = None, view: QWidget | None = None, below: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._file: Path | None = None
        self.view = SampleView()
        self.title = label("", "section")
        self.detail = label("", "help", wrap=True)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.place = label("", "caption")
        self.open_file = button("Open file", "image", clicked=self._open_file)
        self.show_file = button("Show in folder", "folder", clicked=self._show_file)
        previous = icon_button("chevron-left", "Previous sample (Left)", clicked=lambda: self.step(-1))
        following = icon_button("chevron-right", "Next sample (Right)", clicked=lambda: self.step(1))
        close = button("Close", clicked=self.accept)
        vbox(
            hbox(self.title, STRETCH, previous, self.place, following),
            (view or self.view, 1),
            *((below,) if below is not None else ()),
            self.detail,
            hbox(self.open_file, self.show_file, STRETCH, close),
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.l,
        )
        (view or self.view).setFocus()

    def step(self, by: int) -> None:
        """To the next sample (1), or the one before (-1)."""
        raise NotImplementedError

    def show_sample(self, shown: Thumbnail, place: str) -> None:
        """Show ``shown``, which is at ``place`` ("3 of 40") among all that there are."""
        self._file = shown.file
        self.view.set_thumbnail(shown)
        self.title.setText(shown.caption)
        self.detail.setText("\n".join(filter(None, (shown.tooltip, str(shown.file or "")))))
        self.place.setText(place)
        self.setWindowTitle(f"Sample: {shown.caption}")
        for each in (self.open_file, self.show_file):
            each.setVisible(shown.file is not None)

    def file(self) -> Path | None:
        """The file of the sample that is shown, where it is one."""
        return self._file

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = _STEPS.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.step(by)

    def _open_file(self) -> None:
        if (file := self.file()) is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(file)))

    def _show_file(self) -> None:
        if (file := self.file()) is not None:
            reveal(file)
