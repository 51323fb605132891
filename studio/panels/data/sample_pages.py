"""The page of passages or rows that is looked at, and the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.asker import Asker
from studio.engine.host import EngineHost
from studio.panels.data.engine_query import EngineQuery
from training.protocol.answers import ROWS, TEXTS, DatasetReport, SamplePage
from training.protocol.messages import BrowseSamples, Refusal


@dataclass(frozen=True)
class Choice:
    """Which passages of a text, those of a part, from ``offset`` on. Of a table the rows: of a part or of all (``rows_of``), whose cell
    in ``column`` is as ``value`` says."""

    part: str = "train"
    offset: int = 0
    rows_of: str = ""
    column: str = ""
    value: str = ""


class SamplePages(QObject):
    """Goes through the passages or rows of the dataset that ``question`` was answered about. The page that is shown stays until another one is
    there; an answer that nobody waits for any more is dropped.

    Signals: `changed()` for page, choice, waiting and refusal alike.
    """

    changed = Signal()

    def __init__(self, engine: EngineHost, question: EngineQuery[DatasetReport], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.page: SamplePage | None = None
        self.shown = Choice()  # what the page is of
        self.wanted = Choice()  # what the person asked for; the same once it is there
        self.refusal = ""
        self._was_ready = False
        self._engine = engine
        self._question = question
        self._report: DatasetReport | None = None
        self._asker = Asker(engine)
        question.changed.connect(self._follow)
        self._follow()

    @property
    def report(self) -> DatasetReport:
        """What is known of the dataset."""
        return self._report or DatasetReport()

    @property
    def waiting(self) -> bool:
        """Whether a page is on its way."""
        return self._asker.waiting

    @property
    def ready(self) -> bool:
        """Whether there is a dataset to ask for pages of: not while it is read once more."""
        return self._report is not None and not self._question.unread

    @property
    def beside_run(self) -> bool:
        """Whether a second engine has to read the page, because the first one trains."""
        return self._engine.training

    @property
    def total(self) -> int:
        """How many samples there are of what is shown."""
        return self.page.total if self.page is not None else 0

    @property
    def page_size(self) -> int:
        """How many places a page has."""
        return TEXTS if self.report.layout == "tokens" else ROWS

    def find_range(self, choice: Choice) -> str:
        """The places of the page ``choice``, of what is shown, in words."""
        end = min(choice.offset + self.page_size, self.total)
        first = f"{choice.offset + 1:,}"
        of = "of the first" if self.page is not None and self.page.more else "of"
        return f"{first if end == choice.offset + 1 else f'{first}–{end:,}'} {of} {self.total:,}"

    def find_last(self) -> int:
        """The offset of the last page."""
        return max(0, self.total - 1) // self.page_size * self.page_size

    def find_next(self, by: int) -> int | None:
        """The offset of the page after (1) or before (-1) the one that was asked for; None where there is none."""
        offset = self.wanted.offset + by * self.page_size
        return offset if 0 <= offset <= self.find_last() else None

    def turn_to(self, offset: int | None) -> None:
        """To another page of the same samples; None stays."""
        if offset is not None and offset != self.wanted.offset:
            self._ask(replace(self.wanted, offset=offset))

    def choose_part(self, part: str) -> None:
        """Show another part."""
        if part != self.wanted.part:
            self._ask(replace(self.wanted, part=part, offset=0))

    def choose_rows(self, part: str, column: str, value: str) -> None:
        """Show the rows of a part, or of all (""), whose cell in ``column`` is as ``value`` says."""
        wanted = replace(self.wanted, rows_of=part, column=column if value else "", value=value)
        if wanted != self.wanted:
            self._ask(replace(wanted, offset=0))

    @property
    def has_rows(self) -> bool:
        """Whether the samples are rows of a table."""
        return self.report.table is not None

    @Slot()
    def _follow(self) -> None:
        """A report of other data begins at its first page; one of the same data, otherwise varied or split, keeps the place."""
        report = self._question.answer
        if self._question.unread:
            self._asker.forget()  # a page of what is no longer asked about; still wanted, where the data stays
        if report is self._report:
            if self.ready != self._was_ready:
                self._was_ready = self.ready
                self.changed.emit()
            return
        if report is not None and report.layout == "image":
            report = None  # images are listed elsewhere
        before, self._report, self.refusal = self._report, report, ""
        self._asker.forget()
        self._was_ready = self.ready
        page = report.first_page if report is not None else None
        if (
            report is None
            or before is None
            or before.classes != report.classes
            or self.wanted.part not in report.samples
        ):
            self.wanted = Choice()
        if self.wanted == Choice() or page is None:
            self.page, self.shown, self.wanted = page, Choice(), Choice()
            self.changed.emit()
        else:
            self._ask(self.wanted)

    def _ask(self, choice: Choice) -> None:
        question, config = self._question, self._question.asked
        if config is None or not self.ready:
            return
        self.wanted, self.refusal = choice, ""

        def show(page: SamplePage) -> None:
            self.page = page
            self.shown = self.wanted = replace(choice, offset=page.offset)
            self.changed.emit()

        def keep(refusal: Refusal) -> None:
            self.wanted, self.refusal = self.shown, question.explain(refusal)
            self.changed.emit()

        request = BrowseSamples(
            config=config.model_dump(mode="json"),
            part=choice.rows_of if self.has_rows else choice.part,
            column=choice.column,
            value=choice.value,
            offset=choice.offset,
        )
        self._asker.ask(request, SamplePage, show, keep)
        if self.waiting:  # an engine that cannot be asked says so at once
            self.changed.emit()
