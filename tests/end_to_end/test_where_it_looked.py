"""Where a network looked, asked of the real engine on the Evaluate page and on the Try it page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.sample_dialog import SampleDialog
from studio.pages.tryit.page import TryItPage
from studio.state.context import AppContext
from tests.studio.window_driver import open_window
from training.config import RunConfig
from training.engine.runs.run import start_run
from training.evaluation import evaluate_checkpoint
from training.runs.folder import RunFolder

pytestmark = pytest.mark.slow

PATIENCE = 60_000  # milliseconds: a busy machine may need them


def test_a_sample_shows_where_the_network_looked(
    qtbot: QtBot, make_context: Callable[..., AppContext], tiny: Callable[..., RunConfig], tmp_path: Path
) -> None:
    context = make_context()
    run = Path(start_run(tiny(6), context.workspace).folder)
    checkpoint = sorted(run.glob("checkpoints/step-*"))[-1]
    step = evaluate_checkpoint(checkpoint).record.step
    window = open_window(qtbot, context, "run/evaluate")
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    page.choice.choose_run(RunFolder(run), step)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None, timeout=PATIENCE)
    page.samples.enlarge(0)
    dialog = page.samples.findChild(SampleDialog)
    assert dialog is not None
    plain = dialog.view.grab().toImage()
    dialog.bar.switch.click()
    qtbot.waitUntil(lambda: dialog.view.has_overlay, timeout=PATIENCE)
    warm = dialog.view.grab().toImage()
    assert warm != plain
    answered = dialog.bar.words.text()
    evaluation = page.selection.evaluation
    assert evaluation is not None
    row = int(page.samples.table.rows[0])
    names = evaluation.record.names
    assert names[int(evaluation.column("prediction")[row])] in answered
    other = int(evaluation.column("target")[row])  # the worst sample is answered wrongly
    dialog.bar.output.setCurrentIndex(other + 1)
    dialog.bar.output.activated.emit(other + 1)
    assert dialog.bar.words.text() == "Asking the network …"
    qtbot.waitUntil(lambda: names[other] in dialog.bar.words.text(), timeout=PATIENCE)
    qtbot.keyClick(dialog.view, Qt.Key.Key_Right)
    assert not dialog.view.has_overlay  # not that of another sample
    qtbot.waitUntil(lambda: dialog.view.has_overlay, timeout=PATIENCE)
    dialog.bar.opacity.setValue(0)
    dialog.bar.switch.click()
    assert not dialog.view.has_overlay
    dialog.reject()

    for number in range(2):
        image = QImage(40, 40, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.darkBlue if number else Qt.GlobalColor.red)
        assert image.save(str(tmp_path / f"{number}.png"))
    window.show_page("run/tryit")
    asked = window.page("run/tryit")
    assert isinstance(asked, TryItPage)
    qtbot.waitUntil(lambda: asked.model.description is not None, timeout=PATIENCE)
    asked.take_files([tmp_path])
    qtbot.waitUntil(lambda: len(asked.answers.images) >= 2, timeout=PATIENCE)
    asked.answers.attention.switch.click()
    qtbot.waitUntil(lambda: all(each.is_covered for each in asked.answers.images), timeout=PATIENCE)
    asked.answers.attention.switch.click()
    assert not any(each.is_covered for each in asked.answers.images)
