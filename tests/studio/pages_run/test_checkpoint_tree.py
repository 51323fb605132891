"""The tab Checkpoints: branches hang below the checkpoint they begin at, and a checkpoint that is deleted comes back by Undo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.state.context import AppContext
from tests.studio.window_driver import open_window, press, run_page
from training.config import RunConfig
from training.runs.folder import create_run
from training.runs.records.forms import Parent


def test_branches_are_opened_from_the_tree_and_a_checkpoint_is_deleted_and_comes_back(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    context.start_run(config("trunk"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    trunk = context.live.folder
    assert trunk is not None
    branch = create_run(
        context.workspace, config("twig"), Parent(run=trunk.id, checkpoint=str(trunk.checkpoints / "step-00000020"))
    )
    branch.write_status(branch.status().model_copy(update={"status": "stopped"}))
    context.library.refresh()
    page.show_tab("checkpoints")
    panel = page.checkpoints
    model = panel.model

    def words() -> list[str]:
        return [model.index(row).data().partition(",")[0] for row in range(model.rowCount())]

    whole = ["Step 40", "Step 20", "Branch “twig” at step 20"]
    qtbot.waitUntil(lambda: words() == whole)
    panel.choose("step-00000020")
    QTest.keyClick(panel.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: words() == ["Step 40", "Branch “twig” at step 20"])
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: words() == whole)
    panel.view.activated.emit(model.index(2))
    assert context.shown.run.folder == branch
    qtbot.waitUntil(lambda: words() == ["Branched from “trunk” at step 20"])
