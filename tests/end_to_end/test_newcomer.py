"""A newcomer's way through the window, every press of the mouse counted: from a folder with wrong labels to a run without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pytestqt.qtbot import QtBot
from safetensors.numpy import load_file

from studio.actions.question import Question
from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.views import fold_runs
from studio.state.context import AppContext
from tests.end_to_end.mouse import PATIENCE, Mouse
from tests.end_to_end.steps import ended
from tests.studio.window_driver import answer_next_dialog, carry, drag, let_go, open_window, overlay, run_page
from training.exclude_list import read_exclude_list
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CLASSES = ("blue", "green", "red")
OF_A_CLASS = 60
EVERY_WRONG = 4  # every 4th training image lies in the folder of another class


def make_images(folder: Path) -> set[str]:
    """Noisy images with more or less of one color each, in a folder a class; the names of those to train on that were put into
    another one. Those to validate on are all in their own."""
    rng = np.random.default_rng(7)
    wrong = set()
    for part, of_a_class in (("train", OF_A_CLASS), ("val", OF_A_CLASS * 2 // 3)):
        for number in range(of_a_class * len(CLASSES)):
            true = given = number % len(CLASSES)
            if part == "train" and number % EVERY_WRONG == 1:
                given = (true + 1) % len(CLASSES)
            pixels = rng.integers(0, 120, (16, 16, 3), dtype=np.uint8)
            pixels[..., 2 - true] += np.uint8(rng.integers(5, 40))
            path = folder / part / CLASSES[given] / f"{CLASSES[true]}-{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
            if given != true:
                wrong.add(path.name)
    return wrong


def test_from_wrong_labels_to_a_better_run_without_them_in_one_drop_and_ten_clicks(
    qtbot: QtBot,
    make_context: Callable[..., AppContext],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """One drop; Start training; Evaluate; the tab of labels; Examine the training part; Start; Look at them; Tick all; Put on exclude
    list; where to; Start over without them. Both runs are judged by the same images, all of whose labels are right."""
    monkeypatch.setattr(fold_runs, "USUAL", 3)  # of five the last two show nothing more
    wrong = make_images(tmp_path / "colors")
    context, mouse = make_context(), Mouse(qtbot)
    window = open_window(qtbot, context, "setup")

    dropped = carry(tmp_path / "colors")
    drag(window, dropped)
    let_go(overlay(window), dropped)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder", timeout=PATIENCE)
    for setting, value in (("loop.epochs", 5), ("loop.batch_size", 16)):  # a run of moments
        context.draft.set(setting, value)
    mouse.press(window, "Start training")
    first = ended(qtbot, context, RunState.COMPLETED)
    checkpoints = run_page(window).checkpoints
    qtbot.waitUntil(checkpoints.evaluate.isEnabled, timeout=PATIENCE)
    mouse.click(checkpoints.evaluate)
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None, timeout=PATIENCE)

    mouse.click(page.stage.tabs.buttons["Labels"])
    asked = answer_next_dialog(qtbot, Question, "Start")
    mouse.press(page, "Examine the training part")
    mouse.clicks += 1  # the answer
    assert "3 runs of" in asked[0]
    qtbot.waitUntil(lambda: not context.labels.is_busy, timeout=10 * PATIENCE)
    assert context.labels.problem == ""
    mouse.press(page, "Look at them")
    qtbot.waitUntil(lambda: _shows(page, "train"), timeout=PATIENCE)
    mouse.press(page, "Tick all")
    asked = answer_next_dialog(qtbot, Question, "Put it there")
    mouse.press(page, "Put ")
    mouse.clicks += 1  # the answer
    assert "Where should the exclude list be?" in asked[0]
    mouse.press(page, "Start over without them")
    qtbot.waitUntil(lambda: context.live.folder not in (None, first), timeout=PATIENCE)
    second = ended(qtbot, context, RunState.COMPLETED)

    record_property("clicks", mouse.clicks)  # a figure of the report
    assert mouse.clicks == 10
    left_out = {Path(name).name for name in read_exclude_list(second.exclude_file).values()}
    assert len(left_out & wrong) > 0.8 * len(wrong)
    assert len(left_out - wrong) < 0.2 * len(left_out)
    assert second.status().parent is None  # no weights that have learned from them
    judged = [load_file(run.splits_file)["validation"] for run in (first, second)]
    assert np.array_equal(judged[0], judged[1])
    assert _best_accuracy(second) > _best_accuracy(first) + 0.02


def _shows(page: EvaluatePage, on: str) -> bool:
    evaluation = page.selection.evaluation
    return evaluation is not None and evaluation.record.on == on


def _best_accuracy(run: RunFolder) -> float:
    return max(each.metrics["val/accuracy"] for each in list_checkpoints(run))
