"""The gradient norm's plot: the limit, how often it was met in what is shown, and the histogram of any stretch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot

from studio.charts.metrics_board import MetricsBoard
from studio.charts.plots.gradient_plot import GradientPlot


@pytest.fixture
def board(qtbot: QtBot) -> MetricsBoard:
    made = MetricsBoard()
    qtbot.addWidget(made)
    made.resize(900, 500)
    with qtbot.waitExposed(made):
        made.show()
    return made


def add_steps(board: MetricsBoard, first: int, norms: list[float]) -> None:
    steps = np.arange(first, first + len(norms))
    board.append("grad_norm", steps, norms)
    board.append("train/loss", steps, norms)
    board.refresh()


def line_of(plot: GradientPlot) -> float:
    """Where the limit is drawn; NaN where it is not."""
    return float(plot._limit_line.value()) if plot._limit_line.isVisible() else math.nan


def test_the_share_of_clipped_steps_is_of_what_is_shown_and_of_the_run(board: MetricsBoard) -> None:
    plot = board.gradients
    add_steps(board, 1, [2.0] * 10 + [0.5] * 30)
    assert plot.words.text() == ""  # no limit, no share
    plot.set_limit(1.0)
    board.refresh()
    assert plot.words.isVisible()
    assert plot.words.text() == "Clipped (norm > 1) in 25% of all 40 steps"
    add_steps(board, 41, [math.nan, math.inf] + [1.0] * 18)
    assert plot.words.text() == "Clipped (norm > 1) in 17% of all 58 steps, 2 skipped"
    plot._on_moved_by_hand(6.0, 15.0)
    board.refresh()
    assert plot.words.text() == "Clipped (norm > 1) in 50% of steps 6–15; in 17% of the run"
    plot._on_moved_by_hand(38.0, 43.0)
    board.refresh()
    assert plot.words.text() == "Clipped (norm > 1) in 0% of steps 38–43, 2 skipped; in 17% of the run"
    board.fit()
    board.truncate(20)
    add_steps(board, 21, [3.0] * 39)  # as many as before, but others: nothing counted may be left
    assert plot.words.text() == "Clipped (norm > 1) in 83% of all 59 steps"
    plot.set_own_from(20)
    board.refresh()
    assert plot.words.text() == "Clipped (norm > 1) in 83% of steps 1–59; in 100% of the run"
    plot.set_limit(None)
    board.refresh()
    assert not plot.words.isVisible()
    assert math.isnan(line_of(plot))


@pytest.mark.parametrize("log", [False, True])
def test_the_limit_is_a_line_at_its_height_where_it_is_near(board: MetricsBoard, log: bool) -> None:
    board.set_log_scale(log)
    board.gradients.set_limit(1.0)
    add_steps(board, 1, [0.4, 0.8] * 20)
    assert line_of(board.gradients) == pytest.approx(0.0 if log else 1.0)
    board.gradients.set_limit(1e6)  # the curve is worth more than a line far above it
    board.refresh()
    assert math.isnan(line_of(board.gradients))
    assert "norm > 1e6" in board.gradients.words.text()


def test_the_histogram_shows_the_stretch_in_view_with_the_limit_in_it(board: MetricsBoard) -> None:
    plot, shown = board.gradients, board.gradients.histogram
    add_steps(board, 1, [0.5] * 30 + [2.0] * 10)
    choice = plot._legend._choice
    assert choice.isVisible()
    choice.setCurrentIndex(choice.findData("histogram"))
    board.refresh()
    assert shown.isVisible()
    assert plot.words.text() == "Steps 1–40"  # no clipping
    assert sum(shown._counts) == 40
    plot.set_limit(1.0)
    board.refresh()
    mark = shown._mark
    assert mark is not None
    assert shown._edges[mark] == pytest.approx(1.0)
    assert (sum(shown._counts[:mark]), sum(shown._counts[mark:])) == (30, 10)
    assert shown.accessibleName().endswith(", 10 beyond 1")
    full = next(number for number, count in enumerate(shown._counts) if count == 30)
    middle = shown._room().left() + (full + 0.5) * shown._room().width() / len(shown._counts)
    assert ": 30 of 40\nGradient norms of steps 1–40" in shown.words_at(QPoint(round(middle), 5))
    assert shown.words_at(QPoint(0, 5)) == ""
    plot._on_moved_by_hand(25.0, 34.0)  # any plot's range: they are linked
    board.refresh()
    assert sum(shown._counts) == 10
    board.fit()
    add_steps(board, 41, [0.0, math.nan, 4.0])
    assert (sum(shown._counts), "1 of norm 0" in plot.words.text()) == (41, True)
    shown.grab()
    choice.setCurrentIndex(choice.findData("curve"))
    board.refresh()
    assert not shown.isVisible()
    assert line_of(plot) == 1.0


def test_a_histogram_of_very_many_steps_waits_for_a_hundredth_more_and_for_the_end(board: MetricsBoard) -> None:
    plot, shown = board.gradients, board.gradients.histogram
    plot.show_quantity("histogram")
    add_steps(board, 1, [1.0] * 1000)
    add_steps(board, 1001, [1.0] * 5)
    assert sum(shown._counts) == 1000
    add_steps(board, 1006, [1.0] * 7)
    assert sum(shown._counts) == 1012
    add_steps(board, 1013, [1.0] * 2)
    board.set_growing(False)
    board.refresh()
    assert sum(shown._counts) == 1014
