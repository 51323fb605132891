"""Norms of layers as colors: thinned out without losing a spike, told cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from studio.charts.heat_bins import HeatBins
from studio.charts.heat_map import Heat, HeatMap
from studio.theme import theme


@pytest.mark.parametrize("at_once", [1, 2, 7, 1000])
def test_bins_are_the_largest_of_equally_many_rows_however_they_come(at_once: int) -> None:
    random = np.random.default_rng(0)
    values = random.lognormal(size=(1000, 3)).astype(np.float32)
    values[617, 1] = 1e6  # a spike
    values[100:110] = np.nan
    steps = np.arange(1, 1001) * 10
    bins = HeatBins(3, most=50)
    for first in range(0, 1000, at_once):
        bins.add(steps[first : first + at_once], values[first : first + at_once])
    per = 32  # the least power of two that makes no more than 50 bins of 1,000 rows
    assert len(bins.first) == 32
    assert bins.first.tolist() == [steps[first] for first in range(0, 1000, per)]
    assert bins.last.tolist() == [steps[min(first + per, 1000) - 1] for first in range(0, 1000, per)]
    wanted = np.stack([np.nanmax(values[first : first + per], axis=0) for first in range(0, 1000, per)])
    np.testing.assert_array_equal(bins.values, wanted)
    assert bins.values.max() == np.float32(1e6)


def heat() -> Heat:
    values = np.array([[1e-3, 1.0, 0.0], [1e-2, np.inf, np.nan]], np.float32)
    return Heat("gradient norm", ("first", "second", "third"), [1, 10], [1, 40], values)


def test_cells_tell_layer_step_and_value(qtbot: QtBot) -> None:
    chart = HeatMap()
    qtbot.addWidget(chart)
    chart.resize(600, chart.sizeHint().height())
    chart.show_heat(heat())
    chart.resize(600, chart.sizeHint().height())
    room = chart._room()

    def at(column: int, row: int) -> str:
        return chart.words_at(
            QPointF(room.left() + (column + 0.5) * room.width() / 2, room.top() + (row + 0.5) * room.height() / 3)
        )

    assert at(0, 0) == "first · step 1: gradient norm 1e-3"
    assert at(1, 0) == "first · steps 10 to 40, the largest: gradient norm 0.01"
    assert at(1, 1) == "second · steps 10 to 40, the largest: gradient norm was not finite"
    assert at(1, 2) == "third · steps 10 to 40, the largest: gradient norm is no number"
    assert chart.words_at(QPointF(1, 1)) == ""
    assert chart.accessibleName() == "Heat map: gradient norm of 3 layers, steps 1 to 40"


def test_colors_are_logarithmic_and_what_is_no_number_has_none_of_the_scale(qtbot: QtBot) -> None:
    chart = HeatMap()
    qtbot.addWidget(chart)
    chart.show_heat(heat())
    chart.resize(600, chart.sizeHint().height())
    image, room, palette = chart.grab().toImage(), chart._room(), theme().palette

    def color(column: int, row: int) -> str:
        x, y = room.left() + (column + 0.5) * room.width() / 2, room.top() + (row + 0.5) * room.height() / 3
        return image.pixelColor(round(x), round(y)).name()

    assert color(1, 1) == QColor(palette.danger).name()
    assert color(0, 2) == color(1, 2) == QColor(palette.sunken).name()
    assert color(0, 0) == "#440154"  # the lowest and the highest of viridis
    assert color(0, 1) == "#fde725"
    assert color(1, 0) not in (color(0, 0), color(0, 1))


def test_shares_go_from_none_to_all_and_the_usual_ones_are_marked_beside_the_scale(qtbot: QtBot) -> None:
    chart = HeatMap()
    qtbot.addWidget(chart)
    values = np.array([[0.0, 1.0]], np.float32)
    chart.show_heat(Heat("dead units", ("first", "second"), [1], [1], values, are_shares=True, usual=(0.0, 0.5)))
    chart.resize(600, chart.sizeHint().height())
    image, room = chart.grab().toImage(), chart._room()
    x = round(room.center().x())
    assert image.pixelColor(x, round(room.top() + room.height() / 4)).name() == "#440154"  # none is a share, too
    assert image.pixelColor(x, round(room.top() + room.height() * 3 / 4)).name() == "#fde725"
    assert chart.words_at(QPointF(x, room.bottom() - 3)) == "second · step 1: dead units 100.0%"
    beside = [
        image.pixelColor(round(room.right()) + 9, round(room.top() + room.height() * part)).name()
        for part in (0.25, 0.75)
    ]
    assert beside[1] == QColor(theme().palette.success).name() != beside[0]
