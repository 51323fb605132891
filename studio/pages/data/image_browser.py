"""All images of the data, at any size: of a part, of a class, by a piece of their names."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from studio.pages.data.enlarged import EnlargedData
from studio.pages.data.exclude_bar import ExcludeBar, add_parts
from studio.panels.data.data_images import DataImages, no_image
from studio.panels.data.part_words import PARTS
from studio.panels.samples.image_table import ImageTable
from studio.services.settings import SettingsStore
from studio.theme import SPACING
from studio.widgets import (
    ComboBox,
    SearchLine,
    Segmented,
    Slider,
    Thumbnail,
    flow_box,
    hbox,
    in_widget,
    label,
    vbox,
)
from training.protocol.answers import DatasetReport

_SIZES = 32, 320
_STEP = 16
_FRAME = 2
_NAMED_FROM = 128
_PAUSE = 300  # milliseconds after the last letter
_WIDEST = 260


class ImageBrowser(QWidget):
    """Shows what ``images`` lists; ``bar`` tells what becomes of what is selected."""

    def __init__(self, images: DataImages, settings: SettingsStore) -> None:
        super().__init__()
        self._images, self._settings = images, settings
        self._report: DatasetReport | None = None
        self.dialog: EnlargedData | None = None
        self.part = _box("Part of the data")
        self.part.activated.connect(lambda: self._choose(part=self.part.currentData()))
        self.of_class = _box("Class")
        self.of_class.activated.connect(lambda: self._choose(class_name=self.of_class.currentData()))
        self.name = SearchLine("Part of the name", "Name contains …")
        self.name.setFixedWidth(180)
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE)
        self._typed.timeout.connect(lambda: self._choose(name=self.name.text().strip()))
        self.name.textChanged.connect(lambda: self._typed.start())
        self.name.returnPressed.connect(lambda: self._choose(name=self.name.text().strip()))
        self.variation = Segmented([("original", "Original"), ("varied", "Augmented")])
        self.variation.setAccessibleName("Which version of the samples")
        self.variation.current_changed.connect(self._repaint)
        self.scale = Slider()
        self.scale.setAccessibleName("Size of the images")
        self.scale.setToolTip("Size of the images (− and +)")
        self.scale.setRange(_SIZES[0] // _STEP, _SIZES[1] // _STEP)
        self.scale.setFixedWidth(140)
        self.scale.setValue(settings.get().data_tile // _STEP)
        self.scale.valueChanged.connect(self._resize_tiles)
        self.grid = ImageTable(self._find, "Images of the data", tile=self._tile() + _FRAME)
        self.grid.select_several()
        self.grid.opened.connect(self.enlarge)
        self.bar = ExcludeBar("image", self._list_numbers)
        self.bar.listen_to(self.grid)
        self.problem = label("", "help", wrap=True)
        self._lay_out()
        for key, by in ((Qt.Key.Key_Minus, -1), (Qt.Key.Key_Plus, 1)):
            shortcut = QShortcut(QKeySequence(key), self.grid, context=Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(lambda by=by: self.scale.setValue(self.scale.value() + by))
        images.relisted.connect(self._update)
        images.arrived.connect(self._on_arrived)
        self.grid.verticalScrollBar().valueChanged.connect(self._drop_wishes)
        self._follow_selection()
        self._resize_tiles()
        self._update()

    def _lay_out(self) -> None:
        size = in_widget(hbox(label("Size", "caption"), self.scale))
        vbox(
            in_widget(flow_box(self.part, self.of_class, self.name, self.variation, size)),
            self.bar,
            self.problem,
            (self.grid, 1),
            parent=self,
            spacing=SPACING.s,
            margins=(SPACING.l, SPACING.m, SPACING.l, SPACING.s),
        )

    def enlarge(self, place: int) -> None:
        """Show the image at ``place`` large."""
        dialog = self.dialog = EnlargedData(self._images, place, self, exclude=self.bar.words)
        dialog.exclude_asked.connect(lambda number: self.bar.send([number]))
        dialog.finished.connect(lambda: self._on_closed(dialog))
        dialog.open()

    # ------------------------------------------------------------------------------------------- inside

    def _on_closed(self, dialog: EnlargedData) -> None:
        if self._images.total:
            self.grid.choose(min(dialog.at(), self._images.total - 1))
        if self.dialog is dialog:
            self.dialog = None
        dialog.deleteLater()

    def _choose(self, **changes: str) -> None:
        self._images.choose(replace(self._images.choice, **changes))

    def _list_numbers(self) -> list[int]:
        found = [self._images.find(place) for place in self.grid.list_selected()]
        return [each.number for each in found if each is not None]

    @Slot()
    def _update(self) -> None:
        images = self._images
        if images.report is not self._report:
            self._report = images.report
            self._offer(images.report)
        choice = images.choice
        for box, key in ((self.part, choice.part), (self.of_class, choice.class_name)):
            box.setCurrentIndex(max(box.findData(key), 0))
        if not self._typed.isActive() and self.name.text().strip() != choice.name:
            with QSignalBlocker(self.name):
                self.name.setText(choice.name)
        self.grid.set_count(images.total or 0)
        self._follow_selection()
        self._repaint()

    def _offer(self, report: DatasetReport) -> None:
        with QSignalBlocker(self.part), QSignalBlocker(self.of_class):
            self.part.clear()
            add_parts(self.part, report)
            self.of_class.clear()
            known = report.target in ("class", "labels")
            self.of_class.addItem("All classes" if report.target == "class" else "All labels", "")
            for name in report.classes if known else ():
                self.of_class.addItem(name, name)
            self.of_class.setVisible(known)

    @Slot()
    def _repaint(self) -> None:
        self._show_state()
        self.grid.viewport().update()

    @Slot(int, int)
    def _on_arrived(self, first: int, end: int) -> None:
        self._show_state()
        self.grid.repaint_places(first, end)

    @Slot()
    def _drop_wishes(self) -> None:
        if self.dialog is None and self._images.total:  # the dialog's image may lie elsewhere
            self._images.look_at(self.grid.find_visible())

    def _show_state(self) -> None:
        images = self._images
        varied = images.has_varied
        self.variation.setVisible(varied or self.variation.current() == "varied")
        self.problem.setText(images.refusal or ("" if images.total != 0 else self._explain_nothing()))
        self.problem.setVisible(bool(self.problem.text()))
        self._tell()

    def _explain_nothing(self) -> str:
        choice = self._images.choice
        words = [f"in the {PARTS.get(choice.part, choice.part)} part"]
        words += [f"of class {choice.class_name}"] if choice.class_name else []
        words += [f"with “{choice.name}” in its name"] if choice.name else []
        return f"There is no sample {' '.join(words)}."

    @Slot()
    def _tell(self) -> None:
        total, chosen = self._images.total, self.grid.list_selected()
        words = "Loading …" if total is None and not self._images.refusal else f"{total or 0:,} samples"
        self.bar.follow(words, len(chosen), self._images.choice.part)

    def _follow_selection(self) -> None:
        self.grid.selectionModel().selectionChanged.connect(self._tell, Qt.ConnectionType.UniqueConnection)

    def _tile(self) -> int:
        return self.scale.value() * _STEP

    @Slot()
    def _resize_tiles(self) -> None:
        self.grid.set_tile(self._tile() + _FRAME, named=self._tile() >= _NAMED_FROM)
        if self._settings.get().data_tile != self._tile():
            self._settings.update(data_tile=self._tile())

    def _find(self, place: int) -> Thumbnail:
        found = self._images.find(place)
        if found is None:
            return no_image("cannot be read" if self._images.why_missing(place) else "…")
        wants_varied = self.variation.current() == "varied" and found.varied is not None
        return found.varied if wants_varied and found.varied is not None else found.original


def _box(name: str) -> ComboBox:
    made = ComboBox()
    made.setAccessibleName(name)
    made.setMaximumWidth(_WIDEST)
    made.setMaxVisibleItems(24)
    return made
