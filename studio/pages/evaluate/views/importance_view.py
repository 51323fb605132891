"""Which columns of a table matter: what the metric loses without each of them, measured on request."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal, Slot

from studio.charts.interval_bars import IntervalBar, IntervalBars
from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.residuals_view import ResidualsView
from studio.state.context import AppContext
from studio.state.evaluations.evaluation_job import EvaluationJob
from studio.state.evaluations.selection import Selection
from studio.widgets import STRETCH, ProgressLine, button, hbox, in_widget, label, vbox
from training.errors import pluralize
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.importance import REPETITIONS, Importance, read_importance
from training.system.plain_table import Table
from training.system.untrusted import escape_unprintable

_MOST_ROWS = 25
_ASK = (
    f"Each column is shuffled among the samples {REPETITIONS} times, and the network answers again: what the metric loses is what "
    "the column was worth."
)
_KEPT = "The run kept this evaluation as it trained. Evaluate its checkpoint again, and the columns can be measured."


class ImportanceView(View):
    """Of the whole evaluation, whatever is selected. Signals: `column_clicked(str)`."""

    column_clicked = Signal(str)

    key = "importance"
    heading = "Which columns matter"
    tab = "Columns"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.importance: Importance | None = None
        self.job = EvaluationJob(context.engine, self)
        self.chart = IntervalBars()
        self.chart.clicked.connect(self.column_clicked)
        self.words = label("", "help", wrap=True)
        self.measure = button("Measure", "play", clicked=self._measure)
        self.progress = ProgressLine()
        self.cancel = button("Cancel", "stop", clicked=self.job.cancel)
        self._working = in_widget(vbox(self.progress, hbox(self.cancel, STRETCH)))
        self.add(self.chart, self.words, hbox(self.measure, STRETCH), self._working)
        self.offer(self.chart, self._tabulate)
        self.job.changed.connect(self._show)
        self.job.finished.connect(self._read)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.layout in ("vector", "list") and "embedding" not in record.columns

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._read()

    def follow(self) -> None:
        """Nothing: the columns are those of all samples."""

    @Slot()
    def _measure(self) -> None:
        self.job.start(self._find_checkpoint(), self._evaluation.record.on, importance=True)

    @Slot()
    def _read(self) -> None:
        self.importance = read_importance(self._evaluation)
        self._show()

    @property
    def _is_asked(self) -> bool:
        """Whether the job is about the evaluation that is shown, and not about another one."""
        record = self._evaluation.record
        return (self.job.checkpoint, self.job.on) == (self._find_checkpoint(), record.on)

    def _find_checkpoint(self) -> Path:
        return self._evaluation.folder.parent.parent / "checkpoints" / self._evaluation.record.checkpoint

    @Slot()
    def _show(self) -> None:
        found, record = self.importance, self._evaluation.record
        is_measuring = self.job.is_busy and self._is_asked
        problem = self.job.problem if self._is_asked else ""
        self.chart.setVisible(found is not None)
        self.words.setText(_KEPT if not record.checkpoint else (problem or _ASK))
        self.measure.setVisible(found is None and bool(record.checkpoint) and not is_measuring)
        self.measure.setEnabled(not self.job.is_busy)
        self._working.setVisible(found is None and is_measuring)
        words = self.job.words
        self.progress.set_progress(self.job.fraction, words[:1].upper() + words[1:] if words else "Starting …")
        if found is not None:
            self._show_bars(found)

    def _show_bars(self, found: Importance) -> None:
        bars = [
            IntervalBar(
                escape_unprintable(column.name, 100),
                column.drop,
                column.low,
                column.high,
                found.describe(column),
                pale=not column.matters,
            )
            for column in found.columns
            if column.drop is not None and column.low is not None and column.high is not None
        ]
        of = f"{found.samples:,} of {self._evaluation.record.samples:,} samples"
        if found.samples == self._evaluation.record.samples:
            of = pluralize(found.samples, "sample")
        change = "loses" if found.is_better_high else "gains"
        self.chart.set_bars(f"What {found.title} {change} without each column", bars[:_MOST_ROWS])
        more = f" {pluralize(len(bars) - _MOST_ROWS, 'more column')} in the table." if len(bars) > _MOST_ROWS else ""
        self.words.setText(
            f"What {found.title} {change} when a column is shuffled: mean of {found.repetitions} times on {of}, with its 95% interval. "
            f"Pale: these samples do not show that it matters.{more}"
            + (" Click one to see the residuals against it." if ResidualsView.supports(self._evaluation.record) else "")
        )

    def _tabulate(self) -> Table:
        columns = self.importance.columns if self.importance is not None else ()
        return {
            "column": [column.name for column in columns],
            "drop": [column.drop for column in columns],
            "low": [column.low for column in columns],
            "high": [column.high for column in columns],
        }
