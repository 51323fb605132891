"""One sample, large: its pixels, what is known of it, and the ones before and after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QWidget

from studio.actions.files import reveal
from studio.pages.setup.samples.sample_pages import SamplePages
from studio.theme import SPACING
from studio.widgets import STRETCH, Thumbnail, button, hbox, icon_button, label, paint_image, vbox

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class SampleView(QWidget):
    """Paints one image as large as there is room for, with sharp pixels."""

    def __init__(self) -> None:
        super().__init__()
        self._thumbnail: Thumbnail | None = None
        self.setMinimumSize(320, 320)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # so that the arrow keys reach the dialog

    def set_thumbnail(self, thumbnail: Thumbnail) -> None:
        """Show another image."""
        self._thumbnail = thumbnail
        self.setAccessibleName(thumbnail.tooltip)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(520, 520)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._thumbnail is not None:
            painter = QPainter(self)
            paint_image(painter, self._thumbnail.image, QRect(self.rect()))
            painter.end()


class SampleDialog(QDialog):
    """Goes through the samples of ``pages`` from the one ``at`` on the page that is shown, by its buttons and the arrow keys; the last
    is followed by the first. ``show_page`` gives what ``pages`` shows as images."""

    def __init__(
        self, pages: SamplePages, show_page: Callable[[], Sequence[Thumbnail]], at: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._pages = pages
        self._show_page = show_page
        self._samples = show_page()
        self._heading = 0  # where to, while another page is on its way
        self.at = at
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
            (self.view, 1),
            self.detail,
            hbox(self.open_file, self.show_file, STRETCH, close),
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.l,
        )
        self.view.setFocus()
        pages.changed.connect(self._follow)
        self._show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = _STEPS.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.step(by)

    def step(self, by: int) -> None:
        """To the next sample (1), or the one before (-1)."""
        if self._heading:  # on the way to another page
            return
        if 0 <= self.at + by < len(self._samples):
            self.at += by
            self._show()
        else:
            self._turn(by)

    def _turn(self, by: int) -> None:
        pages = self._pages
        offset = pages.find_next(by)
        if offset is None:
            offset = 0 if by > 0 else pages.find_last()
        if offset == pages.shown.offset:  # there is no other page
            self.at = (self.at + by) % len(self._samples)
            self._show()
        else:
            self._heading = by
            pages.turn_to(offset)

    @Slot()
    def _follow(self) -> None:
        """Show what has become of the page."""
        pages, heading = self._pages, self._heading
        if pages.waiting:
            self.place.setText("Loading …")
            return
        self._heading = 0
        samples = self._show_page()
        if pages.page is None or not (samples or heading):
            self.reject()  # the data has become other data
        elif pages.refusal:
            self._show()
            self.detail.setText(pages.refusal)
        elif not samples:  # no file of that page can be read
            self._turn(heading)
        else:
            self._samples = samples
            self.at = {0: min(self.at, len(samples) - 1), 1: 0, -1: len(samples) - 1}[heading]
            self._show()

    def _show(self) -> None:
        shown = self._samples[self.at]
        self.view.set_thumbnail(shown)
        self.title.setText(shown.caption)
        self.detail.setText("\n".join(filter(None, (shown.tooltip, str(shown.file or "")))))
        self.place.setText(f"{shown.place + 1:,} of {self._pages.total:,}")
        self.setWindowTitle(f"Sample: {shown.caption}")
        for each in (self.open_file, self.show_file):
            each.setVisible(shown.file is not None)

    def file(self) -> Path | None:
        """The file of the sample that is shown, where it is one."""
        return self._samples[self.at].file

    def _open_file(self) -> None:
        if (file := self.file()) is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(file)))

    def _show_file(self) -> None:
        if (file := self.file()) is not None:
            reveal(file)
