"""The Data page: what Setup has chosen, to be looked at sample by sample, class by class, part by part."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QTabBar, QWidget

from studio.actions.data_excluding import exclude_samples, include_samples
from studio.charts.scatter import Scatter
from studio.pages.data.classes_tab import ClassesTab
from studio.pages.data.columns_tab import ColumnsTab
from studio.pages.data.exclude_bar import ExcludeBar
from studio.pages.data.image_browser import ImageBrowser
from studio.pages.data.parts_tab import PartsTab
from studio.pages.data.rows_browser import RowsBrowser
from studio.panels.data.data_images import DataImages, Listing
from studio.panels.data.engine_query import DEBOUNCE
from studio.panels.data.facts import size_sentence
from studio.panels.data.look import look_at_data
from studio.panels.data.preview_frame import PreviewFrame
from studio.panels.data.text_card import TextCard
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import (
    STRETCH,
    ElidedLabel,
    button,
    hbox,
    icon_button,
    in_widget,
    label,
    scroll_area,
    separator,
    vbox,
)
from training import catalog
from training.protocol.answers import DatasetReport, Points

_SAMPLES, _CLASSES, _PARTS, _COLUMNS = range(4)


class DataPage(QWidget):
    """Follows the data that the draft names. ``delay``: milliseconds of rest after an edit before the engine is asked."""

    def __init__(self, context: AppContext, *, delay: int = DEBOUNCE) -> None:
        super().__init__()
        self._context = context
        self._look = look_at_data(context, delay)
        question, pages = self._look.question, self._look.pages
        self._report: DatasetReport | None = None
        self.title = label("", "title")
        self.told = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self.again = icon_button("refresh", "Read the data again", clicked=question.ask_again)
        self.change = button("Change in Setup", "setup", clicked=lambda: context.show_page("setup"))
        self.images = DataImages(context.engine, question, self)
        self.browser = ImageBrowser(self.images, context.settings)
        self.rows = RowsBrowser(question, pages)
        self.text = TextCard(pages)
        self.text_bar = ExcludeBar("passage")
        self.points = Scatter()
        self.points.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.nothing = label("", "subtitle", wrap=True)
        self.samples = QStackedWidget()
        text = scroll_area(
            in_widget(vbox(self.text_bar, self.text, STRETCH, margins=SPACING.l, spacing=SPACING.s)), "Texts"
        )
        for each in (self.browser, self.rows, text, self.points, self.nothing):
            self.samples.addWidget(each)
        self.classes = ClassesTab(context, question)
        self.parts = PartsTab(context, question)
        self.columns = ColumnsTab(question)
        self.tabs = QTabBar()
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setAccessibleName("What is shown of the data")
        self.stack = QStackedWidget()
        for name, screen in (
            ("Samples", self.samples),
            ("Classes", scroll_area(self.classes, "Classes")),
            ("Parts && report", scroll_area(self.parts, "Parts and report")),
            ("Columns", self.columns),
        ):
            self.tabs.addTab(name)
            self.stack.addWidget(screen)
        self.stack.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.frame = PreviewFrame(
            question,
            self.stack,
            icon_name="database",
            waiting="Reading the data",
            nothing="No samples to show",
            beside_fields=False,
        )
        self._lay_out()
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        for bar in (self.browser.bar, self.rows.bar):
            bar.exclude_asked.connect(lambda numbers: exclude_samples(context, self, question, numbers))
            bar.include_asked.connect(lambda numbers: include_samples(context, question, numbers))
        self._look.samples_asked.connect(self._show_all)
        self._look.sample_asked.connect(self._enlarge)
        self.classes.class_asked.connect(self._show_class)
        question.changed.connect(self._update)
        context.draft.changed.connect(self._tell)
        self._update()

    def _lay_out(self) -> None:
        head = hbox(
            (vbox(self.title, self.told, spacing=2), 1),
            self.again,
            self.change,
            margins=(SPACING.l, SPACING.m, SPACING.l, SPACING.s),
        )
        vbox(
            head,
            in_widget(hbox(self.tabs, margins=(SPACING.l, 0, SPACING.l, 0))),
            separator(),
            (self.frame, 1),
            parent=self,
            spacing=0,
        )

    @Slot()
    def _tell(self) -> None:
        draft = self._context.draft
        self.title.setText(catalog.entry("dataset", draft.kind("dataset")).title)
        place = str(draft.settings()["dataset"].get("path") or "")
        report = self._look.question.answer
        sizes = size_sentence(report) if report is not None else ""
        self.told.setText("   ".join(filter(None, (sizes, place))))

    @Slot()
    def _update(self) -> None:
        self._tell()
        question = self._look.question
        report = question.answer
        self.tabs.setVisible(report is not None)
        if report is None or report is self._report:
            return
        self._report = report
        points = report.points or Points()
        self.points.set_points(points.x, points.y, points.label)
        place = self._find_screen(report)
        self.samples.setCurrentIndex(place)
        title = ("Images", "Rows", "Text", "Points", "Samples")[place]
        self.tabs.setTabText(_SAMPLES, title)
        self.tabs.setTabVisible(_COLUMNS, question.table is not None)
        counted = report.target in ("class", "labels", "mask") and report.layout != "tokens"
        self.tabs.setTabVisible(_CLASSES, counted or bool(report.histograms))
        self.tabs.setTabText(_CLASSES, "Classes" if counted else "Targets")
        self.nothing.setText("These samples cannot be shown one by one; see Parts & report.")
        why_not = question.asked.dataset.no_exclude if question.asked is not None else ""
        for bar in (self.browser.bar, self.rows.bar, self.text_bar):
            bar.forbid(why_not)

    @Slot()
    def _show_samples(self) -> None:
        self.tabs.setCurrentIndex(_SAMPLES)

    @Slot()
    def _show_all(self) -> None:
        """From the first sample, whatever was looked for or scrolled to before."""
        self._show_samples()
        self.images.choose(Listing())
        self.browser.grid.scrollToTop()

    @Slot(str, str)
    def _show_class(self, part: str, name: str) -> None:
        self._show_samples()
        self.images.choose(Listing(part, name))

    @Slot(int)
    def _enlarge(self, place: int) -> None:
        """Show the training image at ``place`` large, among all of them."""
        self._show_samples()
        self.images.choose(Listing())
        self.browser.enlarge(place)

    def _find_screen(self, report: DatasetReport) -> int:
        if report.layout == "image":
            return 0
        if report.table is not None:
            return 1
        if report.layout == "tokens":
            return 2
        return 3 if report.points is not None else 4

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look.set_active("data", True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._look.set_active("data", False)
