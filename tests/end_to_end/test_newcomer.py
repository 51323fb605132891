"""A newcomer's way through the window, every press of the mouse counted: from a folder with wrong labels to a run without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.actions.question import Question
from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.state.context import AppContext
from tests.end_to_end.steps import ended
from tests.studio.window_driver import answer_next_dialog, carry, drag, let_go, open_window, overlay, run_page
from training.exclude_list import read_exclude_list
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

pytestmark = pytest.mark.slow

PATIENCE = 60_000  # milliseconds: a busy machine may need them
CLASSES = ("blue", "green", "red")
OF_A_CLASS = 60
EVERY_WRONG = 13  # every 13th image lies in the folder of another class


class Mouse:
    """Presses buttons as a person does, and counts."""

    def __init__(self, qtbot: QtBot) -> None:
        self.clicks = 0
        self._qtbot = qtbot

    def press(self, parent: QWidget, text: str) -> None:
        """The visible button whose text begins with ``text``, once it can be pressed."""

        def find() -> QPushButton | None:
            for each in parent.findChildren(QPushButton):
                if each.text().startswith(text) and each.isVisible() and each.isEnabled():
                    return each
            return None

        self._qtbot.waitUntil(lambda: find() is not None, timeout=PATIENCE)
        found = find()
        assert found is not None
        self.click(found)

    def click(self, widget: QWidget) -> None:
        self.clicks += 1
        self._qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def make_images(folder: Path) -> set[str]:
    """Noisy images of one color each, in a folder a class; the names of those that were put into another one."""
    rng = np.random.default_rng(7)
    wrong = set()
    for number in range(OF_A_CLASS * len(CLASSES)):
        true = given = number % len(CLASSES)
        if number % EVERY_WRONG == 5:
            given = (true + 1) % len(CLASSES)
        pixels = rng.integers(0, 120, (16, 16, 3), dtype=np.uint8)
        pixels[..., 2 - true] += 100
        path = folder / CLASSES[given] / f"{CLASSES[true]}-{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        if given != true:
            wrong.add(path.name)
    return wrong


def test_from_wrong_labels_to_a_run_without_them_in_one_drop_and_seven_clicks(
    qtbot: QtBot,
    make_context: Callable[..., AppContext],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """One drop; Start training; Evaluate; Tick all; Put on exclude list; where to; Branch without them; Start branch."""
    wrong = make_images(tmp_path / "colors")
    context, mouse = make_context(), Mouse(qtbot)
    window = open_window(qtbot, context, "setup")

    dropped = carry(tmp_path / "colors")
    drag(window, dropped)
    let_go(overlay(window), dropped)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder", timeout=PATIENCE)
    for setting, value in (("loop.epochs", 4), ("loop.batch_size", 16)):  # a run of moments
        context.draft.set(setting, value)
    mouse.press(window, "Start training")
    first = ended(qtbot, context, RunState.COMPLETED)
    checkpoints = run_page(window).checkpoints
    qtbot.waitUntil(checkpoints.evaluate.isEnabled, timeout=PATIENCE)
    mouse.click(checkpoints.evaluate)
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None, timeout=PATIENCE)
    evaluation = page.selection.evaluation
    assert evaluation is not None

    worst = [Path(str(evaluation.names[row])).name for row in page.samples.table.rows.tolist()]
    held_out = wrong & set(worst)
    assert held_out
    assert set(worst[: len(held_out)]) == held_out  # the page begins with them

    mouse.press(page, "Tick all")
    asked = answer_next_dialog(qtbot, Question, "Put it there")
    mouse.press(page, "Put ")
    mouse.clicks += 1  # the answer
    assert "Where should the exclude list be?" in asked[0]
    mouse.press(page, "Branch without them")
    mouse.press(window, "Start branch")
    qtbot.waitUntil(lambda: context.live.folder not in (None, first), timeout=PATIENCE)
    second = ended(qtbot, context, RunState.COMPLETED)

    record_property("clicks", mouse.clicks)  # a figure of the report
    assert mouse.clicks == 7
    left_out = {Path(name).name for name in read_exclude_list(second.exclude_file).values()}
    assert left_out == held_out
    assert _best_accuracy(second) > _best_accuracy(first)  # no right answer counts as a mistake any more


def _best_accuracy(run: RunFolder) -> float:
    return max(each.metrics["val/accuracy"] for each in list_checkpoints(run))
