"""Images of the data that is chosen, asked of the engine when they are in sight; only those seen last are kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QImage

from studio.engine.asker import Asker
from studio.engine.host import EngineHost
from studio.panels.data.engine_query import EngineQuery
from studio.panels.samples.images import thumbnails, varies
from studio.widgets import Thumbnail
from training.protocol.answers import PAGE, DatasetReport, SamplePage
from training.protocol.messages import BrowseSamples, Refusal

_MOST_BYTES = 256 << 20
_MOST_ASKED = 20
"""Blocks of one question: a screenful of small images."""
_MOST_ASKED_BYTES = 8 << 20
"""Pixels of one question: large images come few at a time."""
_REST = 15
"""Milliseconds: all that a view asks for while it paints becomes one question."""


@dataclass(frozen=True)
class Listing:
    """Which images: of a part, of a class ("" for all), with ``name`` in what they are called."""

    part: str = "train"
    class_name: str = ""
    name: str = ""


@dataclass(frozen=True)
class SeenSample:
    """``original`` is the image as it is, ``varied`` as training sees it (None: the same); ``number`` is its own in the data."""

    number: int
    original: Thumbnail
    varied: Thumbnail | None

    @property
    def bytes(self) -> int:
        """Of its pixels."""
        varied = self.varied.image.sizeInBytes() if self.varied is not None else 0
        return self.original.image.sizeInBytes() + varied


class DataImages(QObject):
    """Places 0 to ``total`` - 1 of what ``choice`` lists in the data that ``question`` was answered about.

    Signals: `relisted()` when other samples are listed, or how many is known now; `arrived(first, end)` when there is
    more to see at the places from ``first`` to before ``end``.
    """

    relisted = Signal()
    arrived = Signal(int, int)

    def __init__(self, engine: EngineHost, question: EngineQuery[DatasetReport], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice = Listing()
        self.total: int | None = None  # None: not known yet
        self.refusal = ""
        self._question = question
        self._report: DatasetReport | None = None
        self._samples: OrderedDict[int, SeenSample] = OrderedDict()
        self._unreadable: dict[int, str] = {}
        self._bytes = 0
        self._wanted: dict[int, None] = {}  # blocks of PAGE places
        self._asker = Asker(engine)
        self._timer = QTimer(self, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._ask)
        question.changed.connect(self._follow)
        self._follow()

    @property
    def report(self) -> DatasetReport:
        """What is known of the data."""
        return self._report or DatasetReport()

    @property
    def has_data(self) -> bool:
        """Whether there is data to look at: not while other data is read, or cannot be."""
        return self._report is not None

    @property
    def waiting(self) -> bool:
        """Whether something is on its way."""
        return self._asker.waiting or bool(self._wanted)

    @property
    def has_varied(self) -> bool:
        """Whether training sees other images than there are, as far as they were looked at."""
        return any(sample.varied is not None for sample in self._samples.values())

    def choose(self, choice: Listing) -> None:
        """List other samples of the same data."""
        if choice != self.choice:
            self.choice = choice
            self._begin()

    def find(self, place: int) -> SeenSample | None:
        """The sample at ``place``; None while it is on its way, or cannot be had."""
        found = self._samples.get(place)
        if found is not None:
            self._samples.move_to_end(place)
        elif place not in self._unreadable and not self.refusal:
            self._want(place // PAGE)
        return found

    def look_at(self, places: range) -> None:
        """Nobody waits any more for what is not among ``places``."""
        blocks = range(places.start // PAGE, -(-places.stop // PAGE))
        self._wanted = {block: None for block in self._wanted if block in blocks}

    def why_missing(self, place: int) -> str:
        """Why there is no image at ``place``; "" where it is only on its way."""
        return self._unreadable.get(place, self.refusal)

    # ------------------------------------------------------------------------------------------- inside

    @Slot()
    def _follow(self) -> None:
        report = self._question.answer
        if report is not None and report.layout != "image":
            report = None
        if report is self._report:
            return
        before, self._report = self._report, report
        if (
            report is None
            or before is None
            or before.classes != report.classes
            or self.choice.part not in (*report.samples, "excluded")
        ):
            self.choice = Listing()
        self._begin()

    def _begin(self) -> None:
        self._forget()
        page = self._report.first_page if self._report is not None else None
        if page is not None and self.choice == Listing():
            self._keep(page)
        elif self._report is not None:
            self._want(0)
        self.relisted.emit()

    def _forget(self) -> None:
        self._asker.forget()
        self._samples.clear()
        self._unreadable, self._wanted, self._bytes, self.total, self.refusal = {}, {}, 0, None, ""

    def _want(self, block: int) -> None:
        self._wanted.pop(block, None)
        self._wanted[block] = None  # the newest wish comes last
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _ask(self) -> None:
        config = self._question.asked
        if self._asker.waiting or not self._wanted or config is None or self._report is None:
            return
        if self._question.unread:  # other data is on its way, and this one may be gone
            self._wanted.clear()
            return
        blocks, choice = self._choose_blocks(), self.choice

        def take(page: SamplePage) -> None:
            for block in blocks:
                self._wanted.pop(block, None)
            is_first = self.total is None
            self._keep(page, len(blocks) * PAGE)
            if is_first:
                self.relisted.emit()
            else:
                self.arrived.emit(page.offset, page.offset + len(blocks) * PAGE)
            self._ask()

        def refuse(refusal: Refusal) -> None:
            self._wanted = {}
            self.refusal = self._question.explain(refusal)
            self.arrived.emit(0, self.total or 0)

        request = BrowseSamples(
            config=config.model_dump(mode="json"),
            part=choice.part,
            classes=(choice.class_name,) if choice.class_name else (),
            name=choice.name,
            offset=blocks.start * PAGE,
            count=len(blocks) * PAGE,
        )
        self._asker.ask(request, SamplePage, take, refuse)

    def _choose_blocks(self) -> range:
        """What follows on each other around the newest wish, from the first on: as much as one answer should hold."""
        first = next(reversed(self._wanted))
        while first - 1 in self._wanted:
            first -= 1
        each = self._bytes * PAGE // max(len(self._samples), 1)
        most = min(_MOST_ASKED, max(_MOST_ASKED_BYTES // each, 1)) if each else 1
        end = first + 1
        while end in self._wanted and end - first < most:
            end += 1
        return range(first, end)

    def _keep(self, page: SamplePage, count: int = PAGE) -> None:
        self.total = page.total
        originals = thumbnails(page.samples, varied=False, place=self._question.place)
        changed = [sample for sample in page.samples if varies(sample)]
        seen = dict(
            zip(
                (sample.place for sample in changed),
                thumbnails(changed, varied=True, place=self._question.place),
                strict=True,
            )
        )
        for sample, original in zip(page.samples, originals, strict=True):
            self._drop(sample.place)
            made = self._samples[sample.place] = SeenSample(sample.index, original, seen.get(sample.place))
            self._bytes += made.bytes
        shown = {sample.place for sample in page.samples}
        missing = [place for place in range(page.offset, min(page.offset + count, page.total)) if place not in shown]
        for place, file in zip(missing, page.unreadable, strict=False):
            self._unreadable[place] = f"{file.path}: {file.reason}"
        while self._bytes > _MOST_BYTES and len(self._samples) > count:
            self._drop(next(iter(self._samples)))

    def _drop(self, place: int) -> None:
        gone = self._samples.pop(place, None)
        if gone is not None:
            self._bytes -= gone.bytes


def no_image(caption: str) -> Thumbnail:
    """What stands in the place of an image that is not there."""
    return Thumbnail(QImage(), caption)
