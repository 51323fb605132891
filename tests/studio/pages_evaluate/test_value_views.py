"""Predicted values on the Evaluate page: points over truth, prediction and the columns of the table."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from studio.charts.point_picker import PointPicker
from studio.pages.evaluate.views.predictions_view import PredictionsView
from studio.pages.evaluate.views.residuals_view import ResidualsView
from studio.state.context import AppContext
from tests.evaluations import make_record
from tests.studio.pages_evaluate.page_driver import open_page
from training.config import RunConfig
from training.predictions.record import ROWS, evaluation_folder
from training.predictions.writing import EvaluationWriter
from training.runs.folder import RunFolder, create_run

MakeConfig = Callable[..., RunConfig]
TOWNS = ["Berlin", "Bern", None]


@pytest.fixture
def run(workspace: Path, config: MakeConfig) -> RunFolder:
    """60 rows with two values to predict; every third row has no town."""
    made = create_run(workspace, config("prices"))
    rng = np.random.default_rng(0)
    target = rng.normal(size=(60, 2)).astype(np.float32)
    prediction = target + rng.normal(size=(60, 2)).astype(np.float32)
    columns = {
        "index": np.arange(60),
        "loss": ((prediction - target) ** 2).mean(1),
        "target": target,
        "prediction": prediction,
    }
    record = make_record(columns, ("price", "area"), target="values", task="regression")
    stream = io.BytesIO()
    polars.DataFrame({"rooms": range(60), "town": TOWNS * 20}).write_parquet(stream)
    with EvaluationWriter(evaluation_folder(made, 100, "validation"), record) as writer:
        writer.append(columns)
        writer.write_file(ROWS, stream.getvalue())
        writer.finish({})
    return made


def drag(qtbot: QtBot, chart: PointPicker, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Between two places, as shares of the room from its lower left."""
    chart.grab()  # laid out
    room = chart._room()
    places = [
        QPointF(room.left() + x * room.width(), room.bottom() - y * room.height()).toPoint() for x, y in (start, end)
    ]
    qtbot.mousePress(chart, Qt.MouseButton.LeftButton, pos=places[0])
    qtbot.mouseMove(chart, places[1])
    qtbot.mouseRelease(chart, Qt.MouseButton.LeftButton, pos=places[1])


def test_a_rectangle_chooses_samples_by_truth_residual_and_column(
    qtbot: QtBot, context: AppContext, run: RunFolder
) -> None:
    page = open_page(qtbot, context)
    evaluation, rows = page.selection.evaluation, page.samples.table
    assert evaluation is not None
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    view, residuals = page.views["predictions"], page.views["residuals"]
    assert isinstance(view, PredictionsView)
    assert isinstance(residuals, ResidualsView)
    drag(qtbot, view.chart, (0.5, 0.0), (1.0, 1.0))  # the larger half of the truth, of both the same scale
    middle = sum(view.chart._ranges[0]) / 2
    wanted = set(np.flatnonzero(target[:, 0] > middle).tolist())
    assert abs(len(wanted ^ set(rows.rows.tolist()))) <= 1  # a point on the line falls on either side
    assert residuals.chart._cloud.part is not None
    assert set(np.flatnonzero(residuals.chart._cloud.part).tolist()) == set(rows.rows.tolist())
    qtbot.mouseClick(view.chart, Qt.MouseButton.LeftButton, pos=view.chart.rect().center())
    assert rows.rowCount() == 60
    # The residual of the other value against a column of texts: a strip for each, those that are missing as well.
    qtbot.waitUntil(lambda: residuals.against.count() == 3)
    residuals.target.setCurrentIndex(1)
    residuals.against.setCurrentIndex(residuals.against.findData("town"))
    residuals.draw()
    names = list(residuals.chart.x_axis.categories)
    assert sorted(names) == ["Berlin", "Bern", "missing"]
    residual = prediction[:, 1].astype(np.float64) - target[:, 1]
    drag(qtbot, residuals.chart, (names.index("Bern") / 3 + 0.01, 0.0), (names.index("Bern") / 3 + 0.32, 1.0))
    assert set(rows.rows.tolist()) == set(range(1, 60, 3))
    assert "town Bern" in page.samples.bar.chips()[0].accessibleName()
    table = residuals._tabulate()
    assert set(table["town"]) == {"Bern"}
    assert sorted(map(float, np.array(table["Residual of area"]))) == pytest.approx(sorted(residual[1::3].tolist()))
    # By the keyboard: a band of the prediction.
    residuals.against.setCurrentIndex(0)
    residuals.draw()
    residuals.chart.setFocus()
    for _ in range(10):
        qtbot.keyClick(residuals.chart, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(residuals.chart, Qt.Key.Key_Return)
    assert set(rows.rows.tolist()) == set(np.flatnonzero(prediction[:, 1] <= sum(residuals.chart._ranges[0]) / 2))
    qtbot.keyClick(residuals.chart, Qt.Key.Key_Escape)
    assert rows.rowCount() == 60
