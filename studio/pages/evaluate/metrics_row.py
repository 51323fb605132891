"""The metrics of an evaluation: each with its interval, and with what is reached without having learned anything."""

from __future__ import annotations

from PySide6.QtCore import Slot

from studio.panels.charts.save_menu import SaveMenu
from studio.state.context import AppContext
from studio.state.formats import format_metric, metric_title
from studio.theme import SPACING, Tone, theme
from studio.widgets import BigNumber, Card, FlowLayout, empty, icon_button, label
from training.errors import pluralize
from training.metric_names import is_known, metric
from training.predictions import Baseline, EvaluationRecord, Measured
from training.system.plain_table import Table

_CELL = 140
"""Pixels of a metric at least, for text of the designed size."""


class MetricsRow(Card):
    """A number for each metric."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Metrics")
        self.numbers: dict[str, BigNumber] = {}
        self._record: EvaluationRecord | None = None
        self._row = FlowLayout(spacing=SPACING.l)
        self._size_cells()
        theme().changed.connect(self._size_cells)
        self.state = label("", "help", wrap=True)
        self.state.hide()
        self._notes = label("", "help", wrap=True)
        self.add(self._row, self.state, self._notes)
        menu = SaveMenu(context, self, self._name_file, tabulate=lambda: [self.tabulate()])
        self.add_action(icon_button("more", "Copy or save: Metrics", clicked=menu.open))

    def show_record(self, record: EvaluationRecord) -> None:
        """Show the metrics of another evaluation."""
        self._record = record
        if list(self.numbers) != list(record.metrics):
            empty(self._row)
            self.numbers = {name: BigNumber(_title(name)) for name in record.metrics}
            for number in self.numbers.values():
                number.reserve_lines(2)
                self._row.addWidget(number)
        levels = {f"{each.level:.0%}" for each in record.metrics.values() if each.low is not None}
        interval = f" · {', '.join(sorted(levels))} intervals" if levels else ""
        self.set_subtitle(f"Of all {record.samples:,} samples{interval}")
        for name, measured in record.metrics.items():
            self._show(self.numbers[name], name, measured, record.samples)
        self._notes.setText("\n".join(record.notes))
        self._notes.setVisible(bool(record.notes))

    @Slot()
    def _size_cells(self) -> None:
        self._row.set_cell(round(_CELL * max(theme().font_scale, 1.0)))

    def say(self, words: str) -> None:
        """Say of the metrics what they lack."""
        self.state.setText(words)
        self.state.setVisible(bool(words))

    def tabulate(self) -> Table:
        """The metrics for other programs."""
        metrics = self._record.metrics if self._record is not None else {}
        return {
            "metric": list(metrics),
            "value": [each.value for each in metrics.values()],
            "low": [each.low for each in metrics.values()],
            "high": [each.high for each in metrics.values()],
            "baseline": [each.baseline.value if each.baseline else None for each in metrics.values()],
            "baseline name": [each.baseline.name if each.baseline else None for each in metrics.values()],
            "linear": [each.linear.value if each.linear else None for each in metrics.values()],
            "lacks": ["; ".join(each.lacks) or None for each in metrics.values()],
        }

    def _name_file(self) -> str:
        record = self._record
        return f"{record.run}-step-{record.step}-metrics" if record is not None else "metrics"

    def _show(self, number: BigNumber, name: str, measured: Measured, samples: int) -> None:
        number.set_value("–" if measured.value is None else format_metric(name, measured.value))
        lines: list[str] = []
        if measured.low is not None and measured.high is not None:
            lines.append(f"{format_metric(name, measured.low)} to {format_metric(name, measured.high)}")
        tone: Tone = "neutral"
        for simple in filter(None, (measured.baseline, measured.linear)):
            words = f"{simple.name}: {format_metric(name, simple.value)}"
            maximize = not is_known(name) or metric(name).maximize
            if not is_better(measured.value, simple, maximize):
                tone, words = "danger", f"no better than {words}"
            elif not is_better(measured.low if maximize else measured.high, simple, maximize):
                tone = "warning" if tone == "neutral" else tone
                words = f"these {pluralize(samples, 'sample')} do not show it to be better than {words}"
            lines.append(words)
        lines += measured.lacks
        number.set_delta("\n".join(lines), tone)


def is_better(value: float | None, simple: Baseline, maximize: bool) -> bool:
    """Whether ``value``, the model's or the worse end of its interval, is better than the baseline's."""
    return value is not None and (value > simple.value if maximize else value < simple.value)


def _title(name: str) -> str:
    words = metric_title(name)
    return words[0].upper() + words[1:]
