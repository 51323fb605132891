"""Which columns matter, on the Evaluate page: asked for, shown with intervals, saved as a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.pages.evaluate.views.importance_view import ImportanceView
from studio.state.context import AppContext
from tests.evaluations import make_classes, make_evaluation, write_evaluation
from tests.studio.pages_evaluate.page_driver import open_page
from training.config import RunConfig
from training.predictions import Evaluation
from training.predictions.importance import ColumnImportance, Importance, write_importance
from training.runs.folder import create_run

COLUMNS = (
    ColumnImportance(name="age", drop=0.124, low=0.109, high=0.138),
    ColumnImportance(name="hat size", drop=0.001, low=-0.004, high=0.006),
)


def write(evaluation: Evaluation, **changes: object) -> None:
    record = evaluation.record
    found = Importance(
        metric="accuracy",
        value=0.9,
        samples=record.samples,
        manifest_sha256=record.manifest_sha256,
        fingerprint=record.fingerprint,
        columns=COLUMNS,
    )
    write_importance(evaluation.folder, found.model_copy(update=changes))


def test_columns_are_measured_on_request_and_shown_with_their_intervals(
    qtbot: QtBot, context: AppContext, workspace: Path, config: Callable[..., RunConfig]
) -> None:
    run = create_run(workspace, config())
    evaluation = make_evaluation(run.path, samples=400, on="validation")
    write(evaluation, manifest_sha256="1" * 64)  # of another checkpoint
    images = make_classes(400, 3)
    write_evaluation(run.path, images, ("a", "b", "c"), on="train", layout="image")
    page = open_page(qtbot, context)
    view = page.views["importance"]
    assert isinstance(view, ImportanceView)
    page.stage.show_tab("Columns")
    assert view.measure.isVisible()
    assert not view.chart.isVisible()
    view.measure.click()
    assert view.cancel.isVisible()
    assert not view.measure.isVisible()
    qtbot.waitUntil(lambda: not view.job.is_busy)
    assert view.words.text().startswith("This engine shuffles no columns.")
    page.stage.show_tab("Columns")
    assert view.measure.isVisible()
    write(evaluation)
    view.job.finished.emit()
    assert view.chart.isVisible()
    assert not view.measure.isVisible()
    assert [(bar.label, bar.text, bar.pale) for bar in view.chart.bars] == [
        ("age", "12.4 points (10.9 to 13.8)", False),
        ("hat size", "0.1 points (-0.4 to 0.6)", True),
    ]
    assert "mean of 10 times on 400 samples" in view.words.text()
    assert view._tabulate()["low"] == [0.109, -0.004]
    view.chart.clicked.emit("age")  # classes have no residuals: nothing happens
    assert not page.selection.criteria
    page.choice.choose_data("train")
    assert page.selection.evaluation is not evaluation
    assert not view.isVisible()  # images have no columns
