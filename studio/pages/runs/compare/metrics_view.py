"""The results of compared runs, and how far each is from a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QWidget

from studio.pages.runs.compare.text_table import TextTable
from studio.panels.charts.save_menu import SaveMenu
from studio.state.context import AppContext
from studio.state.evaluations.comparison import Compared, ComparisonQuestion, find_comparable
from studio.state.formats import format_metric, format_number, metric_title
from studio.state.runs.comparison import REPEATS, Comparison
from studio.widgets import STRETCH, ComboBox, hbox, icon_button, label, vbox
from training.config.rules.weights_fit import holds_out_others
from training.errors import list_first
from training.metric_names import is_share
from training.predictions import Evaluation
from training.predictions.reading import list_evaluations
from training.runs.comparison.compared_run import ComparedRun
from training.runs.folder import RunFolder
from training.runs.groups import spread

_TOLD = 2  # by name, of many: all are rows of the table
_NOTHING = "Select a run in the table to compare its answers with the baseline's, sample by sample."


def results_of(run: ComparedRun) -> dict[str, float]:
    """The metrics of the last validation and of the test, and the best value of what was monitored."""
    record = run.record
    found = {name: float(value) for name, value in record.metrics.items() if isinstance(value, int | float)}
    if record.best is not None:
        found = {f"best {record.best.metric}": float(record.best.value), **found}
    return found


class MetricsView(QWidget):
    """A row for each run, a column for each metric; the baseline is pinned on top."""

    def __init__(self, context: AppContext, comparison: Comparison) -> None:
        super().__init__()
        self._context, self._comparison = context, comparison
        self.baseline = ComboBox()
        self.baseline.setAccessibleName("Baseline")
        self.baseline.setToolTip("The run that the others are measured against")
        self.baseline.addItem("None")
        self.baseline.currentIndexChanged.connect(self._fill)
        self.table = TextTable("Metrics of the compared runs")
        self.table.row_chosen.connect(self._on_row_chosen)
        self.answer = label(_NOTHING, "field", wrap=True)  # which is better
        self.paired = label("", "help", wrap=True)  # what that rests on
        self._warning = ""  # of the selected run
        self._rows: list[RunFolder | None] = []
        self._looked_for: object = (
            None  # what the last search for evaluations is told by; None where nobody waits for one
        )
        self._question = ComparisonQuestion(context.engine, self)
        self._question.answered.connect(self._on_answered)
        menu = SaveMenu(context, self, lambda: "compared-metrics", tabulate=lambda: [self.table.tabulate()])
        save = icon_button("save", "Copy or save this table", clicked=menu.open)
        head = hbox(label("Baseline", "caption"), self.baseline, STRETCH, save)
        vbox(head, self.answer, self.paired, (self.table, 1), parent=self)

    def rebuild(self) -> None:
        """Show the runs compared now."""
        chosen = self.baseline.currentData()
        with QSignalBlocker(self.baseline):
            self.baseline.clear()
            self.baseline.addItem("None")
            for run in self._comparison.list_read():
                self.baseline.addItem(self._comparison.title(run.folder), run.folder.id)
            self.baseline.setCurrentIndex(max(self.baseline.findData(chosen), 0) if chosen else 0)
        self._fill()

    def pin(self, run_id: str) -> None:
        """Measure the others against this run."""
        self.baseline.setCurrentIndex(max(self.baseline.findData(run_id), 0))

    def _base(self) -> ComparedRun | None:
        return next((r for r in self._comparison.list_read() if r.folder.id == self.baseline.currentData()), None)

    def _fill(self) -> None:
        runs, base = self._comparison.list_read(), self._base()
        if base is not None:
            runs = [base, *(run for run in runs if run is not base)]
        results = {run.folder: results_of(run) for run in runs}
        names = list(dict.fromkeys(name for found in results.values() for name in found))
        pinned = results[base.folder] if base is not None else {}
        rows, self._rows = [], []
        for run in runs:
            against = {} if run is base else pinned
            mark = " (baseline)" if run is base else ""
            cells = [_say(name, results[run.folder].get(name), against.get(name)) for name in names]
            rows.append([self._comparison.title(run.folder) + mark, *cells])
            self._rows.append(run.folder)
        for group in self._comparison.groups(REPEATS):
            if len(group.members) > 1:
                members = [results[folder] for folder in group.members]
                rows.append([f"Mean of {len(members)}: {group.title}", *(_say_mean(name, members) for name in names)])
                self._rows.append(None)
        self.table.show_rows(["Run", *(_title(name) for name in names)], rows)
        self._question.drop()
        self._looked_for = None
        is_asked = base is not None and len(runs) > 1
        self._tell(_NOTHING if is_asked else "", self._warn(base, runs) if base is not None and is_asked else "")
        if is_asked and len(runs) == 2:
            self._on_row_chosen(1)

    def _tell(self, answer: str, more: str = "") -> None:
        for part, words in ((self.answer, answer), (self.paired, more)):
            part.setText(words)
            part.setVisible(bool(words))

    def _warn(self, base: ComparedRun, runs: Sequence[ComparedRun]) -> str:
        """Which of ``runs`` may not have been validated on the samples of ``base``, and by which settings; "" where all were."""
        found: dict[tuple[str, ...], list[str]] = {}
        measured = [run for run in runs if run is not base]
        for run in measured:
            paths = sorted(base.settings.keys() | run.settings.keys()) if base.settings and run.settings else []
            differing = [each for each in paths if base.settings.get(each) != run.settings.get(each)]
            if others := tuple(each for each in differing if holds_out_others(each)):
                found.setdefault(others, []).append(self._comparison.title(run.folder))
        if not found:
            return ""
        told = [
            f"{list_first(titles[:_TOLD], len(titles))} ({list_first(others[:_TOLD], len(others))})"
            for others, titles in found.items()
        ]
        count = sum(map(len, found.values()))
        who = "It was" if len(measured) == 1 else f"{count} of {len(measured)} runs {'was' if count == 1 else 'were'}"
        words = f"{who} validated on other samples than the baseline, which alone may explain a difference: "
        return f"{words}{'; '.join(told[:_TOLD])}{' …' if len(told) > _TOLD else '.'}"

    def _on_row_chosen(self, row: int) -> None:
        base, folder = self._base(), self._rows[row]
        self.table.mark(row)
        if base is None or folder is None or folder == base.folder:
            return
        more = self._warning = self._warn(base, [run for run in self._comparison.list_read() if run.folder == folder])
        self._tell("Looking for evaluations on the same data …", more)
        self._question.drop()
        search = self._looked_for = object()

        def handle_result(pair: tuple[Evaluation, Evaluation] | None) -> None:
            if search is not self._looked_for:
                return
            if pair is None:
                self._tell(
                    "Which is better is not known yet: the two have no evaluations on the same data. Open each run and evaluate it in its "
                    "Evaluate tab.",
                    more,
                )
            else:
                self._tell("Comparing …", more)
                self._question.ask(*pair)

        def handle_failure(error: Exception) -> None:
            if search is self._looked_for:
                self._tell(f"The evaluations cannot be read: {error}", more)

        self._context.background.submit(lambda: find_pair(base.folder, folder), handle_result, handle_failure)

    def _on_answered(self, compared: Compared) -> None:
        base = self._base()
        title = self._comparison.title(base.folder) if base else "the baseline"
        lines = [f"A is {title}, B the selected run.", " ".join(compared.notes), self._warning]
        self._tell("\n".join(compared.list_lines()), "\n".join(line for line in lines if line))


def find_pair(first: RunFolder, second: RunFolder) -> tuple[Evaluation, Evaluation] | None:
    """The newest evaluations of two runs that have samples in common."""
    for shown in list_evaluations(first):
        if others := find_comparable(shown, [second]):
            return shown, others[0]
    return None


def _title(name: str) -> str:
    best, metric = name.startswith("best "), name.removeprefix("best ")
    title = metric_title(metric)
    return f"Best {title}" if best else title[:1].upper() + title[1:]


def _say(name: str, value: float | None, baseline: float | None) -> str:
    """A value, and how far it is from the baseline's, absolute and in relation to it."""
    metric = name.removeprefix("best ")
    if value is None:
        return "–"
    text = format_metric(metric, value)
    if baseline is None or not math.isfinite(value - baseline):
        return text
    away = value - baseline
    points = (
        f"{away:+.2%}".replace("%", " pp")
        if is_share(metric)
        else f"{'+' if away >= 0 else ''}{format_number(away, 3)}"
    )
    relative = f", {away / abs(baseline):+.1%}" if baseline else ""
    return f"{text}  ({points}{relative})"


def _say_mean(name: str, members: list[Mapping[str, float]] | list[dict[str, float]]) -> str:
    found = spread([member.get(name) for member in members])
    metric = name.removeprefix("best ")
    if found is None:
        return "–"
    text = format_metric(metric, found.mean)
    spreads = "" if found.std is None else f" ± {format_metric(metric, found.std)}"
    return f"{text}{spreads} (n {found.n})" if found.n < len(members) else f"{text}{spreads}"
