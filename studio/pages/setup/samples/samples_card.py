"""Images of the dataset, page by page, as they are and as they are trained on; points of a plane all at once."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeySequence, QShortcut

from studio.charts.scatter import Scatter
from studio.pages.setup.samples.sample_dialog import SampleDialog
from studio.panels.data.page_bar import PageBar
from studio.panels.data.sample_pages import SamplePages
from studio.panels.samples.images import thumbnails, varies
from studio.services.settings import SettingsStore
from studio.widgets import Card, Segmented, ThumbnailGrid, icon_button, let_grow
from training.protocol.answers import PAGE, DatasetReport, Points, SamplePage

_SCATTER = 340, 760  # pixels: at least, and where there is room
_FRAME = 2  # pixels of a tile around its image
SIZES = (64, 128, 192)
"""Pixels; common sizes of small images fill them whole."""
_NAMED_FROM = 128
"""Images so large have room for the name of their file."""


class SamplesCard(Card):
    """Follows ``pages``; is there only while its dataset has something to look at."""

    def __init__(self, pages: SamplePages, settings: SettingsStore) -> None:
        super().__init__("Samples", "image")
        self._pages = pages
        self._settings = settings
        self._report: DatasetReport | None = None
        self._page: SamplePage | None = None
        self.variation = Segmented([("varied", "Augmented"), ("original", "Original")])
        self.variation.setAccessibleName("Which version of the samples")
        self.variation.current_changed.connect(self._show_images)
        self.add_action(self.variation)
        self.bar = PageBar(pages, "sample")
        self.smaller = icon_button("minus", "Smaller images (−)", clicked=lambda: self.zoom(-1))
        self.larger = icon_button("plus", "Larger images (+)", clicked=lambda: self.zoom(1))
        self.bar.add(self.smaller, self.larger)
        self.grid = ThumbnailGrid(max_rows=PAGE)
        self.grid.setProperty("flat", True)
        self.grid.setCursor(Qt.CursorShape.PointingHandCursor)
        self.grid.clicked.connect(self._enlarge)
        enter = QShortcut(QKeySequence(Qt.Key.Key_Return), self.grid, context=Qt.ShortcutContext.WidgetShortcut)
        enter.activated.connect(lambda: self._enlarge(self.grid.currentIndex()))
        for key, by in ((Qt.Key.Key_Minus, -1), (Qt.Key.Key_Plus, 1)):
            shortcut = QShortcut(QKeySequence(key), self.grid, context=Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(partial(self.zoom, by))
        self.bar.follow_keys(self.grid)
        self._scatter = Scatter()
        let_grow(self._scatter, *_SCATTER)
        self.add(self.bar, self.grid, self._scatter)
        self._resize_tiles()
        pages.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        report, page = self._pages.report, self._pages.page
        images = report.layout == "image" and page is not None
        self.setVisible(images or report.points is not None)
        self.bar.setVisible(images)
        self.grid.setVisible(bool(images and page and page.samples))
        if report is not self._report:
            self._report = report
            self._scatter.setVisible(report.points is not None)
            points = report.points or Points()
            self._scatter.set_points(points.x, points.y, points.label)
        if page is not self._page:
            self._page = page
            self._show_images()

    def _show_images(self) -> None:
        pages = self._pages
        samples = self._page.samples if self._page is not None else ()
        self.variation.setVisible(any(map(varies, samples)))
        varied = self.variation.current() == "varied"
        self.grid.set_thumbnails(thumbnails(samples, varied=varied, place=pages.place))
        self.grid.setAccessibleName(f"Samples {pages.find_range(pages.shown)}")

    def zoom(self, by: int) -> None:
        """Show the images in the next larger size (1), or the next smaller one (-1)."""
        self._settings.update(sample_size=self._find_size() + by)
        self._resize_tiles()

    def _find_size(self) -> int:
        return min(max(self._settings.get().sample_size, 0), len(SIZES) - 1)

    def _resize_tiles(self) -> None:
        size = self._find_size()
        self.grid.set_tile(SIZES[size] + _FRAME, named=SIZES[size] >= _NAMED_FROM)
        self.smaller.setEnabled(size > 0)
        self.larger.setEnabled(size < len(SIZES) - 1)

    def _enlarge(self, index: QModelIndex) -> None:
        if not index.isValid():
            return
        dialog = SampleDialog(self._pages, self.grid.thumbnails, index.row(), self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
