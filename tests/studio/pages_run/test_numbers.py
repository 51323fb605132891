"""The row of figures: mean, best, skipped steps, and the name of the figure of quality."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.charts.ticks import reading
from studio.pages.run.numbers import NumbersRow
from studio.state.context import AppContext
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import open_window, run_page
from training.config import RunConfig
from training.control import Command
from training.events import Validated
from training.runs.records.series import STEP_ROW

MakeConfig = Callable[..., RunConfig]


def test_numbers_tell_mean_best_and_skipped_steps(qtbot: QtBot) -> None:
    row = NumbersRow()
    qtbot.addWidget(row)
    rows = np.array([(1, 1, 0, 1e-3, 2.0, 5.0), (2, 1, 1, 1e-3, np.nan, np.inf)], STEP_ROW)
    row.add_rows(rows)
    row.refresh()
    assert row.loss.value() == "2"
    assert row.norm.value() == "∞"
    assert "1 step skipped" in row.norm._delta.text()
    row.add_event(Validated(step=2, epoch=1, metrics={"val/accuracy": 0.9}, improved=True), "val/accuracy")
    row.add_event(Validated(step=4, epoch=2, metrics={"val/accuracy": 0.8}, improved=False), "val/accuracy")
    row.refresh()
    assert row.quality.value() == "80.00%"
    assert row.quality._delta.text() == "best 90.00% at step 2"
    row.truncate(3)
    row.refresh()
    assert (row.quality.value(), row.quality._delta.text()) == ("90.00%", "new best")
    row.truncate(1)
    row.refresh()
    assert (row.quality.value(), row.quality._delta.text()) == ("–", "")
    row.add_event(Validated(step=2, epoch=1, metrics={"val/accuracy": 0.7}, improved=False), "val/accuracy")
    row.refresh()
    assert row.quality._delta.text() == "new best"


def test_rate_and_norm_are_told_as_beside_their_curves(qtbot: QtBot) -> None:
    row = NumbersRow()
    qtbot.addWidget(row)
    row.add_rows(np.array([(1, 1, 0, 5.26e-10, 0.5, 0.003834)], STEP_ROW))
    row.refresh()
    said = {name: reading(float(row._newest[name])) for name in ("lr", "grad_norm")}
    assert said == {"lr": "5.26e-10", "grad_norm": "0.003834"}
    assert (row.rate.value(), row.norm.value()) == tuple(said.values())


def test_the_figure_of_quality_is_named_before_the_first_validation(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = run_page(open_window(qtbot, context))
    plain = config(epochs=ENDLESS, milliseconds=500)
    context.start_run(
        plain.model_copy(update={"checkpoints": plain.checkpoints.model_copy(update={"monitor": "val/f1"})})
    )
    qtbot.waitUntil(lambda: "Validation F1" in _words(page.charts.numbers))
    assert page.charts.numbers.quality.value() == "–"
    page.charts.numbers.clear()
    assert "Validation" in _words(page.charts.numbers)
    assert "Validation F1" not in _words(page.charts.numbers)
    context.live.ask(Command.STOP)


def _words(widget: QWidget) -> list[str]:
    return [each.text() for each in widget.findChildren(QLabel)]


def test_skipped_steps_that_a_resume_makes_void_are_not_counted(qtbot: QtBot) -> None:
    row = NumbersRow()
    qtbot.addWidget(row)
    rows = np.array([(step, 1, int(step > 8), 1e-3, 2.0, 5.0) for step in range(1, 29)], STEP_ROW)
    row.add_rows(rows)
    row.refresh()
    assert row.norm._delta.text() == "20 steps skipped"
    row.truncate(20)
    row.refresh()
    assert row.norm._delta.text() == "12 steps skipped"
    row.add_rows(rows[20:])
    row.refresh()
    assert row.norm._delta.text() == "20 steps skipped"
    row.truncate(0)
    row.refresh()
    assert row.norm._delta.text() == ""


def test_tile_and_legend_say_one_number_alike(qtbot: QtBot, context: AppContext) -> None:
    page = run_page(open_window(qtbot, context))
    rows = np.array([(step, 1, 0, 1e-3, 1.0 / step, 5.0) for step in range(1, 31)], STEP_ROW)
    accuracy = Validated(step=30, epoch=1, metrics={"val/accuracy": 0.0979166}, improved=True)
    page.charts.numbers.add_rows(rows)
    page.charts.curves.add_rows(rows)
    page.charts.numbers.add_event(accuracy, "val/accuracy")
    page.charts.curves.add_event(accuracy)
    page.charts.numbers.refresh()
    page.charts.curves.board.refresh()
    assert page.charts.numbers.loss._delta.text() == "20-step average, last 0.03333"
    assert "0.03333" in _words(page.charts.curves.board.plot("loss"))
    assert page.charts.numbers.quality.value() == "9.79%"
    assert "9.79%" in _words(page.charts.curves.board.plot("metric"))
