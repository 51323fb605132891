"""The parts of the data: how large, how split, what was paired with what, and whether one sample is in two of them."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from studio.engine.asker import Asker
from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.facts import SkippedCard, fact_rows
from studio.panels.data.pairs_card import PairsCard, file_list
from studio.panels.data.part_words import PARTS
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, Bar, BarList, Card, KeyValueTable, ProgressLine, button, hbox, label, vbox
from training.errors import pluralize
from training.protocol.answers import DatasetReport, DuplicatePair, DuplicateReport
from training.protocol.messages import FindDuplicates, Refusal

_LIST_HEIGHT = 260


class DuplicatesCard(Card):
    """Asks the engine, when somebody wants to know, which held-out samples are trained on, too; the answer counts while the data stays.

    Signals: `remove_asked()` the copies are to be taken out of the held-out parts.
    """

    remove_asked = Signal()

    def __init__(self, context: AppContext, question: EngineQuery[DatasetReport]) -> None:
        super().__init__("Train/val leakage", "copy")
        self._context, self._question = context, question
        self._report: DatasetReport | None = None
        self._asker = Asker(context.engine)
        self.look = button("Look for duplicates", "search", clicked=self.ask)
        self.remove = button("Remove them from validation and test", "minus", clicked=self.remove_asked)
        self.told = label("", wrap=True)
        self.line = ProgressLine()
        self.list: QListWidget = file_list("Duplicates")
        self.list.setFixedHeight(_LIST_HEIGHT)
        self.add(self.told, self.line, hbox(self.look, self.remove, STRETCH), self.list)
        question.changed.connect(self._follow)
        self._reset()
        self._follow()

    def ask(self) -> None:
        """Have the engine look."""
        config = self._question.asked
        if config is None or self._question.unread or self._asker.waiting:
            return
        self._reset()
        self.told.setText("Looking for samples that are held out and trained on, too …")
        self.look.setEnabled(False)
        self.line.show()

        def explain(refusal: Refusal) -> None:
            self._reset()
            self.told.setText(self._question.explain(refusal))

        def progress(_text: str, fraction: float | None) -> None:
            self.line.set_progress(fraction)

        request = FindDuplicates(config=config.model_dump(mode="json"))
        self._asker.ask(request, DuplicateReport, self._show, explain, progress)

    @Slot()
    def _follow(self) -> None:
        report = self._question.answer
        if report is self._report and not self._question.unread:
            return
        self._report = report
        self._asker.forget()
        self.setVisible(report is not None and report.layout != "tokens")
        self._reset()

    def _reset(self) -> None:
        self.told.setText(
            "Samples that are trained on and held out, too, make metrics look too good. Compares files and rows, and images that look alike."
        )
        self.look.setEnabled(True)
        self.look.setText("Look for duplicates")
        for each in (self.line, self.list, self.remove):
            each.hide()

    def _show(self, found: DuplicateReport) -> None:
        self._reset()
        self.told.setText(describe_duplicates(found))
        self.look.setText("Look again")
        self.list.clear()
        for pair in found.pairs:
            row = QListWidgetItem(describe_pair(pair))
            row.setToolTip(row.text())
            self.list.addItem(row)
        rest = found.same + found.alike - len(found.pairs)
        if rest > 0:
            self.list.addItem(f"and {rest:,} more")
        self.list.setVisible(bool(found.pairs))
        dataset = self._context.draft.settings()["dataset"]
        self.remove.setVisible(bool(found.same) and dataset.get("duplicates") == "keep")


def describe_duplicates(found: DuplicateReport) -> str:
    """What was found, in sentences."""
    looked = f"{pluralize(found.compared, 'held-out sample')} compared"
    more = "; there are more than can be compared in a moment" if found.partial else ""
    if not found.same and not found.alike:
        return f"None of the {looked} is trained on, too{more}."
    words = []
    if found.same:
        other = f", {found.other_target:,} of them with another target" if found.other_target else ""
        words.append(f"{found.same:,} held-out sample{'s are' if found.same > 1 else ' is'} trained on, too{other}.")
    if found.alike:
        words.append(
            f"{found.alike:,} {'look' if found.alike > 1 else 'looks'} almost like an image that is trained on: copies in another size or format, or "
            "neighboring frames."
        )
    return f"{' '.join(words)} {looked[0].upper()}{looked[1:]}{more}."


def describe_pair(pair: DuplicatePair) -> str:
    """Both samples by name."""
    how = "is the same as" if pair.same else "looks like"
    other = ", with another target" if pair.other_target else ""
    return f"{pair.held} ({PARTS.get(pair.part, pair.part)})\n{how} {pair.trained} (training){other}"


class PartsTab(QWidget):
    """Follows ``question``."""

    def __init__(self, context: AppContext, question: EngineQuery[DatasetReport]) -> None:
        super().__init__()
        self._context, self._question = context, question
        self._report: DatasetReport | None = None
        self._sizes = Card("Parts", "layers", subtitle="Samples of each part, and its share of all")
        self.bars = BarList()
        self.bars.setAccessibleName("Samples of each part")
        self.split = label("", "help", wrap=True)
        self._sizes.add(self.bars, self.split)
        self._facts = Card("Data report", "info")
        self.facts = KeyValueTable()
        self.notes = label("", "help", wrap=True, selectable=True)
        self._facts.add(self.facts, self.notes)
        self.duplicates = DuplicatesCard(context, question)
        self.duplicates.remove_asked.connect(self._remove_duplicates)
        links = hbox(button("Change how it is split", "link", "ghost", clicked=self._go_to_split), STRETCH)
        self._sizes.add(links)
        left = vbox(self._sizes, self.duplicates, STRETCH, spacing=SPACING.l)
        right = vbox(self._facts, PairsCard(question), SkippedCard(question), STRETCH, spacing=SPACING.l)
        hbox((left, 1), (right, 1), parent=self, spacing=SPACING.l, margins=SPACING.l)
        question.changed.connect(self._update)
        self._update()

    @Slot()
    def _update(self) -> None:
        report = self._question.answer
        if report is None or report is self._report:
            return
        self._report = report
        whole = sum(report.samples.values()) or 1
        self.bars.set_bars(
            [
                Bar(
                    PARTS.get(part, part).capitalize(),
                    count,
                    text=f"{count:,}  {count / whole:.1%}",
                    tooltip=f"{part}: {count:,} samples",
                )
                for part, count in report.samples.items()
            ]
        )
        self.split.setText(self._describe_split(report))
        self.facts.set_rows(fact_rows(report))
        self.notes.setText("\n".join(self._question.notes))
        self.notes.setVisible(bool(self._question.notes))

    def _describe_split(self, report: DatasetReport) -> str:
        dataset = self._question.asked.dataset if self._question.asked is not None else None
        if dataset is None:
            return ""
        words = []
        given = [PARTS.get(part, part) for part in report.given if part in report.samples]
        if len(given) > 1:
            words.append(f"Came with the data: {', '.join(given)}.")
        for part, share in (("validation", dataset.validation_fraction), ("test", dataset.test_fraction)):
            if part in report.samples and part not in report.given and share:
                words.append(f"{share:.0%} held out for {part}{self._describe_draw(dataset)}.")
        if report.excluded:
            words.append(f"{pluralize(len(report.excluded), 'sample')} left out by the exclude list.")
        return " ".join(words)

    @staticmethod
    def _describe_draw(dataset: object) -> str:
        seed = getattr(dataset, "split_seed", 0)
        if (column := getattr(dataset, "time_column", None)) is not None:
            return f", the newest by {column}"
        if (column := getattr(dataset, "group_column", None)) is not None:
            return f", whole groups of {column}, split seed {seed}"
        return f", split seed {seed}"

    @Slot()
    def _remove_duplicates(self) -> None:
        draft = self._context.draft
        draft.set("dataset.duplicates", "drop_from_validation")
        draft.finish_edit()
        self._context.notifier.notify(
            "Runs take held-out samples that are trained on, too, out of validation and test.",
            "info",
            subject="duplicates",
            action_text="Undo",
            action=self._keep_duplicates,
        )

    def _keep_duplicates(self) -> None:
        self._context.draft.set("dataset.duplicates", "keep")
        self._context.draft.finish_edit()

    @Slot()
    def _go_to_split(self) -> None:
        self._context.show_page("setup")
        self._context.find_requested.emit("dataset.validation_fraction")
