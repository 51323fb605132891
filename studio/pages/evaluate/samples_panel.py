"""The chosen samples, as images and as a table: what all views of the page are selections of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, Slot
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QStackedLayout, QTableView

from studio.pages.evaluate.details_dialog import DetailsDialog
from studio.pages.evaluate.looking import Looking, tells_where
from studio.pages.evaluate.mask_pair import MaskPair
from studio.pages.evaluate.sample_actions import SampleActions, find_data
from studio.pages.evaluate.sample_dialog import SampleDialog
from studio.pages.evaluate.selection_bar import SelectionBar
from studio.pages.evaluate.view import name_file
from studio.panels.charts.save_menu import SaveMenu
from studio.panels.samples.image_table import ImageTable
from studio.panels.samples.images import find_file
from studio.panels.samples.mask_bar import LAYERS, MaskBar
from studio.panels.samples.mask_overlay import lay_over
from studio.panels.samples.sample_images import SampleImages
from studio.state.context import AppContext
from studio.state.evaluations.sample_details import make_details
from studio.state.evaluations.sample_order import SampleOrder, orders_of
from studio.state.evaluations.sample_table import SampleTable
from studio.state.evaluations.selection import Selection
from studio.widgets import Card, ComboBox, Segmented, Thumbnail, dress_table, icon_button, label
from training.predictions import Evaluation
from training.predictions.sample_columns import describe_answers

_ROW_HEIGHT = 26
_WIDEST_COLUMN = 240
_TILE = 88
_ORDER_LETTERS = 10
_MOST_LAID_OVER = 400
"""Images with their classes over them that are kept."""


class SamplesPanel(Card):
    """Follows ``selection``; of data without images there is only the table."""

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__("Samples")
        self._context = context
        self._selection = selection
        self.table = SampleTable(selection, self)
        self.images = SampleImages(context.engine, self)
        self._numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self._caption: Callable[[int], str] = str
        self._enlarged: SampleDialog | DetailsDialog | None = None  # while it is open
        self._is_fitted = False  # the columns of the table, to what they hold
        self._orders: list[SampleOrder] = []
        self._place = ""  # where the files of the samples lie
        self.order = ComboBox()
        self.order.setAccessibleName("Order of the samples")
        self.order.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.order.setMinimumContentsLength(_ORDER_LETTERS)
        self.order.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)  # as wide as the text is large
        self.order.activated.connect(lambda: self.table.set_order(self.order.currentData()))
        self.form = Segmented()
        self.form.add_option("images", "", "image", "As images")
        self.form.add_option("table", "", "table", "As a table")
        self.form.setAccessibleName("How the samples are shown")
        self.form.current_changed.connect(self._show_form)
        self.grid = ImageTable(self.find_thumbnail, "Images of the samples", tile=_TILE)
        self.grid.opened.connect(self.enlarge)
        self.rows = _make_rows(self.table)
        self.rows.selectionModel().currentRowChanged.connect(self._look_at_row)
        self.rows.doubleClicked.connect(self._open_row)
        self.rows.activated.connect(self._open_row)
        self.masks = MaskBar(LAYERS, "prediction")
        self.masks.changed.connect(self._lay_over_again)
        self._laid_over: dict[int, QImage] = {}  # by the row of the evaluation
        self._stack = QStackedLayout()
        self._stack.addWidget(self.grid)
        self._stack.addWidget(self.rows)
        self._nothing = label("No sample fits everything that is selected.", "help", wrap=True)
        self._nothing.hide()
        self._problem = label("", "help", wrap=True)
        self._problem.hide()
        self.list_actions = SampleActions(context, self, selection, self.table)
        self.menu = SaveMenu(
            context,
            self,
            lambda: name_file(selection.evaluation, "samples"),
            tabulate=self.table.tabulate,
            more=self.list_actions.list_rows(),
        )
        self.add_action(self.order, self.form, icon_button("more", "Copy or save: Samples", clicked=self.menu.open))
        self.bar = SelectionBar(selection)
        self.add(self.bar, self._problem, self._nothing, self.masks, (self._stack, 1))
        self.images.arrived.connect(self._on_images)
        selection.evaluation_changed.connect(self._take_evaluation)
        selection.looked_at_changed.connect(self._mark_row)
        self.table.modelReset.connect(self._on_listed)
        selection.changed.connect(self._count)

    def find_thumbnail(self, place: int) -> Thumbnail:
        """What is to be seen of the sample at ``place`` of the list; without its image while that is on its way."""
        row = int(self.table.rows[place])
        number = int(self._numbers[row])
        name = self.table.columns[0].describe(row)
        image = self.images.find(number) if self.shows_images else None
        missing = self.images.why_missing(number) if image is None and self.shows_images else ""
        words = "\n".join(filter(None, (f"{name}, {self.table.describe_row(row)}", missing)))
        if self.has_masks:
            image = self._lay_over(row, image)
        return Thumbnail(image or QImage(), self._caption(row), words, None, name, place)

    def find_enlarged(self, place: int) -> Thumbnail:
        """The same with its file, which is looked for on the disk."""
        thumbnail = self.find_thumbnail(place)
        return replace(thumbnail, file=find_file(thumbnail.name, self._place))

    def _find_bare(self, place: int) -> Thumbnail:
        """The same without anything over its image."""
        image = self.images.find(int(self._numbers[self.table.rows[place]]))
        return replace(self.find_enlarged(place), image=image or QImage())

    @property
    def has_masks(self) -> bool:
        """Whether the samples are images with a class for each pixel."""
        evaluation = self._selection.evaluation
        return evaluation is not None and evaluation.record.target == "mask"

    @property
    def shows_images(self) -> bool:
        """Whether the samples are images."""
        evaluation = self._selection.evaluation
        return evaluation is not None and evaluation.record.layout == "image"

    @Slot(int)
    def enlarge(self, place: int) -> None:
        """Show the sample at ``place`` large; the arrow keys go on from there."""
        evaluation = self._selection.evaluation
        if evaluation is None or self._enlarged is not None:  # a double click asks twice
            return
        self._enlarged = dialog = self._make_dialog(evaluation, place)
        dialog.finished.connect(lambda: self._on_closed(dialog.at))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _make_dialog(self, evaluation: Evaluation, place: int) -> SampleDialog | DetailsDialog:
        if self.shows_images:
            pair = MaskPair(evaluation) if self.has_masks else None
            find = self._find_bare if self.has_masks else self.find_enlarged
            return SampleDialog(self.table, self.images, find, place, self, self._make_looking(), pair)
        return DetailsDialog(self.table, make_details(evaluation), place, self)

    def _make_looking(self) -> Looking | None:
        evaluation = self._selection.evaluation
        if evaluation is None or not tells_where(evaluation.record):
            return None
        checkpoint = self._context.evaluation.checkpoint
        fits = checkpoint is not None and checkpoint.step == evaluation.record.step
        return Looking(self._context.engine, evaluation, checkpoint.path if checkpoint and fits else None)

    # ------------------------------------------------------------------------------------------- inside

    @Slot()
    def _count(self) -> None:
        chosen, total = len(self._selection.rows), self._selection.total
        self.set_title(f"{total:,} samples" if not self._selection.criteria else f"{chosen:,} of {total:,} samples")

    def _open_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.enlarge(index.row())

    def _on_closed(self, place: int) -> None:
        self._enlarged = None
        if place < len(self.table.rows):
            self._selection.look_at(int(self.table.rows[place]))
            self.grid.choose(place)
            self.rows.selectRow(place)

    @Slot()
    def _take_evaluation(self) -> None:
        evaluation = self._selection.evaluation
        self.images.show_evaluation(evaluation)
        if evaluation is None:  # no file of it is held open: another one may be written in its place
            self._numbers, self._caption = np.zeros(0, np.int64), str
            return
        self._numbers = evaluation.column("index")
        self._caption = describe_answers(evaluation)
        self._place = find_data(evaluation)
        orders = orders_of(evaluation)
        if orders != self._orders:  # of another task two may be called alike
            self._orders = orders
            with QSignalBlocker(self.order):
                self.order.clear()
                for order in orders:
                    self.order.addItem(order.title, order.key)
                    self.order.setItemData(self.order.count() - 1, order.tip, Qt.ItemDataRole.ToolTipRole)
        self.order.setCurrentIndex(max(self.order.findData(self.table.order), 0))
        self.form.setVisible(self.shows_images)
        self._laid_over.clear()
        if self.has_masks:
            self.masks.set_classes(evaluation.record.names)
        self._is_fitted = False
        self._show_form()

    def _lay_over(self, row: int, image: QImage | None) -> QImage | None:
        evaluation = self._selection.evaluation
        if image is None or evaluation is None:
            return image
        if row not in self._laid_over:
            if len(self._laid_over) > _MOST_LAID_OVER:
                self._laid_over.clear()
            truth, prediction = (evaluation.column(name)[row] for name in ("target", "prediction"))
            self._laid_over[row] = lay_over(image, truth, prediction, self.masks.layer, self.masks.opacity)
        return self._laid_over[row]

    @Slot()
    def _lay_over_again(self) -> None:
        self._laid_over.clear()
        self.grid.viewport().update()

    def _look_at_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self._selection.look_at(int(self.table.rows[index.row()]))

    @Slot()
    def _mark_row(self) -> None:
        """Another sample is looked at: it is the current one here, where it is listed."""
        place = self.table.find_place(self._selection.looked_at)
        if place is not None and place != self.rows.currentIndex().row():
            self.rows.selectRow(place)

    @Slot()
    def _show_form(self) -> None:
        as_images = self.shows_images and self.form.current() == "images"
        self.masks.setVisible(self.has_masks and as_images)
        self._stack.setCurrentWidget(self.grid if as_images else self.rows)
        self._on_listed()

    @Slot()
    def _on_listed(self) -> None:
        if len(self.table.rows):
            _fit_columns(self.rows, self._is_fitted)
            self._is_fitted = True
        self._nothing.setVisible(not len(self.table.rows))
        if len(self.table.rows) and self.table.find_place(self._selection.looked_at) is None:
            self._selection.look_at(int(self.table.rows[0]))
        self._mark_row()
        if self._stack.currentWidget() is self.grid:
            self.grid.set_count(len(self.table.rows))
        elif len(self.table.rows):
            self.rows.scrollToTop()

    @Slot()
    def _on_images(self) -> None:
        self._problem.setText(self.images.problem and f"The images cannot be shown. {self.images.problem}")
        self._problem.setVisible(bool(self.images.problem))
        self.grid.viewport().update()


def _make_rows(table: SampleTable) -> QTableView:
    rows = QTableView()
    rows.setModel(table)
    dress_table(rows, "Table of the samples", _ROW_HEIGHT)
    rows.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    rows.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    rows.verticalHeader().hide()
    rows.horizontalHeader().setResizeContentsPrecision(40)
    rows.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    return rows


def _fit_columns(rows: QTableView, only_wider: bool) -> None:
    """To what the first samples of the order hold; those of another one may take more room."""
    least = [rows.columnWidth(column) if only_wider else 0 for column in range(rows.model().columnCount())]
    rows.resizeColumnsToContents()
    rows.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    for column, width in enumerate(least):
        rows.setColumnWidth(column, max(min(rows.columnWidth(column) + 12, _WIDEST_COLUMN), width))
