"""The tab Checkpoints: what began at a checkpoint hangs below it, with checkpoints of its own; the menu does what the buttons do, and a
checkpoint that is deleted comes back by Undo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.panels.checkpoints.checkpoint_panel import CheckpointPanel
from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import READING
from tests.studio.window_driver import open_window, press, run_page
from training.config import RunConfig
from training.runs.folder import RunFolder, create_run
from training.runs.records.forms import Parent


def outline(panel: CheckpointPanel, index: QModelIndex | None = None, depth: int = 0) -> list[str]:
    """The rows, indented."""
    index = index or QModelIndex()
    rows = [panel.model.index(row, 0, index) for row in range(panel.model.rowCount(index))]
    found = []
    for row in rows:
        found += [". " * depth + str(row.data()).partition(",")[0], *outline(panel, row, depth + 1)]
    return found


def enabled(panel: CheckpointPanel) -> dict[str, bool]:
    """The entries of the menu of the selected row."""
    return {action.text(): action.isEnabled() for action in panel.make_menu().actions()}


def make_branch(context: AppContext, config: RunConfig, trunk: RunFolder, step: int) -> RunFolder:
    name = f"step-{step:08d}"
    branch = create_run(context.workspace, config, Parent(run=trunk.id, checkpoint=str(trunk.checkpoints / name)))
    branch.write_status(branch.status().model_copy(update={"status": "stopped"}))
    return branch


def test_branches_hang_below_their_checkpoint_with_their_own_and_a_checkpoint_that_is_deleted_comes_back(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    panel, model = page.checkpoints, page.checkpoints.model
    context.start_run(config("trunk"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    trunk = context.live.folder
    assert trunk is not None
    twig = make_branch(context, config("twig"), trunk, 20)
    leaf = make_branch(context, config("leaf"), twig, 10)
    context.library.refresh()
    page.show_tab("checkpoints")
    whole = ["Step 40", "Step 20", ". Branch “twig” at step 20"]
    qtbot.waitUntil(lambda: outline(panel) == whole)
    panel.choose("step-00000020")
    assert list(enabled(panel)) == [
        "Resume from step 20", "Branch from step 20", "Evaluate", "Try it", "Export step 20", "Show in folder", "Delete",
    ]  # fmt: skip
    assert all(enabled(panel).values())
    QTest.keyClick(panel.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: outline(panel) == ["Step 40", "Branch “twig” at step 20"])
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: outline(panel) == whole)

    branch = model.index(0, 0, model.find_checkpoint("step-00000020"))
    panel.view.setCurrentIndex(branch)
    assert enabled(panel) == {"Open this run": True, "Show in folder": True}
    assert not panel.branch.isEnabled()
    QTest.keyClick(panel.view, Qt.Key.Key_Right)  # only now is it read
    assert outline(panel) == [*whole, f". . {READING}", ". . Branch “leaf” at step 10"]
    qtbot.waitUntil(lambda: outline(panel) == [*whole, ". . No checkpoint was saved.", ". . Branch “leaf” at step 10"])
    assert model.find_key(panel._picked) == branch  # the person's choice stays while the tree grows

    QTest.keyClick(panel.view, Qt.Key.Key_Return)
    assert context.shown.run.folder == twig
    above = "Branched from “trunk” at step 20"
    qtbot.waitUntil(lambda: outline(panel) == [above, ". No checkpoint was saved.", ". Branch “leaf” at step 10"])
    panel.view.setCurrentIndex(model.index(1, 0, model.index(0)))
    QTest.keyClick(panel.view, Qt.Key.Key_Return)
    assert context.shown.run.folder == leaf
    qtbot.waitUntil(lambda: outline(panel) == ["Branched from “twig” at step 10", ". No checkpoint was saved."])
