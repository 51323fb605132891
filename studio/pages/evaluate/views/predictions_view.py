"""What was predicted against what is true: without an error all points would lie on the diagonal."""

from __future__ import annotations

from functools import partial

from studio.charts.point_picker import Axis
from studio.pages.evaluate.views.points_view import MakeAxes, PointsView
from studio.state.context import AppContext
from studio.state.evaluations.residuals import read_values
from studio.state.evaluations.selection import Selection
from training.predictions import Evaluation


class PredictionsView(PointsView):
    """Prediction against truth, of one value at a time."""

    key = "predictions"
    heading = "Prediction against truth"
    tab = "Predictions"
    guide = "diagonal"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.set_subtitle("Dashed: no error. Drag a rectangle to select.")

    def choose_axes(self, target: int) -> MakeAxes:
        return partial(_make_axes, target=target)


def _make_axes(evaluation: Evaluation, *, target: int) -> tuple[Axis, Axis]:
    name = evaluation.record.names[target]
    return (
        Axis(f"True {name}", read_values(evaluation, "target", target)),
        Axis(f"Predicted {name}", read_values(evaluation, "prediction", target)),
    )
