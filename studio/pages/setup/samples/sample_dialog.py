"""The samples of the dataset, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.panels.data.sample_pages import SamplePages
from studio.panels.samples.enlarged_sample import EnlargedSample
from studio.widgets import Thumbnail


class SampleDialog(EnlargedSample):
    """Goes through the samples of ``pages`` from the one ``at`` on the page that is shown; the last is followed by the first.
    ``show_page`` gives what ``pages`` shows as images."""

    def __init__(
        self, pages: SamplePages, show_page: Callable[[], Sequence[Thumbnail]], at: int, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._pages = pages
        self._show_page = show_page
        self._samples = show_page()
        self._heading = 0  # where to, while another page is on its way
        self.at = at
        pages.changed.connect(self._follow)
        self._show()

    def step(self, by: int) -> None:
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
        self.show_sample(shown, f"{shown.place + 1:,} of {self._pages.total:,}")
