"""The board of plots as a page uses it: cut, cleared, hidden and shown, with what it tells of smoothing and scales."""

import math

import numpy as np
import pytest
from PySide6.QtGui import QColor
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.charts.metrics_board import MetricsBoard
from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.markers import Marker
from studio.charts.redraw_clock import RedrawClock
from studio.theme import theme


def test_hidden_plots_are_not_drawn_and_catch_up_when_shown(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0
    draw = CurvePlot.draw

    def counted(self: CurvePlot) -> None:
        nonlocal drawn
        drawn += 1
        draw(self)

    monkeypatch.setattr(CurvePlot, "draw", counted)
    clock = RedrawClock()
    plot = CurvePlot("Loss", clock=clock)
    qtbot.addWidget(plot)
    plot.add_curve("train")
    for step in range(1000):
        plot.append("train", step, 1.0)
    assert not clock._timer.isActive()
    plot.show()
    qtbot.waitUntil(lambda: drawn == 1)
    for step in range(1000, 2000):
        plot.append("train", step, 1.0)
    qtbot.waitUntil(lambda: drawn == 2)
    assert not clock._timer.isActive()  # nothing new: no timer left over
    plot.hide()
    plot.append("train", 2000, 1.0)
    assert not clock._timer.isActive()


def test_a_board_may_die_while_a_redraw_is_due(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    with qtbot.waitExposed(board):
        board.show()
    board.append("train/loss", [1, 2], [1, 2])
    gone: list[bool] = []
    board.destroyed.connect(lambda: gone.append(True))
    board.deleteLater()
    qtbot.waitUntil(lambda: bool(gone))
    qtbot.wait(150)  # past the redraw that was due; an exception in it would fail the test


def legend_words(board: MetricsBoard, quantity: str) -> list[str]:
    """The words that can be read in its legend."""
    entries = board.plot(quantity)._legend._entries.values()
    return [entry._word.text() for entry in entries if entry._word.isVisible()]


def test_the_board_cuts_and_clears_all_its_plots(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    board.resize(700, 600)
    board.show()
    for name in ("train/loss", "lr", "grad_norm"):
        board.append(name, np.arange(1, 101), np.ones(100))
    board.append("val/loss", [50, 100], [1.0, 0.9])
    board.add_marker("resume", 80, "Resumed here", "r")
    board.truncate(60)
    for quantity in ("loss", "lr", "grad_norm"):
        shown = board.plot(quantity)
        assert max(curve.series.raw.x[-1] for curve in shown._curves.values()) <= 60
        assert list(shown._markers._markers) == []
    board.append("train/loss", 61, 2.0)  # goes on after the cut
    assert "Before rewind" not in legend_words(board, "loss")
    steps = np.arange(60.0, 101.0)
    board.set_faded([{"train/loss": (steps, steps / 60), "val/loss": (steps, steps)}, {"lr": (steps, steps)}])
    board.add_marker("best", 70, "Best", "b")
    board.truncate(60)  # cuts nothing of what is faded, and a marker stands on what counts
    loss = board.plot("loss")
    assert [curve.series.extent for curve in loss._curves.values()][2:4] == [(60.0, 100.0)] * 2
    loss.refresh()
    assert loss._shared_x.last >= 100
    assert loss._height_of(Marker("best", 60, "", "")) == pytest.approx(1.0)
    assert legend_words(board, "loss")[-1] == "Before rewind"
    board.resize(520, 600)  # no room for all words: those that have figures go first
    qtbot.waitUntil(lambda: legend_words(board, "loss") == ["Before rewind"])
    board.set_faded([])
    board.plot("loss").refresh()
    assert "Before rewind" not in legend_words(board, "loss")
    board.clear()
    assert all(len(curve.series) == 0 for curve in board.plot("loss")._curves.values())


def test_choosing_smoothing_and_scale_is_announced_and_remembered(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    changed = QSignalSpy(board.view_changed)
    board.set_smoothing(0.9)
    board.set_log_scale(True)
    assert board.smoothing() == pytest.approx(0.9)
    assert board.log_scale()
    assert changed.count() == 2


def test_what_is_beyond_the_range_is_never_told_by_half_a_word(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    board.show()
    values = np.ones(40_000)
    values[:3], values[20_000] = 3.0, 8.0
    for name in ("train/loss", "grad_norm"):
        board.append(name, np.arange(40_000), values + 0.05 * np.sin(np.arange(40_000.0)))
    board.append("val/loss", [20_000.0, 39_999.0], [0.4, 0.1])
    said = set()
    for width in (1200, 900, *range(760, 540, -20)):
        board.resize(width, 600)
        QApplication.processEvents()
        for quantity in ("loss", "grad_norm"):
            plot = board.plot(quantity)
            plot.refresh()
            QApplication.processEvents()
            note = plot._legend._note
            assert note.isHidden() or note.elide() == note.text(), (width, quantity)
            words = [entry._word.isVisible() for entry in plot._legend._entries.values() if not entry.isHidden()]
            assert all(words) or (quantity == "grad_norm" and note.isVisible())
            said.add(note.text())
    assert {"Peak 8.03 (Fit)", "Peak 8.03"} <= said


def test_spikes_lie_beyond_the_range_until_they_are_asked_for(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    board.resize(900, 600)
    losses = 0.1 + 0.05 * np.sin(np.arange(40_000.0))
    losses[:3], losses[20_000] = 3.0, 8.0
    board.append("train/loss", np.arange(40_000), losses)
    board.append("val/loss", [20_000.0, 39_999.0], [0.4, 0.1])
    plot = board.plot("loss")
    (fit,) = (each for each in board.findChildren(QPushButton) if each.text() == "Fit")

    def top() -> float:
        plot.refresh()
        return float(plot._canvas.view.viewRange()[1][1])

    assert 0.4 < top() < 0.6  # all of a curve without noise is seen
    assert plot._curves["train/loss"].raw_item.getData()[1].max() == 8.0  # drawn all the same: no spike is lost
    assert any("Peak 8 (Fit)" in each.text() for each in plot.findChildren(QLabel))
    fit.click()
    assert top() > 8
    assert not any("Peak" in each.text() for each in plot.findChildren(QLabel))
    fit.click()
    assert top() < 0.6
    plot._canvas.moved_by_hand.emit(19_990, 20_010)  # so few steps are all shown
    assert top() > 8
    fit.click()  # all steps again
    assert top() < 0.6
    board.set_log_scale(True)
    assert top() > math.log10(8)


def test_a_rate_that_hardly_falls_does_not_look_like_one_that_ends_at_zero(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    board.resize(700, 420)
    board.append("lr", np.arange(800), np.linspace(3e-3, 2.9998e-3, 800))
    plot = board.plot("lr")
    plot.refresh()
    bottom, top = plot._canvas.view.viewRange()[1]
    assert bottom < 0 < 3e-3 < top < 4e-3
    axis = plot._canvas.axes["left"]
    values = [value for _, level in axis.tickValues(bottom, top, 80) for value in level]
    assert 0 in values
    assert len(values) > 1


def test_what_the_marks_mean_is_said_in_the_colors_in_which_they_are_drawn(qtbot: QtBot) -> None:
    board = MetricsBoard()
    qtbot.addWidget(board)
    board.resize(1400, 700)
    with qtbot.waitExposed(board):
        board.show()
    board.mark_finding("loss", "error", 5, "It diverged", "a", None)
    board.mark_finding("lr", "warning", 5, "It is high", "b", None)
    assert board.marker_key.text() == "▲┆ Error   ▲┆ Warning"
    image = board.marker_key.grab().toImage()
    seen = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {QColor(theme().palette.danger).name(), QColor(theme().palette.warning).name()} <= seen
