"""The mouse in charts, as a person uses it: a box, Shift, the wheel with and without Ctrl, a double click."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.charts.metrics_board import MetricsBoard
from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.legend import LegendEntry
from studio.widgets import Slider

LEFT, NO_BUTTON = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
NONE, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)


@pytest.fixture
def board(qtbot: QtBot) -> MetricsBoard:
    """500 steps of a loss from 5 to 0, and a rate; a run that goes on."""
    made = MetricsBoard()
    qtbot.addWidget(made)
    made.resize(1000, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.append("train/loss", np.arange(1, 501), np.linspace(5, 0, 500))
    made.append("lr", np.arange(1, 501), np.ones(500))
    made.refresh()
    return made


def ranges(board: MetricsBoard, quantity: str = "loss") -> Any:
    """What is shown after the next drawing: steps and values."""
    board.refresh()
    (first, last), (bottom, top) = board.plot(quantity)._canvas.view.viewRange()
    return (first, last), (bottom, top)


def place(plot: CurvePlot, step: float, value: float) -> QPointF:
    """Where a step and a value are, in pixels of the canvas."""
    return QPointF(plot._canvas.mapFromScene(plot._canvas.view.mapViewToScene(QPointF(step, value))))


def send(plot: CurvePlot, kind: QEvent.Type, at: QPointF, keys: Qt.KeyboardModifier, button: Qt.MouseButton) -> None:
    viewport = plot._canvas.viewport()
    held = NO_BUTTON if kind is QEvent.Type.MouseButtonRelease else LEFT
    QApplication.sendEvent(
        viewport, QMouseEvent(kind, at, QPointF(viewport.mapToGlobal(at.toPoint())), button, held, keys)
    )


def drag(plot: CurvePlot, *way: QPointF, keys: Qt.KeyboardModifier = NONE) -> None:
    """Press at the first place, move over the others, release at the last."""
    send(plot, QEvent.Type.MouseButtonPress, way[0], keys, LEFT)
    for before, at in itertools.pairwise(way):
        QTest.qWait(12)  # pyqtgraph hears of a hundred moves in a second
        send(plot, QEvent.Type.MouseMove, (before + at) / 2, keys, NO_BUTTON)
        send(plot, QEvent.Type.MouseMove, at, keys, NO_BUTTON)
    send(plot, QEvent.Type.MouseButtonRelease, way[-1], keys, LEFT)


def turn_wheel(widget: QWidget, at: QPointF, notches: int, keys: Qt.KeyboardModifier = NONE) -> None:
    """By way of the window system: what Qt is merely sent it does not pass on to a parent."""
    window = widget.window()
    where = QPointF(widget.mapTo(window, at.toPoint()))
    QTest.wheelEvent(window.windowHandle(), where, QPoint(0, 120 * notches), QPoint(), keys)


def test_a_box_zooms_into_steps_and_values(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    drag(plot, place(plot, 100, 4), place(plot, 200, 3))
    (first, last), (bottom, top) = ranges(board)
    assert (first, last) == (pytest.approx(100, abs=3), pytest.approx(200, abs=3))
    assert (bottom, top) == (pytest.approx(3, abs=0.1), pytest.approx(4, abs=0.1))
    (linked, _), rates = ranges(board, "lr")
    assert linked == first  # the steps are shared
    assert rates[0] < 0 < 1 < rates[1]  # heights are each plot's own
    assert not plot._canvas.view.rbScaleBox.isVisible()


def test_a_flat_box_takes_a_stretch_of_steps_and_a_narrow_one_of_values(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    drag(plot, place(plot, 100, 4), place(plot, 200, 4) + QPointF(0, 5))
    (first, last), (bottom, top) = ranges(board)
    assert (first, last) == (pytest.approx(100, abs=3), pytest.approx(200, abs=3))
    assert bottom < 3.01 < 4 < top < 4.3  # as high as what is in view
    board.fit()
    before, _ = ranges(board)
    drag(plot, place(plot, 250, 1), place(plot, 250, 2))
    assert ranges(board)[0] == before
    assert ranges(board)[1] == (pytest.approx(1, abs=0.1), pytest.approx(2, abs=0.1))
    drag(plot, place(plot, 250, 1.5), place(plot, 250, 1.5) + QPointF(6, 6))  # a slip of the hand
    assert ranges(board)[0] == before


def test_shift_moves_the_view_and_no_further_than_the_data(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    drag(plot, place(plot, 100, 4), place(plot, 200, 3))
    (first, last), _ = ranges(board)
    middle = QPointF(plot._canvas.viewport().rect().center())
    drag(plot, middle, middle + QPointF(plot._canvas.pixels() / 2, 0), keys=SHIFT)
    (moved, end), _ = ranges(board)
    assert moved == pytest.approx(first - 50, abs=2)
    assert end - moved == pytest.approx(last - first)
    far = middle + QPointF(10_000, 0)
    drag(plot, middle, far, far + QPointF(-10_000, 0), keys=SHIFT)  # there and back
    assert ranges(board)[0] == pytest.approx((moved, end), abs=1)
    drag(plot, middle, far, keys=SHIFT)
    assert ranges(board)[0] == (1, pytest.approx(1 + last - first))
    drag(plot, middle, middle - QPointF(100_000, 100_000), keys=SHIFT)
    (_, end), (bottom, _) = ranges(board)
    assert end == 500
    assert bottom > -0.5


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(qtbot: QtBot) -> None:
    area, page, board = QScrollArea(), QWidget(), MetricsBoard()
    qtbot.addWidget(area)
    column = QVBoxLayout(page)
    board.setFixedHeight(500)
    column.addWidget(board)
    column.addSpacing(2000)
    area.setWidget(page)
    area.setWidgetResizable(True)
    area.resize(1000, 600)
    with qtbot.waitExposed(area):
        area.show()
    board.append("train/loss", np.arange(1, 501), np.linspace(5, 0, 500))
    before, plot = ranges(board), board.plot("loss")
    viewport, at = plot._canvas.viewport(), place(plot, 200, 3)
    turn_wheel(viewport, at, -1)
    assert area.verticalScrollBar().value() > 0
    assert ranges(board)[0] == pytest.approx(before[0], abs=2)
    scrolled = area.verticalScrollBar().value()
    step = plot._canvas.view.mapSceneToView(plot._canvas.mapToScene(at.toPoint())).x()
    turn_wheel(viewport, at, 1, CONTROL)
    turn_wheel(viewport, at, 1, CONTROL)  # before anything was drawn
    (first, last), (bottom, top) = ranges(board)
    assert last - first == pytest.approx(0.75**2 * 500, rel=0.02)
    assert plot._canvas.view.mapSceneToView(plot._canvas.mapToScene(at.toPoint())).x() == pytest.approx(step, abs=1)
    assert top - bottom < before[1][1] - before[1][0]  # the heights of what is in view
    turn_wheel(viewport, at, 2, CONTROL | SHIFT)
    assert ranges(board)[0] == (first, last)
    assert ranges(board)[1][1] - ranges(board)[1][0] == pytest.approx(0.75**2 * (top - bottom), rel=0.02)
    turn_wheel(viewport, at, -20, CONTROL)
    turn_wheel(viewport, at, -20, CONTROL)
    assert ranges(board)[0][0] == 1  # never a step before the first
    assert area.verticalScrollBar().value() == scrolled


def test_the_wheel_beside_the_values_zooms_them(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    (first, last), (bottom, top) = ranges(board)
    beside = QPointF(20, plot._canvas.height() / 2)
    turn_wheel(plot._canvas.viewport(), beside, 1, CONTROL)
    assert ranges(board)[0] == (first, last)
    assert ranges(board)[1][1] - ranges(board)[1][0] == pytest.approx(0.75 * (top - bottom), rel=0.02)


@pytest.mark.parametrize("log", [False, True])
def test_no_zoom_is_so_near_that_its_numbers_are_alike(board: MetricsBoard, log: bool) -> None:
    plot = board.plot("loss")
    plot.set_log(log)
    beside = QPointF(20, plot._canvas.height() / 2)
    for _ in range(200):
        turn_wheel(plot._canvas.viewport(), beside, 1, CONTROL)
    (_, (bottom, top)) = ranges(board)
    assert top - bottom >= (0.0119 if log else 1e-6)
    assert (bottom, top) == pytest.approx((plot._scale.bottom, plot._scale.top))


def test_a_double_click_shows_all_and_follows_again(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("loss")
    drag(plot, place(plot, 100, 4), place(plot, 200, 3))
    zoomed = ranges(board)
    board.append("train/loss", np.arange(501, 2001), np.ones(1500))  # the run goes on
    assert ranges(board) == zoomed  # a zoomed chart stays where it is
    viewport = plot._canvas.viewport()
    qtbot.mouseDClick(viewport, LEFT, pos=viewport.rect().center())
    (first, last), (bottom, top) = ranges(board)
    assert first == 1
    assert last >= 2000
    assert bottom <= 0 < 5 <= top
    board.append("train/loss", np.arange(2001, 9001), np.ones(7000))
    assert ranges(board)[0][1] >= 9000  # a fitted one follows


def test_to_zoom_out_to_all_is_to_fit(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    viewport, at = plot._canvas.viewport(), place(plot, 200, 3)
    turn_wheel(viewport, at, 4, CONTROL)
    assert ranges(board)[0][1] < 400
    turn_wheel(viewport, at, -30, CONTROL)
    board.append("train/loss", np.arange(501, 2001), np.ones(1500))
    assert ranges(board)[0][1] >= 2000


def test_a_view_of_steps_that_were_cut_is_given_up(board: MetricsBoard) -> None:
    plot = board.plot("loss")
    drag(plot, place(plot, 300, 4), place(plot, 400, 1))
    board.truncate(100)
    assert ranges(board)[0][0] == 1


def test_steps_are_whole_however_near_they_are(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("loss")
    axis = plot._canvas.axes["bottom"]
    at = place(plot, 100, 3)
    for _ in range(30):
        turn_wheel(plot._canvas.viewport(), at, 1, CONTROL)
    (first, last), _ = ranges(board)
    assert last - first == pytest.approx(2)
    ((spacing, steps),) = axis.tickValues(first, last, 600)
    assert spacing == 1
    assert all(step == round(step) for step in steps)
    assert len(steps) >= 2
    plot._canvas.pointed.emit(first + 0.6)
    said = plot._legend._note.text()
    assert said.startswith("Step ")
    assert float(said.removeprefix("Step ")) == round(first + 0.6)
    board.set_steps_per_epoch(50)
    board._axis.set_current("epoch")
    board.fit()
    (first, last), _ = ranges(board)
    plot._canvas.moved_by_hand.emit(100, 130)
    ((spacing, _),) = axis.tickValues(100, 130, 600)
    assert spacing * axis.scale < 1  # there is something between two epochs


def test_where_the_pointer_is_can_be_read_in_a_narrow_chart(qtbot: QtBot, board: MetricsBoard) -> None:
    for name in ("val/loss", "lr", "grad_norm"):
        board.set_curve(name, np.arange(1, 1_000_001, 1000), np.ones(1000))
    board.refresh()
    for width in (1000, 640):
        board.resize(width, 600)
        qtbot.waitUntil(lambda: board.width() == 640 or board.plot("loss").width() > 400)
        for quantity in ("loss", "lr", "grad_norm"):
            plot = board.plot(quantity)
            plot._canvas.pointed.emit(100_001.0)
            note = plot._legend._note
            QApplication.processEvents()
            assert note.text() in ("Step 100,001", "100,001")
            assert note.elide() == note.text(), (width, quantity)
            plot._canvas.pointed.emit(None)
            assert note.isHidden()


def test_a_click_in_a_slider_goes_there(qtbot: QtBot) -> None:
    slider = Slider()
    qtbot.addWidget(slider)
    slider.setRange(0, 14)
    slider.resize(160, 24)
    slider.show()
    for share in (0.1, 0.3, 0.5, 0.9):
        slider.setValue(0)
        qtbot.mouseClick(slider, LEFT, pos=QPoint(round(160 * share), 12))
        assert slider.value() == pytest.approx(14 * share, abs=1)
    board_stop = math.floor(slider.value())
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_PageDown)
    assert slider.value() == board_stop - 1


def test_steps_are_zoomed_moved_read_and_fitted_by_keyboard(qtbot: QtBot, board: MetricsBoard) -> None:
    plot = board.plot("loss")
    entry = plot._legend.findChildren(LegendEntry)[0]
    entry.setFocus()
    whole = ranges(board)[0]
    QTest.keyClick(entry, Qt.Key.Key_Plus)
    nearer = ranges(board)[0]
    assert nearer[1] - nearer[0] == pytest.approx(0.75 * (whole[1] - whole[0]), rel=0.02)
    assert ranges(board, "lr")[0] == nearer
    QTest.keyClick(entry, Qt.Key.Key_Left, SHIFT)
    assert ranges(board)[0][0] < nearer[0]
    QTest.keyClick(entry, Qt.Key.Key_Left)
    QTest.keyClick(entry, Qt.Key.Key_Left)
    first, last = ranges(board)[0]
    read = last - 0.01 * (last - first)
    told = float(entry.accessibleName().removeprefix("Training: "))  # what a screen reader hears
    assert told == pytest.approx(5 * (1 - (read - 1) / 499), abs=0.02)
    second = plot._legend.findChildren(LegendEntry)[1]
    second.setFocus()  # two curves can be read at one step
    assert plot._cursor == pytest.approx(read, rel=0.01)
    QTest.keyClick(second, Qt.Key.Key_0)
    assert ranges(board)[0] == whole
    QTest.keyClick(entry, Qt.Key.Key_Minus)
    assert ranges(board)[0] == whole  # there is no more
    second.clearFocus()
    assert plot._cursor is None
