"""The classes of the data: how many samples each has in each part, which are trained on, and how unlike in number they are."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.charts.histogram import Histogram
from studio.forms.class_list import ClassList
from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.part_words import PARTS
from studio.panels.samples.images import class_color
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import (
    STRETCH,
    Bar,
    BarList,
    Card,
    ComboBox,
    button,
    flow_box,
    hbox,
    in_widget,
    label,
    let_grow,
    vbox,
)
from training.config.sections.data.classes import NO_CLASS
from training.protocol.answers import DatasetReport

_MOST_ROWS = 24
_MOST_HISTOGRAMS = 6
_HISTOGRAM = 132, 260
_EVEN, _UNEVEN = 1.5, 5.0
"""Ratios of the largest class to the smallest: up to the first nothing is to be said, from the second on something is to be done."""
_SETTINGS = (
    ("objective.balanced", "Balanced class weights"),
    ("objective.class_weights", "Class weights"),
    ("loader.sampling", "Class-balanced sampler"),
)


class ClassesTab(QWidget):
    """Follows ``question``; what is chosen goes into the draft, a step of its own to take back.

    Signals: `class_asked(part, name)` the images of a class are to be seen.
    """

    class_asked = Signal(str, str)

    def __init__(self, context: AppContext, question: EngineQuery[DatasetReport]) -> None:
        super().__init__()
        self._context, self._question = context, question
        self._report: DatasetReport | None = None
        self.part = ComboBox()
        self.part.setAccessibleName("Part of the data")
        self.part.activated.connect(self._show_bars)
        self._bars_card = Card("Classes", "chart")
        self._bars_card.add_action(self.part)
        self.bars = BarList(max_rows=_MOST_ROWS)
        self.bars.clicked.connect(self._ask_for_class)
        self.bars.activated.connect(self._ask_for_class)
        self._bars_card.add(self.bars)
        self._balance = Card("Balance", "gauge")
        self.balance = label("", wrap=True)
        self.links = {path: button(title, "link", "ghost") for path, title in _SETTINGS}
        for path, link in self.links.items():
            link.clicked.connect(lambda _checked=False, path=path: self._go_to(path))
        self._balance.add(self.balance, in_widget(flow_box(*self.links.values())))
        self._choice = Card("Trained on", "check", subtitle="Samples of other classes are left out of all parts.")
        self.list = ClassList(most_rows=_MOST_ROWS)
        self.list.describe("Classes to train on", "Samples of classes without a check are left out of all parts")
        self.list.chosen.connect(self._choose)
        self.problem = label("", "problem", wrap=True)
        self._choice.add(self.list, self.problem)
        self._values = Card("Target distribution", "chart")
        self.histograms = [Histogram() for _ in range(_MOST_HISTOGRAMS)]
        for histogram in self.histograms:
            let_grow(histogram, *_HISTOGRAM)
            self._values.add(histogram)
        left = vbox(self._balance, self._bars_card, self._values, STRETCH, spacing=SPACING.l)
        top = Qt.AlignmentFlag.AlignTop
        hbox((left, 3), (self._choice, 2, top), parent=self, spacing=SPACING.l, margins=SPACING.l)
        question.changed.connect(self._update)
        context.draft.changed.connect(self._follow_draft)
        self._update()

    @Slot()
    def _update(self) -> None:
        report = self._question.answer
        if report is not None and report is not self._report:
            self._report = report
            self.part.clear()
            for part in report.samples:
                if report.counts.get(part):
                    self.part.addItem(PARTS.get(part, part).capitalize(), part)
            self._show_bars()
            self._show_balance(report)
            self._show_values(report)
        choices = self._question.classes
        self._choice.setVisible(bool(choices))
        if choices:
            self.list.offer(choices, self._find_chosen())
        self._follow_draft()

    def _find_chosen(self) -> list[str]:
        names = self._context.draft.settings()["dataset"].get("classes")
        return [str(name) for name in names] if isinstance(names, list) else []

    @Slot()
    def _follow_draft(self) -> None:
        if self._question.classes and not self.problem.text():
            self.list.set_names(self._find_chosen())
        settings = self._context.draft.settings()
        for path, link in self.links.items():
            section, _, name = path.partition(".")
            link.setVisible(name in settings[section])
        self.problem.setVisible(bool(self.problem.text()))

    @Slot()
    def _choose(self) -> None:
        names, draft = self.list.names(), self._context.draft
        wrong = names == list(NO_CLASS) or len(names) == 1
        self.problem.setText("Check at least two classes; nothing was changed." if wrong else "")
        self.problem.setVisible(wrong)
        before = self._find_chosen()
        if wrong or names == before:
            return
        draft.set("dataset.classes", names)
        draft.finish_edit()
        kept = len(names) or len(self._question.classes)
        self._context.notifier.notify(
            f"{kept:,} of {len(self._question.classes):,} classes are trained on.",
            "info",
            subject="classes",
            action_text="Undo",
            action=lambda: self._put_back(before),
        )

    def _put_back(self, names: list[str]) -> None:
        self.problem.setText("")
        self._context.draft.set("dataset.classes", names)
        self._context.draft.finish_edit()

    @Slot(QModelIndex)
    def _ask_for_class(self, row: QModelIndex) -> None:
        if self._report is not None and self._leads_to_images(self._report):
            self.class_asked.emit(str(self.part.currentData() or "train"), self.bars.find_bar(row.row()).label)

    @staticmethod
    def _leads_to_images(report: DatasetReport) -> bool:
        return report.layout == "image" and report.target in ("class", "labels")

    def _go_to(self, path: str) -> None:
        self._context.show_page("setup")
        self._context.find_requested.emit(path)

    # ------------------------------------------------------------------------------------------ showing

    @Slot()
    def _show_bars(self) -> None:
        report = self._report
        if report is None:
            return
        masked = report.target == "mask"
        part = str(self.part.currentData() or "train")
        counts = report.place_counts if masked else report.counts.get(part, ())
        there = bool(report.classes) and len(counts) == len(report.classes) and report.layout != "tokens"
        self._bars_card.setVisible(there)
        self.part.setVisible(not masked)
        if not there:
            return
        leads = self._leads_to_images(report)
        self.bars.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
        total = sum(counts) or 1
        what = "labels" if report.target == "labels" else "classes"
        self._bars_card.set_title(f"{len(counts):,} {what}")
        self._bars_card.set_subtitle(
            "Share of the pixels of the first images, by the colors of the classes"
            if masked
            else f"Samples of each in the {PARTS.get(part, part)} part and their share of it, the largest first"
        )
        order = sorted(range(len(counts)), key=lambda at: (-counts[at], at)) if not masked else range(len(counts))
        self.bars.set_bars(
            [
                Bar(
                    report.classes[at],
                    counts[at],
                    text=f"{counts[at] / total:.1%}" if masked else f"{counts[at]:,}  {counts[at] / total:.1%}",
                    tooltip=f"{report.classes[at]}: {counts[at]:,} ({counts[at] / total:.1%})",
                    tone="accent" if counts[at] else "danger",
                    color=class_color(at) if masked else "",
                )
                for at in order
            ]
        )
        self.bars.setAccessibleName(f"Samples of each class in the {PARTS.get(part, part)} part")

    def _show_balance(self, report: DatasetReport) -> None:
        words = describe_balance(report)
        self.balance.setText(words)
        self._balance.setVisible(bool(words))

    def _show_values(self, report: DatasetReport) -> None:
        self._values.setVisible(bool(report.histograms))
        for number, shown in enumerate(self.histograms):
            shown.setVisible(number < len(report.histograms))
            if number < len(report.histograms):
                found = report.histograms[number]
                shown.set_counts(found.name, found.low, found.high, found.counts)
        more = len(report.classes) - len(report.histograms)
        told = f"The first {len(report.histograms)}, and {more} more" if report.histograms and more else ""
        self._values.set_subtitle(told)


def describe_balance(report: DatasetReport) -> str:
    """How unlike in number the classes of the training part are, and what weights by class would do; "" where nothing is counted."""
    counts = report.counts.get("train", ())
    if report.target != "class" or len(counts) != len(report.classes) or not any(counts):
        return ""
    most, least = max(counts), min(counts)
    large, small = report.classes[counts.index(most)], report.classes[counts.index(least)]
    if not least:
        return f"{small} has no training sample, so no network can learn it. The largest class, {large}, has {most:,}."
    if most == least:
        return f"Balanced: each class has {most:,} training samples."
    ratio = most / least
    if ratio <= _EVEN:
        return f"Balanced: the largest class, {large}, has {most:,} training samples, the smallest, {small}, {least:,} ({ratio:.2g} to 1)."
    share = most / sum(counts)
    weights = [sum(counts) / (len(counts) * count) for count in (most, least)]
    advice = (
        f"Balanced class weights would count each sample of {small} {weights[1]:.3g} times and each of {large} {weights[0]:.3g} times in the "
        "loss, so that all classes count alike; the class-balanced sampler draws every class equally often instead."
    )
    how = "Uneven" if ratio < _UNEVEN else "Very uneven"
    return (
        f"{how}: the largest class, {large}, has {most:,} training samples, the smallest, {small}, {least:,} ({ratio:.3g} to 1). "
        f"Always answering {large} would be right for {share:.1%} of the training samples. {advice}"
    )
