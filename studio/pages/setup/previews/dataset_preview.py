"""What is in the dataset: samples as the model sees them, classes, what was left out and why."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.charts.histogram import Histogram
from studio.pages.setup.samples.samples_card import SamplesCard
from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.facts import SkippedCard, fact_rows
from studio.panels.data.pairs_card import PairsCard
from studio.panels.data.sample_pages import SamplePages
from studio.panels.data.text_card import TextCard
from studio.panels.samples.images import class_color
from studio.services.settings import SettingsStore
from studio.theme import SPACING
from studio.widgets import STRETCH, Bar, BarList, Card, KeyValueTable, button, hbox, label, let_grow, vbox
from training.protocol.answers import DatasetReport

_MOST_HISTOGRAMS = 6
_HISTOGRAM = 132, 260  # pixels: at least, and where there is room


class DatasetPreview(QWidget):
    """Shows the answer of an inspection."""

    def __init__(
        self,
        question: EngineQuery[DatasetReport],
        pages: SamplePages,
        settings: SettingsStore,
        browse: Callable[[], object] = lambda: None,
    ) -> None:
        """``browse`` shows the Data page."""
        super().__init__()
        self.browse = button("Browse all samples, classes and parts", "database", "ghost", clicked=browse)
        self._question = question
        self._report = DatasetReport()
        self._classes = Card("Classes", "chart")
        self.bars = BarList(max_rows=10)
        self.bars.setAccessibleName("Training samples of each class")
        self._classes.add(self.bars)
        self._values = Card("Target distribution", "chart")
        self.histograms = [Histogram() for _ in range(_MOST_HISTOGRAMS)]
        for histogram in self.histograms:
            let_grow(histogram, *_HISTOGRAM)
            self._values.add(histogram)
        self._facts_card = Card("Facts", "info")
        self._facts = KeyValueTable()
        self._notes = label("", "help", wrap=True)
        self._facts_card.add(self._facts, self._notes)
        vbox(
            hbox(self.browse, STRETCH),
            SamplesCard(pages, settings),
            PairsCard(pages),
            TextCard(pages),
            SkippedCard(question),
            self._classes,
            self._values,
            self._facts_card,
            parent=self,
            spacing=SPACING.l,
        )
        question.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        report = self._question.answer
        if report is None or report is self._report:
            return
        self._report = report
        self._show_classes(report)
        self._show_values(report)
        self._facts.set_rows(fact_rows(report))
        self._notes.setText("\n".join(self._question.notes))
        self._notes.setVisible(bool(self._question.notes))

    def _show_classes(self, report: DatasetReport) -> None:
        names, masked = report.classes, report.target == "mask"
        counts = report.place_counts if masked else report.counts["train"]
        self._classes.setVisible(len(counts) == len(names))  # values to predict are not counted
        if len(counts) != len(names):
            return
        total = sum(counts) or 1
        what = "labels" if report.target == "labels" else "classes"
        self._classes.set_title(what.capitalize())
        self._classes.set_subtitle(
            "Colors in the images above, and the share of the pixels on the first page of them"
            if masked
            else f"Training samples of each of the {len(names)} {what}"
        )
        self.bars.set_bars(
            [
                Bar(
                    name,
                    count,
                    text=f"{count / total:.1%}" if masked else "",
                    tooltip=f"{name}: {count:,} ({count / total:.1%})",
                    tone="accent" if count else "danger",
                    color=class_color(number) if masked else "",
                )
                for number, (name, count) in enumerate(zip(names, counts, strict=True))
            ]
        )

    def _show_values(self, report: DatasetReport) -> None:
        histograms = report.histograms
        self._values.setVisible(bool(histograms))
        for number, shown in enumerate(self.histograms):
            shown.setVisible(number < len(histograms))
            if number < len(histograms):
                found = histograms[number]
                shown.set_counts(found.name, found.low, found.high, found.counts)
        more = len(report.classes) - len(histograms)
        self._values.set_subtitle(f"The first {len(histograms)}, and {more} more" if histograms and more else "")
