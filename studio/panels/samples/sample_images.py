"""Images of an evaluation's samples, asked of the engine when they are in sight."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QImage
from shiboken6 import isValid

from studio.engine.host import EngineHost
from studio.panels.samples.images import read_image
from training.predictions import Evaluation
from training.predictions.record import NAMES
from training.protocol.answers import PAGE, SamplePage
from training.protocol.messages import ReadSamples

_MOST_BYTES = 256 << 20
"""Of images that are kept: thousands of small ones, dozens of large ones."""
_REST = 15
"""Milliseconds: all that a view asks for while it paints becomes one question."""


class SampleImages(QObject):
    """Keeps the images that were seen last. What comes back for another evaluation than the one shown is dropped.

    Signals: `arrived()` when there are more images, or it is known that there will be none (``problem``).
    """

    arrived = Signal()

    def __init__(self, engine: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.problem = ""
        self._engine = engine
        self._evaluation: Evaluation | None = None
        self._images: OrderedDict[int, QImage] = OrderedDict()  # by the sample's number in the data
        self._unreadable: dict[int, str] = {}
        self._bytes = 0
        self._wanted: dict[int, None] = {}
        self._asking = False
        self._timer = QTimer(self, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._ask)

    def show_evaluation(self, evaluation: Evaluation | None) -> None:
        """Give images of these samples; those of the same data stay."""
        before, self._evaluation = self._evaluation, evaluation
        self.problem, self._wanted = "", {}
        if before is None or evaluation is None or _data_of(before) != _data_of(evaluation):
            self._images.clear()
            self._unreadable, self._bytes = {}, 0

    def find(self, number: int) -> QImage | None:
        """The image of sample ``number`` of the data; None while it is on its way, or cannot be had."""
        image = self._images.get(number)
        if image is not None:
            self._images.move_to_end(number)
        elif number not in self._unreadable and not self.problem:
            self._wanted[number] = None
            if not self._timer.isActive():  # or who looks again and again would wait for ever
                self._timer.start()
        return image

    def why_missing(self, number: int) -> str:
        """Why there is no image of that sample; "" where it is only on its way."""
        return self._unreadable.get(number, self.problem)

    @Slot()
    def _ask(self) -> None:
        evaluation = self._evaluation
        if self._asking or evaluation is None or not self._wanted:
            return
        numbers = list(self._wanted)[-PAGE:]  # the newest wishes: the others may have been scrolled past
        self._asking = True

        def take(images: Mapping[int, QImage], unreadable: Mapping[int, str]) -> None:
            if not isValid(self):  # the window was closed meanwhile
                return
            self._asking = False
            if self._evaluation is not None and _data_of(self._evaluation) == _data_of(evaluation):
                self._keep(numbers, images, unreadable)
            self._go_on()

        def refuse(problem: str) -> None:
            if not isValid(self):
                return
            self._asking = False
            if self._evaluation is not None and _data_of(self._evaluation) == _data_of(evaluation):
                self.problem, self._wanted = problem, {}
                self.arrived.emit()
            self._go_on()

        def take_page(page: SamplePage) -> None:
            unreadable = {int(file.path): file.reason for file in page.unreadable if file.path.isdigit()}
            take({sample.index: read_image(sample, varied=False, masked=False) for sample in page.samples}, unreadable)

        request = _ask_for(evaluation, numbers)
        self._engine.ask(request, SamplePage, take_page, lambda refusal: refuse(str(refusal)))

    def _keep(self, numbers: Iterable[int], images: Mapping[int, QImage], unreadable: Mapping[int, str]) -> None:
        for number in numbers:
            self._wanted.pop(number, None)
            if number not in images:
                self._unreadable[number] = unreadable.get(number, "This sample cannot be read.")
        for number, image in images.items():
            self._images[number] = image
            self._bytes += image.sizeInBytes()
        while self._bytes > _MOST_BYTES and len(self._images) > PAGE:
            self._bytes -= self._images.popitem(last=False)[1].sizeInBytes()
        self.arrived.emit()

    def _go_on(self) -> None:
        if self._wanted:
            self._timer.start()


def _ask_for(evaluation: Evaluation, numbers: Sequence[int]) -> ReadSamples:
    run, on = evaluation.folder.parent.parent, evaluation.record.on
    if NAMES not in evaluation.record.files:  # nobody named them: their numbers stay what they are
        return ReadSamples(run=run, on=on, numbers=tuple(numbers))
    names, index = evaluation.names, evaluation.column("index")
    rows = [int(np.flatnonzero(index == number)[0]) for number in numbers]
    return ReadSamples(run=run, on=on, numbers=tuple(numbers), names=tuple(str(names[row]) for row in rows))


def _data_of(evaluation: Evaluation) -> object:
    record = evaluation.record
    return evaluation.folder.parent, record.on, record.fingerprint
