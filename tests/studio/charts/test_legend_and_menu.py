"""Curves that are hidden by a click in the legend, and what a right click on a chart offers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from studio.charts.metrics_board import MetricsBoard
from studio.charts.plots.curve_plot import CurvePlot
from studio.panels.charts.chart_menu import ChartMenu
from studio.panels.charts.enlarged_chart import EnlargedChart
from studio.panels.charts.values_dialog import ValuesDialog
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.widgets import vbox
from tests.studio.keyboard_walk import wait_for_soundness

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def board(qtbot: QtBot, context: AppContext) -> MetricsBoard:
    made = MetricsBoard()
    qtbot.addWidget(made)
    made.resize(1000, 600)
    with qtbot.waitExposed(made):
        made.show()
    for plot in made.plots():
        ChartMenu(plot, context, name=lambda: "a-run")
    made.append("train/loss", np.arange(1, 101), np.linspace(9, 8, 100))
    made.append("val/loss", [50, 100], [2.0, 1.0])
    made.refresh()
    return made


def entry(plot: CurvePlot, name: str) -> QWidget:
    return plot._legend._entries[name]


def top(board: MetricsBoard) -> float:
    board.refresh()
    return float(board.plot("loss")._canvas.view.viewRange()[1][1])


def test_a_click_in_the_legend_hides_a_curve_and_shows_it_again(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("loss")
    training = entry(plot, "train/loss")
    assert top(board) > 9
    qtbot.mouseClick(training, LEFT)
    assert top(board) < 3  # what is left fills the height
    assert not plot._curves["train/loss"].raw_item.isVisible()
    assert training.accessibleName().endswith("hidden")
    board.append("train/loss", np.arange(101, 201), np.full(100, 8.0))  # the run goes on
    assert top(board) < 3
    board.clear()  # another run
    board.append("train/loss", [1, 2], [7.0, 7.0])
    board.append("val/loss", [1, 2], [1.0, 1.5])
    assert top(board) < 3
    training.setFocus()
    qtbot.keyClick(training, Qt.Key.Key_Space)
    assert top(board) > 7
    assert plot._curves["train/loss"].raw_item.isVisible()
    assert "hidden" not in training.accessibleName()


def test_all_that_is_faded_is_hidden_by_its_one_entry(qtbot: QtBot, board: MetricsBoard) -> None:
    steps = np.arange(50.0, 101.0)
    board.set_faded([{"train/loss": (steps, steps), "val/loss": (steps, steps)}])
    assert top(board) > 100
    qtbot.mouseClick(entry(board.plot("loss"), "train/loss 0"), LEFT)
    assert top(board) < 11
    board.set_faded([{"train/loss": (steps, steps)}, {"train/loss": (steps, steps)}])  # one more
    assert top(board) < 11


def right_click(plot: CurvePlot) -> QMenu:
    """The menu that opens."""
    viewport = plot._canvas.viewport()
    middle = viewport.rect().center()
    before = set(plot.findChildren(QMenu))
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, middle, viewport.mapToGlobal(middle))
    QApplication.sendEvent(viewport, asked)
    (menu,) = set(plot.findChildren(QMenu)) - before
    return menu


def test_a_right_click_offers_eight_things(qtbot: QtBot, board: MetricsBoard) -> None:
    menu = right_click(board.plot("loss"))
    words = [action.text() for action in menu.actions() if action.text()]
    assert words == [
        "Fit",
        "Enlarge",
        "Values as a table",
        "Copy image",
        "Save as PNG …",
        "Save as SVG …",
        "Save as CSV …",
        "Save as Parquet …",
    ]
    menu.close()
    menu = right_click(board.plot("lr"))  # nothing is drawn
    assert [action.isEnabled() for action in menu.actions() if action.text()] == [
        True,
        True,
        False,
        False,
        False,
        False,
        False,
        False,
    ]
    menu.close()


def choose(board: MetricsBoard, quantity: str, words: str) -> None:
    menu = right_click(board.plot(quantity))
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.close()


def test_what_is_shown_is_saved_as_a_table(
    qtbot: QtBot, board: MetricsBoard, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed: list[str] = []

    def ask(_parent: QWidget, _title: str, place: str, _kind: str) -> tuple[str, str]:
        proposed.append(Path(place).name)
        return str(tmp_path / ("curves.csv" if len(proposed) == 2 else "curves")), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    board.plot("loss")._canvas.moved_by_hand.emit(49.0, 51.0)
    choose(board, "loss", "Save as CSV …")
    qtbot.waitUntil(lambda: len(told) == 2)
    assert proposed == ["a-run-loss.csv"]
    assert [told[0].text, told[1].text] == ["Saving curves.csv …", f"Saved as {tmp_path / 'curves.csv'}."]
    assert told[1].action_text == "Open folder"
    assert told[0].subject == told[1].subject  # one takes the place of the other
    with (tmp_path / "curves.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    values = np.linspace(9, 8, 100)
    assert rows == [
        ["step", "Training", "Validation"],
        ["49", repr(float(values[48])), ""],
        ["50", repr(float(values[49])), "2.0"],
        ["51", repr(float(values[50])), ""],
    ]
    qtbot.mouseClick(entry(board.plot("loss"), "train/loss"), LEFT)
    choose(board, "loss", "Save as CSV …")
    qtbot.waitUntil(lambda: len(told) == 4)
    assert (tmp_path / "curves.csv").read_text() == "step,Validation\n50,2.0\n"
    choose(board, "loss", "Save as Parquet …")
    qtbot.waitUntil(lambda: len(told) == 6)
    assert pl.read_parquet(tmp_path / "curves.parquet").rows(named=True) == [{"step": 50, "Validation": 2.0}]


def test_a_picture_is_saved_and_copied_as_it_is_drawn(
    qtbot: QtBot, board: MetricsBoard, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "loss.png"), ""))
    plot = board.plot("loss")
    choose(board, "loss", "Save as PNG …")
    qtbot.waitUntil((tmp_path / "loss.png").exists)
    saved = QImage(str(tmp_path / "loss.png"))
    assert saved.size() == plot.size() * plot.devicePixelRatioF()
    colors = {saved.pixelColor(x, y).name() for x in range(0, saved.width(), 2) for y in range(saved.height())}
    assert len(colors) > 5  # a curve, axes and words on the ground
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "loss.svg"), ""))
    choose(board, "loss", "Save as SVG …")
    qtbot.waitUntil((tmp_path / "loss.svg").exists)
    assert "<polyline" in (tmp_path / "loss.svg").read_text() or "<path" in (tmp_path / "loss.svg").read_text()
    choose(board, "loss", "Copy image")
    assert QGuiApplication.clipboard().image().size() == saved.size()


def test_a_place_that_cannot_be_written_is_said(
    qtbot: QtBot, board: MetricsBoard, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "loss.csv"), ""))
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    choose(board, "loss", "Save as CSV …")
    qtbot.waitUntil(lambda: len(told) == 2)
    assert told[1].tone == "danger"
    assert "cannot be written" in told[1].text


def enlarged(board: MetricsBoard) -> EnlargedChart:
    (dialog,) = board.findChildren(EnlargedChart)
    return dialog


def test_an_enlarged_chart_goes_on_and_comes_back_to_its_place(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("lr")
    board.append("lr", np.arange(1, 101), np.ones(100))
    place = plot.geometry()
    choose(board, "lr", "Enlarge")
    dialog = enlarged(board)
    qtbot.waitUntil(dialog.isVisible)
    assert dialog.size() == board.window().size()
    assert plot.window() is dialog
    qtbot.waitUntil(lambda: plot.width() > 900)
    board.append("lr", np.arange(101, 301), np.ones(200))
    qtbot.waitUntil(lambda: plot._canvas.view.viewRange()[0][1] >= 300)  # drawn without being asked
    menu = right_click(plot)
    assert not next(action for action in menu.actions() if action.text() == "Enlarge").isEnabled()
    menu.close()
    close = dialog.findChild(QDialogButtonBox).findChild(QPushButton)  # type: ignore[union-attr]
    qtbot.mouseClick(close, LEFT)
    assert plot.window() is board.window()
    qtbot.waitUntil(lambda: plot.geometry() == place and plot.isVisible())


def test_an_enlarged_chart_that_is_gone_is_closed(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = CurvePlot("Training loss")
    board.layout().addWidget(plot)  # type: ignore[union-attr]
    EnlargedChart(plot, "Training loss").open()
    dialog = enlarged(board)
    qtbot.waitUntil(dialog.isVisible)
    gone: list[bool] = []
    dialog.destroyed.connect(lambda: gone.append(True))
    plot.deleteLater()  # another run, say
    qtbot.waitUntil(lambda: bool(gone))


def test_an_enlarged_chart_whose_place_is_gone_goes_with_its_dialog(qtbot: QtBot, board: MetricsBoard) -> None:
    card = QWidget()
    plot = CurvePlot("Training loss")
    vbox(plot, parent=card)
    board.layout().addWidget(card)  # type: ignore[union-attr]
    EnlargedChart(plot, "Training loss").open()
    dialog = enlarged(board)
    qtbot.waitUntil(dialog.isVisible)
    gone: list[bool] = []
    dialog.destroyed.connect(lambda: gone.append(True))
    delete(card)
    dialog.reject()
    qtbot.waitUntil(lambda: bool(gone))


def test_a_chart_says_its_newest_values_to_those_who_do_not_see_it(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    assert plot.accessibleDescription() == "Training 8.000 at step 100; Validation 1.000 at step 100"
    board.append("train/loss", [101], [7.5])
    board.refresh()
    assert plot.accessibleDescription() == "Training 7.500 at step 101; Validation 1.000 at step 100"
    plot.hide_curve("train/loss", True)
    board.refresh()
    assert plot.accessibleDescription() == "Validation 1.000 at step 100"
    board.clear()
    board.refresh()
    assert plot.accessibleDescription() == "No values yet"


@pytest.mark.slow
def test_the_values_of_a_chart_are_a_table_that_grows_with_it(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("loss")
    menu = right_click(plot)
    next(action for action in menu.actions() if action.text() == "Values as a table").trigger()
    menu.close()
    (dialog,) = board.findChildren(ValuesDialog)
    qtbot.waitUntil(dialog.isVisible)
    values = dialog.values

    def row(number: int) -> list[str]:
        return [str(values.index(number, column).data()) for column in range(values.columnCount())]

    titles = [values.headerData(column, Qt.Orientation.Horizontal) for column in range(values.columnCount())]
    assert titles == ["Position", "Training", "Validation"]
    assert row(0) == ["step 100", "8.000", "1.000"]
    assert row(1)[2] == ""
    assert values.rowCount() == 100
    wait_for_soundness(qtbot, dialog)
    dialog.table.setCurrentIndex(values.index(0, 1))
    board.append("train/loss", [101, 102], [7.5, 7.25])
    qtbot.waitUntil(lambda: values.rowCount() == 102)
    assert row(0) == ["step 102", "7.250", ""]
    assert dialog.table.currentIndex().row() == 2  # where the person was
    board.append("val/loss", [102], [0.5])  # later than the step that it is of
    qtbot.waitUntil(lambda: row(0)[2] == "0.5000")
    board.truncate(50)
    qtbot.waitUntil(lambda: values.rowCount() == 50)
    assert row(0)[0] == "step 50"
    gone: list[bool] = []
    dialog.destroyed.connect(lambda: gone.append(True))
    board.layout().removeWidget(plot)  # type: ignore[union-attr]
    delete(plot)
    qtbot.waitUntil(lambda: bool(gone))
