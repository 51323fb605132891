"""The Try it page asks the real engine about a trained model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.pages.tryit.page import TryItPage
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.window_driver import open_window
from tests.training.catalog.task_samples import small
from training.engine.runs.run import start_run

pytestmark = pytest.mark.slow

PATIENCE = 60_000  # milliseconds: a busy machine may need them


def open_page(qtbot: QtBot, context: AppContext) -> tuple[MainWindow, TryItPage]:
    window = open_window(qtbot, context, "tryit")
    page = window.page("tryit")
    assert isinstance(page, TryItPage)
    return window, page


def test_the_newest_run_answers_rows_images_and_prompts(
    qtbot: QtBot,
    make_context: Callable[..., AppContext],
    tmp_path: Path,
) -> None:
    context = make_context()
    records = {
        kind: start_run(small(kind, tmp_path / kind), context.workspace)
        for kind in ("segmentation", "language_model", "classification")
    }
    newest = {kind: sorted(Path(record.folder).glob("checkpoints/step-*"))[-1] for kind, record in records.items()}
    _window, page = open_page(qtbot, context)
    qtbot.waitUntil(lambda: page.model.description is not None, timeout=PATIENCE)
    assert context.model_to_try.path == newest["classification"]  # trained last
    qtbot.waitUntil(lambda: bool(page.answers.bars), timeout=PATIENCE)

    before = page.form.row()
    page.plane.point_chosen.emit(3.0, -2.0)
    assert page.form.row() == {"x": "3", "y": "-2"} != before
    field = page.form.findChild(QLineEdit)
    assert field is not None
    field.setText("far")
    qtbot.waitUntil(lambda: not page.answers.bars, timeout=PATIENCE)  # told instead of answered

    context.model_to_try.choose(newest["segmentation"])
    qtbot.waitUntil(lambda: page.images.isVisible(), timeout=PATIENCE)
    page.take_files([tmp_path / "segmentation" / "images"])
    qtbot.waitUntil(lambda: bool(page.answers.images), timeout=PATIENCE)
    assert page.answers.opacity.isVisible()

    context.model_to_try.choose(newest["language_model"])
    qtbot.waitUntil(lambda: page.prompt.isVisible(), timeout=PATIENCE)
    page.prompt.count.setText("20")
    page.prompt.go_on.click()
    page.prompt.stop.click()
    assert page.prompt.go_on.isEnabled()
    page.prompt.go_on.click()
    qtbot.waitUntil(lambda: page.prompt.go_on.isEnabled(), timeout=PATIENCE)
    assert page.prompt.text.toPlainText().startswith(page.prompt.prompt.toPlainText())
    assert len(page.prompt.text.toPlainText()) >= 20
