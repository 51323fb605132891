"""Where the model looked in the images that it was asked about: one after the other, as long as that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from studio.pages.tryit.answer_view import AnswerView
from studio.pages.tryit.asked_model import AskedModel
from studio.pages.tryit.masked_image import MaskedImage
from studio.panels.samples.attention import EXPLANATION, color_heat
from training.protocol.model_answers import ImageAttention
from training.protocol.model_questions import ExplainImage

_KIND = "attention"


class Looking(QObject):
    """Follows the switch of ``answers``, whose images are those of the files that were taken last."""

    def __init__(self, model: AskedModel, answers: AnswerView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._answers = answers
        self._path: Path | None = None
        self._files: tuple[Path, ...] = ()
        answers.attention.changed.connect(self._begin)
        answers.answered.connect(self._go_on)

    def take_files(self, model: Path, files: Sequence[Path]) -> None:
        """The images to come are of ``files``, and ``model`` is asked about them."""
        self._model.forget(_KIND)
        self._path, self._files = model, tuple(files)

    @Slot()
    def _begin(self) -> None:
        self._model.forget(_KIND)
        bar = self._answers.attention
        if bar.isHidden():  # no images
            return
        for image in self._answers.images:
            image.show_heat(None)
        bar.say("")
        self._go_on()

    @Slot()
    def _go_on(self) -> None:
        """Ask about the first image that has no heat yet."""
        bar = self._answers.attention
        if bar.isHidden() or not bar.is_on or self._path is None:
            return
        image = next((each for each in self._answers.images if not each.is_covered), None)
        if image is None:
            bar.say(EXPLANATION)
            return
        bar.say("Asking the network …")
        request = ExplainImage(model=self._path, files=self._files, place=image.place, output=bar.chosen)

        def take(found: ImageAttention) -> None:
            self._show(image, found)

        self._model.ask(_KIND, request, ImageAttention, take, bar.say)

    def _show(self, image: MaskedImage, found: ImageAttention) -> None:
        bar = self._answers.attention
        if image in self._answers.images:
            image.show_heat(color_heat(found), bar.describe(found))
            image.set_heat_opacity(bar.strength)
        self._go_on()
