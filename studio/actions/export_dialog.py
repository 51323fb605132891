"""Ask how and where a model is exported. Each export gets a folder of its own, or is a script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from studio.actions.export_choices import Answers, TemperatureChoice, ThresholdChoice
from studio.theme import SPACING
from studio.widgets import STRETCH, ComboBox, PathEdit, Switch, button, fill, hbox, label, vbox
from training.catalog.script_data import LARGE_DATA
from training.errors import format_bytes
from training.protocol.messages import ExportRequest
from training.typed_paths import expand_known_home

_WIDTH = 520


class ExportFormat(NamedTuple):
    """One way out: its name for the engine, how people call it, the ending of its main file, what it is for."""

    key: str
    title: str
    suffix: str
    what: str


FORMATS = (
    ExportFormat(
        "safetensors",
        "Weights + Python loader (safetensors)",
        ".safetensors",
        "The weights, and Python code that builds the network around them. Continue in PyTorch.",
    ),
    ExportFormat(
        "onnx",
        "ONNX",
        ".onnx",
        "For other programs and languages, used as it is: an 8-bit image or a row's numbers in, names and probabilities out. "
        "preprocess.py beside it reads files.",
    ),
    ExportFormat(
        "openvino",
        "OpenVINO",
        ".xml",
        "For Intel's runtime: the same graph, but numbers of classes instead of their names.",
    ),
    ExportFormat(
        "torch-export",
        "torch.export",
        ".pt2",
        "The network as a program that torch runs without its code. Normalization is part of it.",
    ),
    ExportFormat(
        "script",
        "Python script",
        ".py",
        "The whole run, from the data to its training, as code to read and to change. It holds no weights.",
    ),
    ExportFormat(
        "tutorial",
        "Python script, short",
        ".py",
        "The same training in some 150 lines of plain torch, to learn from; with other random numbers, and it lists what it leaves "
        "out. It holds no weights.",
    ),
    ExportFormat(
        "accelerate",
        "Python script, short (Accelerate)",
        ".py",
        "The short script by Hugging Face's Accelerate, which has to be installed where it runs. It holds no weights.",
    ),
)


QUANTIZED = ("onnx", "openvino")
"""The formats that can be written in int8."""
_INT8 = "int8: weights of 8 bits instead of 32"
_NO_INT8 = "int8: for ONNX and OpenVINO; this format holds the weights as they were trained"
NO_ANSWERS = Answers()
SHORT = ("tutorial", "accelerate")
"""The formats that are a short script."""


class ExportDialog(QDialog):
    """Accepted when the person wants it: ``format`` and ``out`` say how and where. ``unwritable`` are formats, by key, that
    the engine cannot write here, each with the reason: it is said before anything is filled in. ``data_bytes`` are what a
    script has of samples beside it; ``large_data`` says that they may be many. ``answers`` are the model's, about which
    ``temperature`` and ``threshold`` ask."""

    def __init__(
        self,
        run: str,
        step: int,
        folder: Path,
        unwritable: Mapping[str, str],
        data_bytes: int = 0,
        answers: Answers = NO_ANSWERS,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._data_bytes = data_bytes
        self._answers = answers
        self._unwritable = unwritable
        self._run = run
        self._step = step
        self._renamed = False
        self._heading = label("", "section", wrap=True)
        self.setWindowTitle("Export the model")
        self.setModal(True)
        self.formats = ComboBox()
        self.formats.setAccessibleName("Format")
        for each in FORMATS:
            self.formats.addItem(each.title)
        self.said = label("", "help", wrap=True)
        self.large_data = Switch(f"Write {format_bytes(data_bytes)} of samples beside it")
        self.temperature = TemperatureChoice()
        self.threshold = ThresholdChoice(answers)
        self.int8 = Switch(_INT8)
        self.int8.setToolTip(
            "Smaller, and faster where the CPU has such instructions. The proof counts the answers that differ and warns where they are more "
            "than 0.5%. A file is not kept where its metric loses more than a point, as the interval of the difference tells, where more than 5% of "
            "its answers differ, where the network has no convolution and no linear layer, or, of images, where its training samples are gone."
        )
        self.place = PathEdit("folder", title="Folder for exports")
        self.place.setAccessibleName("Save in")
        self.place.set_path(str(folder))
        self.name = QLineEdit()
        self.name.setAccessibleName("Save as")
        self._result = label("", "help", wrap=True, selectable=True)
        self.export = button("Export", "export", "primary", clicked=self.accept)
        self.export.setDefault(True)
        self._lay_out()
        self.large_data.toggled.connect(self._update)
        self.int8.toggled.connect(self._propose)
        self.temperature.changed.connect(self._update)
        self.threshold.changed.connect(self._update)
        self.name.textEdited.connect(self._on_renamed)
        self.name.textChanged.connect(self._update)
        self.place.path_changed.connect(self._update)
        self.formats.currentIndexChanged.connect(self._propose)
        self.show_step(step)

    def show_step(self, step: int) -> None:
        """It is the checkpoint at ``step`` that is exported."""
        self._step = step
        self._heading.setText(f"Export {self._run} at step {step:,}")
        self._propose()

    @property
    def step(self) -> int:
        """That of the checkpoint which the dialog names."""
        return self._step

    @property
    def format(self) -> ExportFormat:
        """What is chosen."""
        return FORMATS[self.formats.currentIndex()]

    @property
    def quantize(self) -> str:
        """As ``ExportRequest.quantize``."""
        return "int8" if self.format.key in QUANTIZED and self.int8.isChecked() else ""

    def request(self, checkpoint: Path) -> ExportRequest:
        """What is asked of the engine for ``checkpoint``."""
        return ExportRequest(
            checkpoint=checkpoint,
            to=self.format.key,
            out=self.out(),
            large_data=self.large_data.isChecked(),
            temperature=None if self.temperature.isHidden() else self.temperature.value(),
            threshold=None if self.threshold.isHidden() else self.threshold.value(),
            quantize=self.quantize,
        )

    @property
    def folder(self) -> Path:
        """Where exports go."""
        return expand_known_home(self.place.path().strip()).absolute()

    def out(self) -> Path:
        """Where the export goes."""
        name = _file_name(self.name.text() if self._renamed else self._propose_name(self._step))
        if name.lower().endswith(self.format.suffix):
            name = name[: -len(self.format.suffix)]
        return self.folder / (f"{name}.py" if self.format.suffix == ".py" else name)

    def _propose_name(self, step: int) -> str:
        kind = "" if self.format.key == "script" else f"-{self.format.key}" + "-int8" * bool(self.quantize)
        return f"{_file_name(self._run)}-step-{step}{kind}"

    @Slot()
    def _propose(self) -> None:
        beside = self.format.key == "script" and self._data_bytes > 0
        large = beside and self._data_bytes > LARGE_DATA
        words = self.format.what
        if beside:
            words += f" Its samples{'' if large else f', {format_bytes(self._data_bytes)},'} go into a file beside it."
        self.said.setText(self._unwritable.get(self.format.key, words))
        self.large_data.setVisible(large)
        is_model = self.format.suffix != ".py"
        self.temperature.setVisible(is_model and self._answers.has_probabilities)
        self.threshold.setVisible(is_model and self._answers.threshold is not None)
        has_int8 = self.format.key in QUANTIZED
        self.int8.setVisible(is_model)
        self.int8.setEnabled(has_int8)
        self.int8.setText(_INT8 if has_int8 else _NO_INT8)
        self.int8.updateGeometry()
        if not self._renamed:
            self.name.setText(self._propose_name(self._step))
        self._update()

    @Slot()
    def _on_renamed(self) -> None:
        self._renamed = bool(self.name.text().strip())

    @Slot()
    def _update(self) -> None:
        complete = bool(self.place.path().strip() and self.name.text().strip())
        asked = self.large_data.isHidden() or self.large_data.isChecked()
        numbers = all(each.isHidden() or each.is_complete() for each in (self.temperature, self.threshold))
        self.export.setEnabled(complete and asked and numbers and self.format.key not in self._unwritable)
        out = self.out()
        main = out if self.format.suffix == ".py" else out / f"model{self.format.suffix}"
        again = ""
        if main.exists():
            is_script = self.format.suffix == ".py"
            again = (
                f" The one that is there becomes {main.name}.bak."
                if is_script
                else " An earlier export there is replaced."
            )
        self._result.setText(f"{main}{again}" if complete else "Choose a folder and a name.")

    def _lay_out(self) -> None:
        heading = self._heading
        column = vbox(heading, parent=self, margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l))
        parts: tuple[tuple[str, QWidget, tuple[QWidget, ...]], ...] = (
            ("Format", self.formats, (self.said, self.large_data, self.int8, self.temperature, self.threshold)),
            ("Save in", self.place, ()),
            ("Save as", self.name, (self._result,)),
        )
        for title, widget, below in parts:
            words = label(title, "field")
            words.setBuddy(widget)
            fill(column, SPACING.xs, words, widget, *below)
        for said in (self.said, self._result):
            said.setFixedWidth(_WIDTH)
            said.setMinimumHeight(2 * said.fontMetrics().lineSpacing() + 2)  # the dialog stays as it is
        cancel = button("Cancel", clicked=self.reject)
        fill(column, hbox(STRETCH, self.export, cancel, margins=(0, SPACING.m, 0, 0)))


def _file_name(text: str) -> str:
    allowed = (character if character.isalnum() or character in "-_ ." else "-" for character in text)
    return "".join(allowed).strip(" .") or "model"
