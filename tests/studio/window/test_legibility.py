"""On every page, in every theme: words that can be read against what they stand on, and nothing that is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QImage, QRegion
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QTableView, QWidget
from pytestqt.exceptions import TimeoutError
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from studio.theme import Mode, apply
from studio.widgets import ElidedLabel
from tests.studio.colors import TEXT, contrast
from tests.studio.every_page import fill_workspace, walk_pages
from tests.studio.keyboard_walk import describe
from tests.studio.window_driver import open_window
from training.config import RunConfig

pytestmark = pytest.mark.slow

MakeConfig = Callable[..., RunConfig]
_EDGE = 3  # pixels of a frame that are not looked at
_FINE = 3  # pixels of the image to one of the screen: thin strokes have none of their full color


@pytest.fixture
def dressed(qapp: QApplication) -> Iterator[Callable[..., None]]:
    """Has the program wear a theme for one test."""

    def dress(mode: Mode, scale: float = 1.0, high: bool = False) -> None:
        apply(qapp, mode, font_scale=scale, high_contrast=high)

    yield dress
    apply(qapp, "light")


@pytest.mark.parametrize("high", [False, True], ids=["usual", "high contrast"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_can_be_read_on_every_page(
    qtbot: QtBot, context: AppContext, config: MakeConfig, dressed: Callable[..., None], mode: Mode, high: bool
) -> None:
    context.settings.update(theme=mode, high_contrast=high)
    dressed(mode, high=high)
    window = open_window(qtbot, context)
    window.resize(1300, 900)  # the rail has its words there
    fill_workspace(qtbot, context, config)
    faults, looked = [], 0
    for place, shown in walk_pages(qtbot, context, window):
        pixels = _grab(shown)
        for words, room, widget in _list_words(shown):
            found = _measure_contrast(pixels, room)
            looked += 1
            if found < TEXT:
                faults.append(f"{place}: {found:.1f} for “{words}” of {describe(widget)}")
    assert not faults, "\n".join(faults)
    assert looked > 300


@pytest.mark.parametrize(("size", "scale"), [((900, 600), 1.0), ((1280, 800), 1.5)])
def test_nothing_is_cut_on_any_page(
    qtbot: QtBot,
    context: AppContext,
    config: MakeConfig,
    dressed: Callable[..., None],
    size: tuple[int, int],
    scale: float,
) -> None:
    context.settings.update(theme="light", text_size=round(100 * scale))
    dressed("light", scale)
    window = open_window(qtbot, context)
    window.resize(*size)
    fill_workspace(qtbot, context, config)
    for place, shown in walk_pages(qtbot, context, window):
        faults: list[str] = []

        def is_whole() -> bool:
            faults[:] = _list_cut(shown)  # noqa: B023 - now
            return not faults  # noqa: B023

        try:
            qtbot.waitUntil(is_whole, timeout=5000)  # words that change move the rest a moment later
        except TimeoutError:
            raise AssertionError("\n".join([place, *faults])) from None


def _grab(window: QWidget) -> NDArray[np.uint8]:
    """(_FINE * height, _FINE * width, 3)"""
    image = QImage(window.size() * _FINE, QImage.Format.Format_RGB888)
    image.setDevicePixelRatio(_FINE)
    window.render(image)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def _measure_contrast(pixels: NDArray[np.uint8], room: QRect) -> float:
    """The highest of what is painted in ``room`` against its ground, which is the color that most of it has."""
    left, top, right, bottom = (_FINE * value for value in (room.left(), room.top(), room.right(), room.bottom()))
    part = pixels[top:bottom, left:right].astype(np.uint32)
    colors, counts = np.unique(part[..., 0] << 16 | part[..., 1] << 8 | part[..., 2], return_counts=True)
    ground = int(colors[np.argmax(counts)])
    return max((_contrast(int(color), ground) for color in colors if color != ground), default=21.0)


@cache
def _contrast(color: int, ground: int) -> float:
    return contrast(f"#{color:06x}", f"#{ground:06x}")


def _list_words(window: QWidget) -> Iterator[tuple[str, QRect, QWidget]]:
    """Words that are in sight and not disabled, where they stand in ``window``, and whose they are."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or not widget.isEnabled():
            continue
        if isinstance(widget, (QLabel, QAbstractButton, QLineEdit, QComboBox)):
            words = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
            if words.strip():
                yield from _find_room(words, widget.rect(), widget, window)
        elif isinstance(widget, QTableView):
            yield from _list_cells(widget, window)


def _list_cells(table: QTableView, window: QWidget) -> Iterator[tuple[str, QRect, QWidget]]:
    model = table.model()
    for row in range(model.rowCount()):
        for column in range(model.columnCount()):
            index = model.index(row, column)
            if (words := index.data()) and not table.isColumnHidden(column):
                yield from _find_room(str(words), table.visualRect(index), table.viewport(), window)


def _find_room(words: str, room: QRect, widget: QWidget, window: QWidget) -> Iterator[tuple[str, QRect, QWidget]]:
    room = room.adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
    if room.height() > 8 and room.width() > 8 and QRegion(room).subtracted(widget.visibleRegion()).isEmpty():
        yield words[:40], QRect(widget.mapTo(window, QPoint()) + room.topLeft(), room.size()), widget


def _list_cut(window: QWidget) -> Iterator[str]:
    """What has less room than it needs."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty() or isinstance(widget.parent(), QLineEdit):
            continue
        if not isinstance(widget, (QLabel, QAbstractButton, QComboBox)) or isinstance(widget, ElidedLabel):
            continue
        if isinstance(widget, QLabel) and not widget.text().strip():
            continue
        size = widget.size()
        need = widget.minimumSizeHint() if isinstance(widget, QComboBox) else widget.sizeHint()
        if widget.hasHeightForWidth():  # lines that break
            need = QSize(size.width(), widget.heightForWidth(size.width()))
        is_cut = size.width() + 1 < need.width() or size.height() + 1 < need.height()
        if is_cut:
            yield f"{size.toTuple()} of {need.toTuple()} for {describe(widget)}"
