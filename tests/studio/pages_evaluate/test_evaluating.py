"""Checkpoints are evaluated from the window, on the data of their run and on other data, and images are shown."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.actions.runs import delete_run
from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.sample_dialog import SampleDialog
from studio.state.context import AppContext
from tests.evaluations import make_classes, write_evaluation
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_evaluate.page_driver import NAMES, MakeConfig, open_page
from tests.studio.window_driver import open_window, run_page
from training.runs.folder import RunFolder


def test_files_dropped_before_there_is_a_checkpoint_are_answered(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    page = open_window(qtbot, context, "run/evaluate").page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    heard: list[str] = []
    context.notifier.notified.connect(lambda notice: heard.append(f"{notice.title}. {notice.text}"))
    page.take_files([tmp_path])
    assert heard[0].startswith("Choose a checkpoint first. ")
    assert "Setup" in heard[0]
    assert page.choice.on == "validation"


def test_a_checkpoint_is_evaluated_from_its_list_and_its_images_are_seen(
    qtbot: QtBot, context: AppContext, config: MakeConfig, tmp_path: Path
) -> None:
    window = open_window(qtbot, context)
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    listed = run_page(window).checkpoints
    qtbot.waitUntil(lambda: len(listed.list.checkpoints) == 2)
    chosen = listed.list.checkpoints[1]
    listed.choose(chosen.name)
    qtbot.mouseClick(listed.evaluate, Qt.MouseButton.LeftButton)  # which evaluates what was not yet
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    # Its files may be seen before the engine says that it is done, and one at a time is made.
    qtbot.waitUntil(lambda: page.selection.evaluation is not None and not page.job.is_busy)
    # Other data, by its path, which does not fit.
    page.take_files([tmp_path / "birds"])
    assert page.header.data.currentText() == "birds"
    qtbot.waitUntil(lambda: "has the class 'emu'" in page.state.empty.accessibleName())
    # What takes too long is canceled, and another one is made.
    page.choice.choose_data("train")
    assert f"step {chosen.step:,} has not been evaluated on the training part" in page.state.empty.accessibleName()
    qtbot.mouseClick(page.state.empty.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "30 of 60" in page.state.progress.accessibleName())
    qtbot.mouseClick(page.state.cancel, Qt.MouseButton.LeftButton)
    assert page.state.empty.accessibleName().startswith("Not evaluated yet")
    page.choice.choose_data("validation")
    evaluation = page.selection.evaluation
    assert evaluation is not None
    assert evaluation.record.step == chosen.step
    panel = page.samples
    first = int(panel.table.rows[0])  # the number of the sample as well
    qtbot.waitUntil(lambda: panel.images.find(first) is not None)
    assert panel.find_thumbnail(0).image.pixelColor(0, 0).red() == first
    panel.grid.setFocus()
    panel.grid.choose(0)
    qtbot.keyClick(panel.grid, Qt.Key.Key_Return)
    dialog = panel.findChild(SampleDialog)
    assert dialog is not None
    wait_for_soundness(qtbot, dialog)
    qtbot.keyClick(dialog.view, Qt.Key.Key_Right)
    assert dialog.place.text() == "2 of 60"
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert panel.grid.find_place() == 1


def test_images_of_other_data_are_seen_and_a_deleted_run_is_let_go_of(
    qtbot: QtBot, context: AppContext, run: RunFolder, tmp_path: Path
) -> None:
    data = tmp_path / "photos"
    data.mkdir()
    names = [f"{number}.png" for number in range(40)]
    (data / "3.png").write_bytes(b"")
    write_evaluation(run.path, make_classes(40, 3), NAMES, names, on=str(data), layout="image")
    page = open_page(qtbot, context)
    assert [page.header.data.itemText(at) for at in range(page.header.data.count())][-1] == "photos"
    page.choice.choose_data(str(data))
    panel = page.samples
    place = panel.table.find_place(3)
    assert place is not None
    panel.grid.choose(place)
    page.grab()
    qtbot.waitUntil(lambda: panel.images.find(3) is not None)
    image = panel.images.find(3)
    assert image is not None
    assert image.pixelColor(0, 0).red() == 3
    assert panel.find_enlarged(panel.table.find_place(3) or 0).file == data / "3.png"
    delete_run(context, run)
    qtbot.waitUntil(lambda: not run.path.exists())
    assert page.choice.folder is None
    assert not page.views
    qtbot.waitUntil(lambda: page.state.empty.accessibleName().startswith("No runs yet"))
