"""The plots as a person and a page use them: data come at any time, drawing only when seen, markers are clicked."""

import itertools
import math
import random

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QImage, QPainter, QPaintEvent, QPixmap, QRegion
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.plot_canvas import PlotCanvas, axis_width
from studio.charts.schedule_preview import SchedulePreview
from studio.charts.sparkline import paint_sparkline
from studio.theme import apply


@pytest.fixture
def plot(qtbot: QtBot) -> CurvePlot:
    made = CurvePlot("Loss")
    qtbot.addWidget(made)
    made.resize(600, 300)
    made.add_curve("train", "Training")
    with qtbot.waitExposed(made):
        made.show()
    return made


def drawn_point(plot: CurvePlot, key: object) -> pg.SpotItem:
    (point,) = (point for point in plot._markers._points.points() if point.data().key == key)
    return point


def marker_place(plot: CurvePlot, key: object) -> QPoint:
    """Where a marker stands, in pixels of the canvas."""
    point = drawn_point(plot, key)
    canvas = plot.findChild(QWidget, "canvas")
    assert canvas is not None
    scene = canvas.view.mapViewToScene(point.pos())  # type: ignore[attr-defined]
    return canvas.mapFromScene(scene)  # type: ignore[attr-defined]


def test_a_click_on_a_marker_gives_its_key(qtbot: QtBot, plot: CurvePlot) -> None:
    plot.append("train", np.arange(100), np.linspace(2, 1, 100))
    plot.refresh()
    assert not plot._markers._points.isVisible()  # none: they cost nothing
    plot.add_marker("checkpoint", 40, "Checkpoint at step 40", ("run", 40))
    plot.add_marker("best", 70, "Best", "best")
    plot.refresh()
    canvas = plot.findChild(QWidget, "canvas")
    assert canvas is not None
    for key in (("run", 40), "best"):
        with qtbot.waitSignal(plot.marker_clicked) as clicked:
            viewport = canvas.viewport()  # type: ignore[attr-defined]
            qtbot.mouseMove(viewport, marker_place(plot, key))
            qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=marker_place(plot, key))
        assert clicked.args == [key]


def test_a_legend_shows_whole_words_or_none(qtbot: QtBot, plot: CurvePlot) -> None:
    plot.append("train", np.arange(10), np.linspace(2, 1, 10))
    plot.refresh()
    (word,) = (label for label in plot.findChildren(QLabel) if label.text() == "Training")
    assert word.isVisible()
    plot.resize(130, 300)
    qtbot.waitUntil(lambda: not word.isVisible())
    plot.resize(600, 300)
    qtbot.waitUntil(word.isVisible)


def test_a_marker_lies_on_the_curve_and_goes_with_the_cut(plot: CurvePlot) -> None:
    plot.append("train", np.arange(100), np.linspace(10, 1, 100))
    plot.add_marker("checkpoint", 50, "a", "a")
    plot.add_marker("checkpoint", 90, "b", "b")
    plot.refresh()
    point = drawn_point(plot, "a")
    assert point.pos().y() == pytest.approx(np.linspace(10, 1, 100)[50])
    plot.truncate(60)
    assert list(plot._markers._markers) == ["a"]


def test_of_many_markers_only_those_are_drawn_that_fit_beside_each_other(plot: CurvePlot) -> None:
    plot.append("train", np.arange(20_001), np.ones(20_001))
    for step in range(1, 20_001):
        plot.add_marker("checkpoint", step, f"Checkpoint at step {step}", step)
    plot.add_marker("best", 7, "Best", "best")
    plot.refresh()
    points = plot._markers._points.points()
    assert 50 < len(points) < 200  # 600 pixels wide
    assert drawn_point(plot, 20_000)  # the newest of those that lie over each other
    assert points[-1].data().key == "best"  # over the checkpoint that it is
    covered = sum(point.data().covered for point in points)
    assert covered + len(points) == 20_001
    canvas = plot.findChild(QWidget, "canvas")
    assert canvas is not None
    canvas.moved_by_hand.emit(4.5, 15.5)  # type: ignore[attr-defined]
    plot.refresh()
    assert {point.data().key for point in plot._markers._points.points()} == {*range(5, 16), "best"}
    assert not any(point.data().covered for point in plot._markers._points.points())


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310, -1e300])
def test_a_constant_of_any_size_is_drawn(plot: CurvePlot, value: float) -> None:
    plot.add_curve("validation", is_noisy=False)
    for step in range(3):
        plot.append("validation", float(step), value)
    plot.refresh()
    plot.grab()  # an error while it paints fails the test
    assert plot._curves["validation"].raw_item.boundingRect().height() > 0


def test_the_range_ends_with_the_data_once_nothing_more_comes(plot: CurvePlot) -> None:
    shared = plot._shared_x
    plot.append("train", np.arange(1, 101), np.ones(100))
    plot.refresh()
    plot.append("train", 101, 1.0)
    plot.refresh()
    assert shared.last == pytest.approx(151)
    plot.set_growing(False)
    plot.refresh()
    assert (shared.first, shared.last) == (1, 101)
    plot.append("train", 110, 1.0)  # what was still on its way
    plot.refresh()
    assert (shared.first, shared.last) == (1, 110)


