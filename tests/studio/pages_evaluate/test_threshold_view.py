"""Precision-recall and ROC: the threshold is dragged, and what becomes of the samples there is chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.views.loss_view import LossView
from studio.pages.evaluate.views.threshold_view import ThresholdView
from studio.state.context import AppContext
from tests.evaluations import make_binary, make_labels, write_evaluation
from tests.studio.pages_evaluate.page_driver import open_page
from training.config import RunConfig
from training.runs.folder import create_run

MakeConfig = Callable[..., RunConfig]


def test_false_positives_follow_the_threshold_that_is_dragged(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    columns = make_binary(600)
    write_evaluation(create_run(workspace, config()).path, columns, ("no", "yes"), task="binary")
    page = open_page(qtbot, context)
    view, table = page.views["threshold"], page.samples.table
    assert isinstance(view, ThresholdView)
    truth, logits = columns["target"] == 1, columns["scores"][:, 1]
    qtbot.mouseClick(view.buttons["alarms"], Qt.MouseButton.LeftButton)
    assert set(table.rows) == set(np.flatnonzero(~truth & (logits >= 0)))
    assert view.buttons["alarms"].isChecked()
    # Near the upper left corner of the ROC curve many are called positive; the page follows.
    corner = view.curves.squares()[1].place(0.4, 0.95).toPoint()
    qtbot.mouseClick(view.curves, Qt.MouseButton.LeftButton, pos=corner)
    assert 0.0 < view.threshold < 0.5
    called = 1 / (1 + np.exp(-logits.astype(float))) >= view.threshold
    qtbot.waitUntil(lambda: set(table.rows) == set(np.flatnonzero(~truth & called)))
    assert view.buttons["alarms"].text() == f"False positives: {(~truth & called).sum()}"
    chip = page.samples.bar.chips()[0].accessibleName()
    assert f"False positives of “yes” from {view.threshold:.4g} on" in chip
    found = view.find_point()
    assert found.recall.value == called[truth].mean()
    assert found.precision.low < truth[called].mean() < found.precision.high
    table_of_points = view.tabulate()
    recalls = [float(each or 0.0) for each in table_of_points["recall"]]
    assert recalls == sorted(recalls)
    assert recalls[-1] == 1.0
    qtbot.mouseClick(view.buttons["alarms"], Qt.MouseButton.LeftButton)
    assert len(table.rows) == 600
    # It is written where the next run has it.
    context.draft.set_kind("objective", "binary")
    view.use_in_next()
    assert context.draft.value("objective.threshold") == view.threshold


def test_each_label_has_its_curves_and_counts_what_the_others_chose(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    columns, names = make_labels(300, 4), ("a", "b", "c", "d")
    write_evaluation(create_run(workspace, config()).path, columns, names, task="multi_label", target="labels")
    page = open_page(qtbot, context)
    view, losses = page.views["threshold"], page.views["loss"]
    assert isinstance(view, ThresholdView)
    view.names.setCurrentIndex(2)
    view.names.activated.emit(2)
    view.choose_outcome("misses")
    missed = (columns["target"][:, 2] > 0) & (columns["scores"][:, 2] < 0)
    assert set(page.samples.table.rows) == set(np.flatnonzero(missed))
    assert sum(view.find_point()[1:5]) == 300  # a view does not narrow itself
    assert isinstance(losses, LossView)
    losses.chart.chosen.emit((35, 39))
    large = columns["loss"] >= losses._edges[35]
    assert sum(view.find_point()[1:5]) == large.sum() < 300
    assert set(page.samples.table.rows) == set(np.flatnonzero(missed & large))
