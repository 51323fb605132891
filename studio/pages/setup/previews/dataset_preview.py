"""The dataset in short: some samples as the model sees them, shape and size. The Data page has all of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QPushButton, QWidget

from studio.charts.scatter import Scatter
from studio.panels.data.data_images import no_image
from studio.panels.data.facts import fact_rows
from studio.panels.data.look import DataLook
from studio.panels.data.text_card import mark_report, text_label
from studio.panels.samples.image_table import ImageTable
from studio.panels.samples.images import thumbnails, varies
from studio.state.context import AppContext
from studio.theme import SPACING, theme
from studio.widgets import Card, KeyValueTable, Thumbnail, button, label, let_grow, vbox
from training.protocol.answers import DatasetReport, Points

_SCATTER = 240, 420  # pixels: at least, and where there is room
_TILE = 84


class DatasetPreview(QWidget):
    """Shows the answer of an inspection."""

    def __init__(self, context: AppContext, look: DataLook) -> None:
        super().__init__()
        self._context, self._look = context, look
        self._report = DatasetReport()
        self._thumbnails: Sequence[Thumbnail] = ()
        self.samples = Card("Samples", "image")
        self.browse = browse_button(context, look)
        self.samples.add_action(self.browse)
        self.images = ImageTable(self._find, "Samples as the model sees them", tile=_TILE, one_row=True)
        self.images.opened.connect(self._go_to)
        self.scatter = Scatter()
        let_grow(self.scatter, *_SCATTER)
        self.passage = text_label()
        self.samples.add(self.images, self.scatter, self.passage)
        facts = Card("Facts", "info")
        self._facts = KeyValueTable()
        self._notes = label("", "help", wrap=True)
        facts.add(self._facts, self._notes)
        vbox(self.samples, facts, parent=self, spacing=SPACING.l)
        look.question.changed.connect(self._update)
        theme().changed.connect(self._show_passage)
        self._update()

    @Slot()
    def _update(self) -> None:
        question = self._look.question
        report = question.answer
        if report is None or report is self._report:
            return
        self._report = report
        page = report.first_page
        samples = page.samples if page is not None else ()
        self._thumbnails = thumbnails(samples, varied=True, place=question.place)
        self.images.set_count(len(self._thumbnails))
        self.images.setVisible(bool(samples))
        points = report.points or Points()
        self.scatter.setVisible(report.points is not None)
        self.scatter.set_points(points.x, points.y, points.label)
        self._show_passage()
        self.browse.setVisible(report.table is None)  # whose card has one
        self.samples.setVisible(bool(samples or report.points or self.passage.text()))
        told = "A passage as the model gets it, token by token" if page is not None and page.texts else ""
        self.samples.set_subtitle(
            "As the model sees them in training, augmented" if any(map(varies, samples)) else told
        )
        self._facts.set_rows(fact_rows(report) + _further_rows(report))
        self._notes.setText("\n".join(question.notes))
        self._notes.setVisible(bool(question.notes))

    @Slot()
    def _show_passage(self) -> None:
        page = self._report.first_page
        texts = page.texts[:1] if page is not None else ()
        self.passage.setVisible(bool(texts))
        self.passage.setText(mark_report(self._report, texts[0].tokens) if texts else "")
        self.passage.setFont(theme().font("mono"))

    def _find(self, number: int) -> Thumbnail:
        return self._thumbnails[number] if number < len(self._thumbnails) else no_image("")

    @Slot(int)
    def _go_to(self, number: int) -> None:
        self._context.show_page("data")
        self._look.sample_asked.emit(self._find(number).place)


def browse_button(context: AppContext, look: DataLook) -> QPushButton:
    """Brings to the samples on the Data page."""

    def browse() -> None:
        context.show_page("data")
        look.samples_asked.emit()

    return button("Browse all samples", "database", "ghost", clicked=browse)


def _further_rows(report: DatasetReport) -> list[tuple[str, str]]:
    rows = []
    if report.classes and report.layout != "tokens":
        what = {"class": "Classes", "mask": "Classes", "labels": "Labels"}.get(report.target, "Targets")
        rows.append((what, f"{len(report.classes):,}: {', '.join(report.classes[:_NAMED])}{_and_more(report.classes)}"))
    if report.skipped_total:
        first = report.skipped[0]
        rows.append(("Skipped files", f"{report.skipped_total:,}; the first is {first.path}: {first.reason}"))
    return rows


_NAMED = 6


def _and_more(names: Sequence[str]) -> str:
    return f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