def test_following_grows_in_steps_until_the_person_zooms(plot: CurvePlot) -> None:
    shared = plot._shared_x
    plot.append("train", np.arange(1, 101), np.ones(100))
    plot.refresh()
    assert (shared.first, shared.last) == (1, 100)
    plot.append("train", 101, 1.0)
    plot.refresh()
    assert shared.last == pytest.approx(151)
    plot.append("train", 140, 1.0)
    plot.refresh()
    assert shared.last == pytest.approx(151)
    shared.move_by_hand(20, 30)
    plot.append("train", 500, 1.0)
    plot.refresh()
    assert (shared.first, shared.last) == (20, 30)
    plot.fit()
    plot.refresh()
    assert (shared.first, shared.last) == (1, 500)


def test_a_log_scale_leaves_out_what_has_no_logarithm(plot: CurvePlot) -> None:
    plot.append("train", np.arange(6), [10.0, 0.0, -5.0, math.nan, 1.0, 0.1])
    plot.set_log(True)
    plot.refresh()
    (curve,) = plot._curves.values()
    _, ys = curve.raw_item.getData()
    np.testing.assert_allclose(ys, [1.0, np.nan, 0.0, -1.0])
    plot.set_log(False)
    plot.refresh()
    assert len(curve.raw_item.getData()[1]) == 6


def drawn_numbers(plot: CurvePlot) -> list[tuple[QRectF, str]]:
    """What is written beside the y axis, and where."""
    axis = plot._canvas.axes["left"]
    pixmap = QPixmap(10, 10)
    painter = QPainter(pixmap)
    _line, _ticks, texts = axis.generateDrawSpecs(painter)
    painter.end()
    return [(rect, text) for rect, _flags, text in texts]


