"""The Try it page asks the real engine about a trained model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.forms.consent_editor import ConsentDialog
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.tryit.page import TryItPage
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.window_driver import answer_next_dialog, open_window, press
from tests.training.catalog.task_samples import small
from training.config import RunConfig
from training.control import Command
from training.engine.runs.run import start_run
from training.export import export_checkpoint

pytestmark = pytest.mark.slow

PATIENCE = 60_000  # milliseconds: a busy machine may need them


def open_page(qtbot: QtBot, context: AppContext) -> tuple[MainWindow, TryItPage]:
    window = open_window(qtbot, context, "run/tryit")
    page = window.page("run/tryit")
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

    page.form.example.click()
    qtbot.waitUntil(page.form.truth.isVisible, timeout=PATIENCE)
    before = page.form.row()
    canvas = page.plane.plot.canvas
    page.plane.plot.window().activateWindow()
    at = canvas.mapFromScene(canvas.view.mapViewToScene(QPointF(3.0, -2.0)))
    qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=at)
    row = {name: float(text) for name, text in page.form.row().items()}
    assert page.form.row() != before
    assert row == pytest.approx({"x": 3.0, "y": -2.0}, abs=0.3)  # a place is a pixel
    assert not page.form.truth.isVisible()  # it is another row now
    field = page.form.findChild(QLineEdit)
    assert field is not None
    field.setText("far")
    qtbot.waitUntil(lambda: not page.answers.bars, timeout=PATIENCE)  # told instead of answered

    context.model_to_try.choose(newest["segmentation"])
    page.take_files([tmp_path / "segmentation" / "images"])  # let go while the model is loaded
    assert page.empty.accessibleName().endswith("Then it is asked about images.")
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
    # Nothing to go on with is told; of more than the model sees it is told what it does not.
    known = page.prompt.prompt.toPlainText()
    page.prompt.prompt.setPlainText("")
    page.prompt.go_on.click()
    qtbot.waitUntil(lambda: page.prompt.go_on.isEnabled(), timeout=PATIENCE)
    assert page.prompt.problem.text() or page.prompt.text.toPlainText()
    page.prompt.prompt.setPlainText(known * 500)
    page.prompt.go_on.click()
    qtbot.waitUntil(lambda: page.prompt.go_on.isEnabled(), timeout=PATIENCE)
    assert "more than the model sees" in page.prompt.state.text()

    page.prompt.count.setText("5000")
    page.prompt.go_on.click()
    qtbot.waitUntil(lambda: len(page.prompt.text.toPlainText()) > 20, timeout=PATIENCE)
    context.model_to_try.choose(newest["classification"])  # while the text is made
    qtbot.waitUntil(lambda: bool(page.answers.bars), timeout=PATIENCE)
    assert not page.prompt.isVisible()
    assert page.prompt.text.toPlainText() == ""
    page.take_files([tmp_path / "none.png"])  # no table
    qtbot.waitUntil(lambda: not page.answers.bars, timeout=PATIENCE)
    shutil.rmtree(newest["classification"].parent.parent)  # meanwhile
    page.form.fill({"x": "1"})
    qtbot.waitUntil(lambda: "cannot be read" in page.answers.state.text(), timeout=PATIENCE)


def test_it_answers_while_a_run_trains_and_asks_before_it_loads_a_program(
    qtbot: QtBot, make_context: Callable[..., AppContext], tiny: Callable[..., RunConfig], tmp_path: Path
) -> None:
    context = make_context()
    made = start_run(small("classification", tmp_path / "data"), context.workspace)
    export_checkpoint(Path(str(made.last_checkpoint)), "torch-export", tmp_path / "out")
    context.start_run(tiny(epochs=100_000))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=PATIENCE)
    window, page = open_page(qtbot, context)
    page.take_files([tmp_path])  # for the next model, which is refused
    context.model_to_try.choose(tmp_path / "out")
    qtbot.waitUntil(lambda: bool(page.model.refusal), timeout=PATIENCE)
    assert "a program of torch.export" in page.model.refusal
    shown = answer_next_dialog(qtbot, ConsentDialog, "Cancel")
    press(page, "Look at the code …")
    assert "Run the code in model.pt2?" in shown[0]
    answer_next_dialog(qtbot, ConsentDialog, "Trust and run")
    press(page, "Look at the code …")
    qtbot.waitUntil(lambda: bool(page.answers.bars), timeout=PATIENCE)
    assert not page.form.example.isVisible()  # an export knows no rows
    # A checkpoint of the very run is evaluated beside it, too.
    window.show_page("run/evaluate")
    evaluate = window.page("run/evaluate")
    assert isinstance(evaluate, EvaluatePage)
    qtbot.waitUntil(lambda: evaluate.choice.checkpoint is not None, timeout=PATIENCE)
    qtbot.mouseClick(evaluate.state.empty.button, Qt.MouseButton.LeftButton)
    assert evaluate.job.checkpoint is not None
    asked = evaluate.job.checkpoint.name
    qtbot.waitUntil(lambda: not evaluate.job.is_busy, timeout=PATIENCE)
    assert asked == f"step-{evaluate.choice.step:08d}", "it stays, though the run came to better ones, or deleted it"
    if not evaluate.job.problem:
        qtbot.waitUntil(lambda: evaluate.selection.evaluation is not None, timeout=PATIENCE)
    else:
        assert evaluate.state.empty.accessibleName().startswith("The evaluation was not made")
    newest = evaluate.choice.steps[0]
    qtbot.waitUntil(
        lambda: evaluate.choice.steps[0] > newest, timeout=PATIENCE
    )  # which the page lists as they are saved
    assert context.live.live  # it trains or validates
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: not context.live.live, timeout=PATIENCE)


def test_an_engine_inside_the_window_says_what_to_do_while_it_trains(
    qtbot: QtBot, make_context: Callable[..., AppContext], tiny: Callable[..., RunConfig], tmp_path: Path
) -> None:
    context = make_context(in_process=True)
    made = start_run(small("classification", tmp_path / "data"), context.workspace)
    context.start_run(tiny(epochs=100_000))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=PATIENCE)
    _window, page = open_page(qtbot, context)
    context.model_to_try.choose(Path(str(made.last_checkpoint)))
    assert "Wait until the run has ended" in page.model.refusal
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: not context.engine.training, timeout=PATIENCE)
    press(page, "Try again")
    qtbot.waitUntil(lambda: bool(page.answers.bars), timeout=PATIENCE)
