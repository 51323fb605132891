"""What the views of predicted values have in common: points, of which a rectangle chooses some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from studio.charts.point_picker import Axis, Guide, PointPicker, Span, find_inside
from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.residuals import list_targets
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_number
from studio.widgets import ComboBox
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Cell, Table

MakeAxes = Callable[[Evaluation], tuple[Axis, Axis]]


class PointsView(View):
    """``choose_axes`` says what is drawn; of several values to predict one is picked."""

    guide: Guide

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.evaluation: Evaluation | None = None
        self.target = ComboBox()
        self.target.setAccessibleName(f"{self.heading}: value to predict")
        self.target.activated.connect(self.draw)
        self.chart = PointPicker()
        self.chart.chosen.connect(self._on_chosen)
        self.add_action(self.target)
        self.add(self.chart)
        self.offer(self.chart, self._tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return bool(list_targets(record))

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        before, names = self.target.currentText(), evaluation.record.names
        self.target.clear()
        for at in list_targets(evaluation.record):
            self.target.addItem(names[at], at)
        self.target.setCurrentIndex(max(self.target.findText(before), 0))
        self.target.setVisible(self.target.count() > 1)
        self._set_points()

    def follow(self) -> None:
        self.chart.set_part(self.selection.mask_of_others(self.key))
        place = self.find_chosen()
        self.chart.mark(place[1] if isinstance(place, tuple) and place[0] == self.find_picks() else None)

    def find_picks(self) -> tuple[object, ...]:
        """What is drawn: on other axes a rectangle means something else."""
        return (self.target.currentData(),)

    def choose_axes(self, target: int) -> MakeAxes:
        """What gives the axes of an evaluation, for a value to predict."""
        raise NotImplementedError

    def draw(self) -> None:
        """Show the points of what is picked now."""
        self._set_points()
        self.follow()

    def _set_points(self) -> None:
        if self.evaluation is not None:
            self.chart.set_points(*self.choose_axes(self.target.currentData())(self.evaluation), self.guide)

    def _on_chosen(self, span: Span | None) -> None:
        if span is None:
            self.selection.remove(self.key)
            return
        axes = (self.chart.x_axis, span.left, span.right), (self.chart.y_axis, span.bottom, span.top)
        words = ", ".join(_describe(axis, low, high) for axis, low, high in axes)
        make_axes = self.choose_axes(self.target.currentData())
        known = self.evaluation, self.chart.x_axis, self.chart.y_axis
        find = partial(_find_samples, make_axes=make_axes, span=span, known=known)
        self.choose(words, find, (self.find_picks(), span))

    def _tabulate(self) -> Table:
        rows = self.selection.rows
        return {axis.title: _as_cells(axis, rows) for axis in (self.chart.x_axis, self.chart.y_axis)}


def _find_samples(
    evaluation: Evaluation, *, make_axes: MakeAxes, span: Span, known: tuple[Evaluation | None, Axis, Axis]
) -> NDArray[np.bool_]:
    """``known`` spares reading what is drawn once more."""
    return find_inside(*(known[1:] if evaluation is known[0] else make_axes(evaluation)), span)


def _as_cells(axis: Axis, rows: NDArray[np.int64]) -> list[Cell]:
    values = axis.values[rows].tolist()
    return [axis.categories[int(value)] for value in values] if axis.categories else values


def _describe(axis: Axis, low: float, high: float) -> str:
    if not axis.categories:
        return f"{axis.title} {format_number(low, 3)} to {format_number(high, 3)}"
    inside = [name for at, name in enumerate(axis.categories) if low <= at + 0.35 and at - 0.35 <= high]
    return f"{axis.title} {', '.join(inside[:3])}{' …' if len(inside) > 3 else ''}"