class Painted(QObject):
    """Which part of a widget was painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.region = QRegion()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.region += event.region()
        return False


def test_a_curve_takes_the_place_of_words_in_one_painting(qtbot: QtBot, plot: CurvePlot) -> None:
    words = plot._area.words
    plot.refresh()
    qtbot.waitUntil(words.isVisible)
    QApplication.processEvents()
    plot.append("train", np.arange(100), np.linspace(2, 1, 100))
    assert not words.isVisible()  # though nothing is drawn yet
    viewport = plot._canvas.viewport()
    painted = Painted(viewport)
    plot.refresh()
    QApplication.sendPostedEvents(None, QEvent.Type.UpdateRequest)  # before anything else is heard of
    assert painted.region.boundingRect() == viewport.rect()
    plot.clear()
    assert words.isVisible()
    assert not plot._canvas.isVisible()


def be_high(qtbot: QtBot, plot: CurvePlot, height: int) -> None:
    plot.resize(600, height)
    qtbot.waitUntil(lambda: 0 < height - plot._canvas.height() < 40)


def test_numbers_beside_a_log_axis_tell_its_values_at_every_range(qtbot: QtBot, plot: CurvePlot) -> None:
    draw = random.Random(12)
    ranges = [(1.1, 1.6), (2.5, 4.2), (0.05, 1.2), (1e-9, 10.0), (3e-12, 4e-12), (2.3026, 2.3027), (5.0, 5.0)]
    for _ in range(300):
        low = 10 ** draw.uniform(-40, 8)
        ranges.append((low, low * 10 ** (10 ** draw.uniform(-6, 1.1))))
    plot.set_log(True)
    for height in (120, 240):  # 200 pixels of axis, and as small as a plot may become
        be_high(qtbot, plot, height)
        for low, high in ranges:
            plot.set_curve("train", [1, 2], [low, high])
            plot.fit()
            plot.refresh()
            numbers = drawn_numbers(plot)
            assert len(numbers) >= 2, (low, high, numbers)
            axis = plot._canvas.axes["left"]
            bottom, top = axis.range
            for rect, text in numbers:
                figure = float(text.replace("k", "e3").replace("M", "e6").replace("G", "e9"))
                at = 1 - rect.center().y() / axis.geometry().height()
                # As precise as a pixel, so the text says the value that the place stands for.
                assert math.log10(figure) == pytest.approx(
                    bottom + at * (top - bottom), abs=1.5 * (top - bottom) / height
                )
            for one, other in itertools.combinations([rect for rect, _ in numbers], 2):
                assert not one.intersects(other), (low, high, numbers)
            assert len({text for _, text in numbers}) == len(numbers)


def test_samples_that_come_one_by_one_are_drawn_as_those_that_come_together(plot: CurvePlot) -> None:
    values = [2.0, 3.0, math.nan, 1.0, math.inf, 0.5]
    plot.add_curve("single")
    plot.set_smoothing(0.5)
    plot.append("train", np.arange(6.0), values)
    for step, value in enumerate(values):
        plot.append("single", float(step), value)
    with pytest.raises(ValueError, match="cut the series"):
        plot.append("single", 4.0, 1.0)
    together, single = plot._curves["train"].series, plot._curves["single"].series
    assert len(single) == 6
    assert single.extent == together.extent == (0.0, 5.0)
    plot.refresh()
    for one, other in zip(single.smooth_view(0, 5, 100) or (), together.smooth_view(0, 5, 100) or (), strict=True):
        np.testing.assert_array_equal(one, other)
    plot.append("single", 6.0, 1.0)
    plot.truncate(3)
    assert single.extent == (0.0, 3.0)
    plot.append("single", 4.0, 7.0)  # goes on after the cut
    plot.set_smoothing(0.9)
    assert single.nearest(9) == (4.0, 7.0)
    smoothed = single.smooth_view(0, 9, 100)
    assert smoothed is not None
    assert set(smoothed[0]) == {0, 1, 2, 3, 4}
    plot.clear()
    assert single.extent is None
    plot.append("single", 0.0, 1.0)
    assert len(single) == 1


def test_a_wide_line_is_antialiased_unless_it_goes_up_and_down_all_the_time(plot: CurvePlot) -> None:
    plot.add_curve("val", is_noisy=False)
    steps = np.arange(500.0)
    for values, fine in ((np.linspace(1, 0, 500), True), (steps % 2, False)):
        plot.set_curve("val", steps, values)
        plot.refresh()
        assert plot._curves["val"].raw_item.opts["antialias"] is fine


def test_an_all_gap_curve_and_an_empty_one_are_drawn_without_complaint(plot: CurvePlot) -> None:
    plot.refresh()
    plot.append("train", [1, 2], [math.nan, math.inf])
    for log in (False, True):
        plot.set_log(log)
        plot.set_smoothing(0.9)
        plot.refresh()


def test_a_single_sample_is_a_dot_until_there_is_a_line(plot: CurvePlot) -> None:
    plot.add_curve("alone", is_noisy=False)
    plot.append("alone", [5], [0.5])
    plot.refresh()
    dot = plot._curves["alone"].dot_item
    assert dot is not None
    (point,) = dot.points()
    assert (point.pos().x(), point.pos().y()) == (5, 0.5)
    plot.append("alone", [6], [0.75])
    plot.refresh()
    assert len(dot.points()) == 0
    plot.truncate(5)
    plot.refresh()
    assert len(dot.points()) == 1


def test_a_marker_at_the_last_step_is_not_cut_at_the_edge(plot: CurvePlot) -> None:
    plot.append("train", np.arange(1, 101), np.linspace(2, 1, 100))
    plot.add_marker("best", 100, "Best", "best")
    plot.set_growing(False)
    plot.refresh()
    canvas = plot.findChild(QWidget, "canvas")
    assert canvas is not None
    edge = canvas.view.sceneBoundingRect().right()  # type: ignore[attr-defined]
    assert marker_place(plot, "best").x() + drawn_point(plot, "best").size() / 2 <= edge


def test_a_schedule_is_drawn_and_taken_back(qtbot: QtBot) -> None:
    preview = SchedulePreview()
    qtbot.addWidget(preview)
    preview.resize(400, 200)
    preview.show()
    preview.set_schedule(np.arange(100), np.linspace(1e-3, 0, 100), label="Linear")
    assert preview.accessibleName() == "Linear"
    preview.set_schedule([0, 1], [1e-3, 0.0])  # shorter than before: no complaint
    preview.set_message("The learning rate is not a number")
    assert preview.accessibleName() == "The learning rate is not a number"


@pytest.mark.parametrize("values", [[], [1.0], [math.nan, math.nan], [1.0, 1.0], list(range(5000)), [1, math.nan, 3]])
def test_a_sparkline_of_anything_can_be_painted(qtbot: QtBot, values: list[float]) -> None:
    drawn = QImage(100, 24, QImage.Format.Format_ARGB32)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    paint_sparkline(painter, QRectF(drawn.rect()), values, "#123456")
    painter.end()
    has_ink = any(drawn.pixelColor(x, y).alpha() for x in range(100) for y in range(24))
    assert has_ink == any(math.isfinite(value) for value in values)


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.5])
def test_the_longest_number_has_room_beside_the_axis_in_every_size_of_text(
    qtbot: QtBot, qapp: QApplication, plot: CurvePlot, scale: float
) -> None:
    apply(qapp, "light", font_scale=scale)
    (canvas,) = plot.findChildren(PlotCanvas)
    axis = canvas.axes["left"]
    metrics = QFontMetrics(axis.style["tickFont"])
    assert axis.maximumWidth() == axis_width()
    assert metrics.horizontalAdvance("1.002e-12") + axis.style["tickTextOffset"][0] <= axis_width()


def test_a_finding_at_the_first_step_is_drawn_whole_beside_its_line(plot: CurvePlot) -> None:
    plot.append("train", np.arange(1, 101), np.linspace(2, 1, 100))
    plot.add_marker("error", 1, "It diverged", "error")
    plot.refresh()
    canvas = plot.findChild(QWidget, "canvas")
    assert canvas is not None
    edge = canvas.view.sceneBoundingRect().left()  # type: ignore[attr-defined]
    assert marker_place(plot, "error").x() - drawn_point(plot, "error").size() / 2 >= edge - 1
    line = plot._markers._markers["error"].line
    assert line is not None
    assert line.value() == 1
