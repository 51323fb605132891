"""Which evaluation of the run is looked at: pickers of checkpoint and data, and the way through the epochs."""

from __future__ import annotations

from pathlib import Path, PurePath

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QSizePolicy, QWidget

from studio.state.evaluations.evaluation_choice import EvaluationChoice
from studio.widgets import STRETCH, ComboBox, Slider, hbox, icon_button, in_widget, label

PART_TITLES = {"validation": "Validation part", "test": "Test part", "train": "Training part"}
_OTHER_FILE, _OTHER_FOLDER = "Other data: a file …", "Other data: a folder …"
_WIDEST = 260
_LETTERS = 15  # of "Validation part"
_SLIDER = 60


def describe_data(on: str) -> str:
    """A part, or other data, in the middle of a sentence."""
    title = PART_TITLES.get(on)
    return title[0].lower() + title[1:] if title else f"data in {on}"


class EvaluationHeader(QWidget):
    """Follows ``choice``. Signals: `evaluate_asked()`, `data_given(list[Path])`: other data was chosen."""

    evaluate_asked = Signal()
    data_given = Signal(list)

    def __init__(self, choice: EvaluationChoice) -> None:
        super().__init__()
        self._choice = choice
        self.step = _box("Checkpoint")
        self.data = _box("Data")
        self.again = icon_button("refresh", "Evaluate again", clicked=self.evaluate_asked)
        self.slider = Slider()
        self.slider.setAccessibleName("Step of the evaluation")
        self.slider_words = label("", "caption")
        self.step.activated.connect(lambda: choice.choose_step(self.step.currentData()))
        self.data.activated.connect(self._on_data)
        self.slider.valueChanged.connect(self._on_slid)
        self.slider.setToolTip("Walk through the steps that were evaluated")
        self.slider.setMinimumWidth(_SLIDER)
        self._epochs = in_widget(hbox((self.slider, 1), self.slider_words))
        hbox((self.step, 2), (self.data, 2), (self._epochs, 3), STRETCH, self.again, parent=self)
        choice.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        choice = self._choice
        with QSignalBlocker(self.step):
            self.step.clear()
            for step in choice.steps:
                self.step.addItem(" · ".join([f"Step {step:,}", *choice.labels_of(step)]), step)
            self.step.setCurrentIndex(self.step.findData(choice.step))
        with QSignalBlocker(self.data):
            self.data.clear()
            for on in choice.data:
                self.data.addItem(PART_TITLES.get(on, PurePath(on).name), on)
            if choice.checkpoint is not None:
                self.data.insertSeparator(self.data.count())
                self.data.addItem(_OTHER_FILE)
                self.data.addItem(_OTHER_FOLDER)
            self.data.setCurrentIndex(self.data.findData(choice.on))
        self.step.setEnabled(bool(choice.steps))
        self.again.setVisible(choice.evaluation is not None and choice.checkpoint is not None)
        self._show_epochs()

    def _show_epochs(self) -> None:
        kept = self._choice.epochs
        self._epochs.setVisible(len(kept) > 1)
        at = next((at for at, each in enumerate(kept) if each.record.step == self._choice.step), None)
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, max(len(kept) - 1, 0))
            if at is not None:
                self.slider.setValue(at)
        record = kept[at].record if at is not None else None
        self.slider_words.setText(f"Step {record.step:,}, epoch {record.epoch:,}" if record else "")

    @Slot(int)
    def _on_slid(self, at: int) -> None:
        kept = self._choice.epochs
        if 0 <= at < len(kept):
            self._choice.choose_step(kept[at].record.step)

    @Slot()
    def _on_data(self) -> None:
        on, wanted = self.data.currentData(), self.data.currentText()
        if on is not None:
            self._choice.choose_data(on)
            return
        self.data.setCurrentIndex(self.data.findData(self._choice.on))  # until there is something to choose
        place = str(Path.home())
        if wanted == _OTHER_FILE:
            chosen, _ = QFileDialog.getOpenFileName(self, "Data to evaluate on", place)
        else:
            chosen = QFileDialog.getExistingDirectory(self, "Data to evaluate on", place)
        if chosen:
            self.data_given.emit([Path(chosen)])


def _box(name: str) -> ComboBox:
    box = ComboBox()
    box.setAccessibleName(name)
    box.setToolTip(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_LETTERS)
    box.setMaximumWidth(max(_WIDEST, box.sizeHint().width()))
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box
