"""How far predictions lie from the truth, against the prediction or against a column of the table: what is left there can be learned."""

from __future__ import annotations

import logging
from functools import partial

from studio.charts.point_picker import Axis
from studio.pages.evaluate.views.points_view import MakeAxes, PointsView
from studio.state.context import AppContext
from studio.state.evaluations.residuals import find_residuals, read_column, read_values
from studio.state.evaluations.selection import Selection
from studio.widgets import ComboBox
from training.predictions import Evaluation
from training.predictions.record import ROWS

logger = logging.getLogger(__name__)

_PREDICTION = ""
"""What is picked where it is no column."""


class ResidualsView(PointsView):
    """The columns are offered once the table was read, in the background."""

    key = "residuals"
    heading = "Residuals"
    tab = "Residuals"
    guide = "zero"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.against = ComboBox()
        self.against.setAccessibleName("Residuals against")
        self.against.setToolTip("What lies along the x axis")
        self.against.addItem("Against prediction", _PREDICTION)
        self.against.activated.connect(self.draw)
        self.add_action(self.against)
        self.set_subtitle("Prediction less truth. Drag a rectangle to select.")

    def show_evaluation(self, evaluation: Evaluation) -> None:
        wanted = self.against.currentData()
        self.evaluation = None  # nothing is drawn of what is not read yet
        for at in range(self.against.count() - 1, 0, -1):
            self.against.removeItem(at)
        super().show_evaluation(evaluation)
        if ROWS in evaluation.record.files:
            self.context.background.submit(
                lambda: evaluation.rows,
                lambda rows: self._offer_columns(evaluation, list(rows.columns), wanted),
                lambda error: logger.warning("The rows of %s cannot be read: %s", evaluation.folder, error),
            )

    def find_picks(self) -> tuple[object, ...]:
        return (*super().find_picks(), self.against.currentData())

    def show_column(self, name: str) -> bool:
        """Draw the residuals against the column ``name``; False where it is not offered."""
        at = self.against.findData(name)
        if at >= 0:
            self.against.setCurrentIndex(at)
            self.draw()
        return at >= 0

    def choose_axes(self, target: int) -> MakeAxes:
        return partial(_make_axes, target=target, against=self.against.currentData())

    def _offer_columns(self, evaluation: Evaluation, columns: list[str], wanted: str) -> None:
        if evaluation is not self.evaluation:
            return  # another one is looked at meanwhile
        for name in columns:
            self.against.addItem(f"Against {name}", name)
        self.against.setCurrentIndex(max(self.against.findData(wanted), 0))
        if wanted:
            self.draw()


def _make_axes(evaluation: Evaluation, *, target: int, against: str) -> tuple[Axis, Axis]:
    residuals = Axis(f"Residual of {evaluation.record.names[target]}", find_residuals(evaluation, target))
    rows = evaluation.rows if against else None
    if rows is None or against not in rows.columns:
        return Axis("Prediction", read_values(evaluation, "prediction", target)), residuals
    return Axis(against, *read_column(rows, against)), residuals
