"""Garbage is collected in the window's thread alone, and charts leave no widget in it."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from studio.charts.plots.curve_plot import CurvePlot
from studio.services.garbage import GarbageCollector


class Cycle:
    """Holds itself."""

    def __init__(self) -> None:
        self.held = self


def test_another_thread_collects_nothing_and_the_windows_does(qtbot: QtBot) -> None:
    collector = GarbageCollector()
    gone = weakref.ref(Cycle())
    made: list[list[int]] = []
    worker = threading.Thread(target=lambda: made.extend([] for _ in range(10 * gc.get_threshold()[0])))
    worker.start()
    worker.join()
    assert gone() is not None
    collector.collect()
    assert gone() is None


def test_a_chart_that_is_deleted_leaves_no_menus_to_be_collected(qtbot: QtBot) -> None:
    """A thread that collected them while a window was dressed ended the process."""
    there = _count_menus()
    plot = CurvePlot("Loss")
    plot.add_curve("a")
    delete(plot)
    assert _count_menus() == there


def _count_menus() -> int:
    return sum(isinstance(widget, QMenu) for widget in QApplication.allWidgets())
