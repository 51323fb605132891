"""What the model says of samples: a box for each, with bars, a mask over the image, numbers with their usual error."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.pages.tryit.file_bar import FileBar
from studio.pages.tryit.masked_image import MaskedImage
from studio.panels.samples.attention import AttentionBar
from studio.panels.samples.images import class_color
from studio.state.formats import format_number
from studio.theme import SPACING, Tone
from studio.widgets import (
    Bar,
    BarList,
    Card,
    Slider,
    empty,
    hbox,
    in_widget,
    label,
    separator,
    vbox,
)
from training.errors import pluralize
from training.protocol.model_answers import Chance, ModelAnswer, ModelAnswers, ModelDescription
from training.system.untrusted import escape_unprintable

_MOST_ROWS = 8
_AT_ONCE = 2
"""Answers that are shown before the window goes on with other things."""
_OPACITY = 55
_SHOWN_NUMBERS = 8
_NEIGHBOR = 64
_NOT_MEASURED = "How far such values are from the truth was not measured; evaluate this checkpoint"
_NO_NEIGHBORS = (
    "An embedding says where the sample lies among others. Evaluate this checkpoint (Evaluate page), and the nearest samples of the "
    "evaluation are shown here."
)


class AnswerView(Card):
    """Signals: ``answered()`` there are other answers, and all are shown."""

    answered = Signal()

    def __init__(self) -> None:
        super().__init__("Answer", "eye")
        self._description: ModelDescription | None = None
        self._answers: list[ModelAnswer] = []
        self._waiting: list[ModelAnswer] = []  # to be shown
        self._go_on = QTimer(self, interval=0, singleShot=True)
        self._go_on.timeout.connect(self._show_some)
        self.images: list[MaskedImage] = []
        self.bars: list[BarList] = []
        self._holder = vbox(spacing=SPACING.m)
        self.opacity = Slider()
        self.opacity.setRange(0, 100)
        self.opacity.setValue(_OPACITY)
        self.opacity.setAccessibleName("Opacity of the mask")
        self.opacity.valueChanged.connect(self._on_opacity)
        self._opacity_row = in_widget(hbox(label("Mask", "caption"), (self.opacity, 1)))
        self.threshold = Slider()
        self.threshold.setRange(1, 99)
        self.threshold.setAccessibleName("Threshold")
        self.threshold.valueChanged.connect(self._on_threshold)
        self._threshold_words = label("", "caption")
        self._threshold_row = in_widget(hbox(self._threshold_words, (self.threshold, 1)))
        self.attention = AttentionBar()
        self.attention.opacity_changed.connect(self._on_attention_opacity)
        self.bar = FileBar()
        self.state = label("", "help", wrap=True)
        controls = (self._opacity_row, self._threshold_row, self.attention)
        self.add(self.bar, self.state, *controls, in_widget(self._holder))
        self.clear("")

    def set_model(self, description: ModelDescription | None) -> None:
        """The answers to come are of another model."""
        self._description = description
        self.attention.set_names(description.outputs if description is not None else ())
        if description is not None and description.kind == "labels":
            self.threshold.setValue(round(100 * (description.threshold or 0.5)))
            self._threshold_words.setText(f"Threshold {self.threshold.value()} %")
        self.clear("")

    def clear(self, words: str) -> None:
        """Show no answers, and ``words`` in their place."""
        self._go_on.stop()
        self._answers, self._waiting = [], []
        self.images, self.bars = [], []
        empty(self._holder)
        self._opacity_row.hide()
        self._threshold_row.hide()
        self.attention.hide()
        self.say(words)

    def say(self, words: str) -> None:
        """A line above the answers; "" removes it."""
        self.state.setText(words)
        self.state.setVisible(bool(words))

    def show_answers(self, answers: ModelAnswers) -> None:
        """Show them in place of those that are shown."""
        self.clear("")
        self._waiting = list(answers.answers)
        self._show_some()

    @Slot()
    def _show_some(self) -> None:
        """A box takes some 50 ms to build: the window answers in between."""
        for _ in range(min(_AT_ONCE, len(self._waiting))):
            answer = self._waiting.pop(0)
            if self._answers:
                self._holder.addWidget(separator())
            self._answers.append(answer)
            self._holder.addWidget(self._show(answer))
        kind = self._description.kind if self._description is not None else ""
        self._opacity_row.setVisible(kind == "mask" and bool(self.images))
        self._threshold_row.setVisible(kind == "labels" and bool(self.bars))
        self.attention.setVisible(kind != "embedding" and bool(self.images))  # its numbers have no names to ask about
        if self._waiting:
            self._go_on.start()
        else:
            self.answered.emit()

    def _show(self, answer: ModelAnswer) -> QWidget:
        column = vbox(spacing=SPACING.s)
        column.addWidget(label(escape_unprintable(answer.name, 200), "caption", wrap=True, selectable=True))
        for words in ((f"Not answered: {answer.refused}.",) if answer.refused else ()) + tuple(
            f"{note}." for note in answer.notes
        ):
            column.addWidget(label(words, "help", wrap=True, selectable=True))
        if not answer.refused:
            self._add_answer(column, answer)
        column.addStretch(1)
        row = hbox(spacing=SPACING.l)
        if answer.image is not None:
            row.addWidget(self._make_image(answer), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(column, 1)
        return in_widget(row)

    def _add_answer(self, column: QVBoxLayout, answer: ModelAnswer) -> None:
        if (
            answer.prediction
            and not answer.chances_of
            and not (self._description and self._description.kind == "labels")
        ):
            column.addWidget(label(escape_unprintable(answer.prediction[0], 100), "number", selectable=True))
        if answer.perplexity is not None:
            column.addWidget(
                label(f"Perplexity of the text: {format_number(answer.perplexity)}", "body", selectable=True)
            )
        if answer.chances:
            column.addWidget(self._make_bars(answer.chances, f"Probabilities of {answer.name}"))
        for name, chances in answer.chances_of:
            column.addWidget(label(escape_unprintable(name, 100), "section"))
            column.addWidget(self._make_bars(chances, f"Probabilities of {name}"))
        for value in answer.values:
            error = f" ± {format_number(value.error, 3)}" if value.error is not None else ""
            column.addWidget(label(escape_unprintable(value.name, 100), "caption"))
            column.addWidget(label(f"{format_number(value.value, 6)}{error}", "number", selectable=True))
            column.addWidget(label(f"{value.error_words or _NOT_MEASURED}.", "help", wrap=True))
        if answer.ranking:
            worst = min(item.score for item in answer.ranking)
            bars = [
                Bar(f"{at}. {item.name}", item.score - worst, f"{item.score:.3g}")
                for at, item in enumerate(answer.ranking, 1)
            ]
            column.addWidget(self._add_bars(bars, "Ranking, best first", 0.0))
        if answer.mask is not None:
            names = list(self._description.classes) if self._description is not None else []
            column.addWidget(self._make_legend(answer.mask.shares, names))
        if answer.embedding:
            shown = ", ".join(f"{number:.4g}" for number in answer.embedding[:_SHOWN_NUMBERS])
            more = ", …" * (len(answer.embedding) > _SHOWN_NUMBERS)
            column.addWidget(
                label(
                    f"{pluralize(len(answer.embedding), 'number')}: {shown}{more}", "body", wrap=True, selectable=True
                )
            )
            self._add_nearest(column, answer)

    def _add_nearest(self, column: QVBoxLayout, answer: ModelAnswer) -> None:
        if not answer.nearest:
            column.addWidget(label(_NO_NEIGHBORS, "help", wrap=True))
            return
        column.addWidget(label("Nearest evaluated samples", "section"))
        for each in answer.nearest:
            named = escape_unprintable(each.name, 200)
            words = label(
                f"{each.of}\n{named}, at {each.distance:.3g}" if each.of else named, wrap=True, selectable=True
            )
            image = [MaskedImage(each.name, each.image, side=_NEIGHBOR)] if each.image is not None else []
            column.addLayout(hbox(*image, (words, 1), spacing=SPACING.m))

    def _make_bars(self, chances: Sequence[Chance], name: str) -> BarList:
        return self._add_bars(self._bars_of(chances), name, 1.0)

    def _bars_of(self, chances: Sequence[Chance]) -> list[Bar]:
        """Labels below the threshold are pale."""
        labels = self._description is not None and self._description.kind == "labels"
        least = self.threshold.value() / 100 if labels else 0.0
        tones: dict[bool, Tone] = {True: "accent", False: "neutral"}
        return [
            Bar(
                escape_unprintable(each.name, 100),
                each.probability,
                f"{each.probability:.1%}",
                tone=tones[each.probability >= least],
            )
            for each in chances
        ]

    def _make_legend(self, shares: Sequence[Chance], names: Sequence[str]) -> BarList:
        bars = [
            Bar(
                escape_unprintable(each.name, 100),
                each.probability,
                f"{each.probability:.1%}",
                color=class_color(names.index(each.name)),
            )
            for each in shares
        ]
        return self._add_bars(bars, "Classes of the mask by their share of the pixels", 1.0)

    def _add_bars(self, bars: Sequence[Bar], name: str, full: float) -> BarList:
        shown = BarList(max_rows=_MOST_ROWS, full=full)
        shown.set_bars(bars)
        shown.setAccessibleName(name)
        self.bars.append(shown)
        return shown

    def _make_image(self, answer: ModelAnswer) -> QWidget:
        assert answer.image is not None, "of a model of images"
        place = len(self._answers) - 1
        image = MaskedImage(answer.name, answer.image, answer.mask, self.opacity.value() / 100, place=place)
        self.images.append(image)
        return image

    @Slot(int)
    def _on_opacity(self, percent: int) -> None:
        for image in self.images:
            image.set_opacity(percent / 100)

    @Slot(float)
    def _on_attention_opacity(self, opacity: float) -> None:
        for image in self.images:
            image.set_heat_opacity(opacity)

    @Slot(int)
    def _on_threshold(self, percent: int) -> None:
        self._threshold_words.setText(f"Threshold {percent} %")
        for shown, answer in zip(self.bars, (each for each in self._answers if each.chances), strict=False):
            shown.set_bars(self._bars_of(answer.chances))
