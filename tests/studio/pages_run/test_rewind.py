"""Going on from an older checkpoint through the window: asked first, set aside, drawn faded, brought back, cleared away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from studio.actions.runs import BRANCH, HERE
from studio.charts.metrics_board import MetricsBoard
from studio.engine.state import RunState
from studio.pages.run.page import RunPage
from studio.panels.checkpoints.set_aside_rows import SetAsideRows
from studio.panels.run_curves import RunCurves
from studio.state.context import AppContext
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_question, open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.runs.folder import RunFolder, claim, release
from training.runs.records.forms import Parent
from training.runs.records.manifest import checkpoint_name, write_labels
from training.runs.relocation import remember
from training.runs.rewind import look_beyond, rewind

MakeConfig = Callable[..., RunConfig]
QUANTITIES = ("loss", "lr", "grad_norm", "metric")


def click(qtbot: QtBot, page: RunPage, button: QAbstractButton) -> None:
    page.show_tab("checkpoints")
    qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def whole_run(qtbot: QtBot, context: AppContext, config: RunConfig) -> Path:
    """A run of three epochs, complete at step 60."""
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    assert context.live.folder is not None
    return context.live.folder.path


def stopped_beyond(qtbot: QtBot, context: AppContext, page: RunPage, step: int) -> int:
    """Wait until the run trains and has come there, and stop it; returns where it stands."""
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING and context.live.progress.step >= step)
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.start_problem())
    return live_steps(page.charts.curves)[-1]


def attempts(context: AppContext) -> list[int]:
    """The steps at which those that the window knows of began."""
    assert context.live.history is not None
    return [event.step for event in context.live.history.attempts]


def go_back(qtbot: QtBot, page: RunPage, step: int, answer: str) -> list[str]:
    page.checkpoints.refresh()
    qtbot.waitUntil(lambda: page.checkpoints.model.find_checkpoint(f"step-{step:08d}").isValid())
    page.checkpoints.choose(f"step-{step:08d}")
    asked = answer_next_question(qtbot, answer)
    resume = page.checkpoints.resume
    qtbot.waitUntil(lambda: resume.selected.isEnabled() and resume.more.isEnabled())
    resume.selected.trigger()
    return asked


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def live_steps(curves: RunCurves) -> list[int]:
    return [int(x) for x in curves.board.plot("loss")._curves["train/loss"].series.raw.x]


def faded_steps(board: MetricsBoard, quantity: str) -> list[list[int]]:
    """The steps of each curve in that plot that is faded and holds something."""
    faded = [curve.series for curve in board.plot(quantity)._curves.values() if curve.is_faded and len(curve.series)]
    return [[int(x) for x in series.raw.x] for series in faded]


def said(lines: SetAsideRows) -> list[str]:
    return [label.text() for row in lines.rows() for label in row.findChildren(QLabel)]


def test_what_lies_beyond_is_set_aside_brought_back_and_cleared_away(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    lines, board = page.checkpoints.set_aside, page.charts.curves.board
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    first = stopped_beyond(qtbot, context, page, 45)
    assert context.live.folder is not None
    folder = context.live.folder.path
    before = contents(folder)
    assert go_back(qtbot, page, 20, "Cancel") == [f"Go back to step 20 of {first}?"]
    assert contents(folder) == before

    go_back(qtbot, page, 20, HERE)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING and bool(lines.stretches))
    validated = [20, *range(40, first + 1, 20)]
    assert [faded_steps(board, quantity)[0] for quantity in QUANTITIES] == [list(range(20, first + 1))] * 3 + [
        validated
    ]
    assert faded_steps(board, "loss")[1] == validated
    (row,) = lines.rows()
    page.show_tab("checkpoints")
    qtbot.waitUntil(lambda: row.height() >= row.sizeHint().height())  # its buttons are seen whole
    for made, name in ((row.restore, f"Restore steps 21 to {first}"), (row.clear, f"Clear away steps 21 to {first}")):
        assert made.accessibleName() == name
        assert not made.isEnabled()
        assert made.toolTip() == "The run is being trained. Stop it first, or wait for its end."
    second = stopped_beyond(qtbot, context, page, 21)
    saved = [*range(20, second, 20), second]
    qtbot.waitUntil(lambda: [info.step for info in page.checkpoints.list.checkpoints][::-1] == saved)
    newest = second // 20 * 20
    assert page.charts.numbers.quality.value() == f"{1 - 1 / (newest + 1):.2%}"
    assert page.charts.numbers.quality._delta.text() == "best of the run"
    held = len({*range(40, first, 20), first})
    assert said(lines)[0].startswith(f"Steps 21 to {first} set aside · {held} checkpoints · ")

    click(qtbot, page, row.restore)
    qtbot.waitUntil(lambda: live_steps(page.charts.curves) == list(range(1, first + 1)))
    qtbot.waitUntil(lambda: faded_steps(board, "lr") == [list(range(20, second + 1))])
    assert attempts(context) == [0]
    del before["commands.jsonl"]  # what was asked of it since
    assert before.items() <= contents(folder).items()  # to the bit
    click(qtbot, page, lines.rows()[0].restore)  # undone
    qtbot.waitUntil(lambda: live_steps(page.charts.curves) == list(range(1, second + 1)))
    qtbot.waitUntil(lambda: faded_steps(board, "lr") == [list(range(20, first + 1))])
    assert attempts(context) == [0, 20]

    click(qtbot, page, page.checkpoints.resume.main)  # from the last one: at once, and what is set aside stays so
    third = stopped_beyond(qtbot, context, page, second + 1)
    assert live_steps(page.charts.curves) == list(range(1, third + 1))
    assert faded_steps(board, "lr") == [list(range(20, first + 1))]
    set_aside = contents(folder / "set_aside")
    click(qtbot, page, lines.rows()[0].clear)
    qtbot.waitUntil(lambda: not lines.stretches)
    assert not (folder / "set_aside").exists()
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: len(lines.stretches) == 1)
    assert contents(folder / "set_aside") == set_aside
    click(qtbot, page, lines.rows()[0].clear)
    qtbot.waitUntil(lambda: not lines.stretches)
    assert not lines.rows()
    assert faded_steps(board, "loss") == []
    assert not (folder / "set_aside").exists()


def test_a_branch_keeps_everything(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    folder = whole_run(qtbot, context, config(epochs=3))
    remember(RunFolder(folder), {"precision.threads": 1})  # as a resume on this machine was told
    before = contents(folder)
    go_back(qtbot, page, 40, BRANCH)
    qtbot.waitUntil(lambda: context.live.folder is not None and context.live.folder.path != folder)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    assert context.live.folder is not None
    assert context.live.folder.status().parent == Parent(run=folder.name)
    assert context.live.folder.config().precision.threads == 1
    assert contents(folder) == before
    assert not page.checkpoints.set_aside.rows()


def test_a_run_on_the_runs_page_is_brought_back_there(
    qtbot: QtBot, context: AppContext, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = whole_run(qtbot, context, config(epochs=3))
    run = context.live.folder
    assert run is not None
    for step in (40, 20):  # twice, as another program may
        beyond = look_beyond(run, run.checkpoints / f"step-{step:08d}")
        assert beyond is not None
        claim(run.path)
        rewind(run, beyond)
        release(run.path)
    context.live.detach()
    page = run_page(open_window(qtbot, context))
    context.open_run(folder, "checkpoints")
    curves, lines = page.charts.curves, page.checkpoints.set_aside
    board = curves.board
    qtbot.waitUntil(lambda: len(lines.stretches) == 2 and live_steps(curves) == list(range(1, 21)))
    assert faded_steps(board, "lr") == [list(range(20, 41)), list(range(40, 61))]
    assert [text.rpartition(" · ")[0] for text in said(lines)] == [
        "Steps 21 to 40 set aside · 1 checkpoint",
        "Steps 41 to 60 set aside · 1 checkpoint",
    ]
    assert board.plot("lr")._legend._entries["lr 0"].accessibleName() == "Before rewind"
    click(qtbot, page, lines.rows()[1].restore)
    assert page.checkpoints.view.hasFocus()  # and no other part of the window
    qtbot.waitUntil(lambda: live_steps(curves) == list(range(1, 61)))
    assert page.checkpoints.view.hasFocus()
    qtbot.waitUntil(lambda: [info.step for info in page.checkpoints.list.checkpoints] == [60, 40, 20])
    assert faded_steps(board, "lr") == [list(range(20, 41))]


def test_without_a_best_checkpoint_none_is_exported_as_the_best(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = run_page(open_window(qtbot, context))
    folder = RunFolder(whole_run(qtbot, context, config(epochs=3)))
    panel = page.checkpoints
    qtbot.waitUntil(lambda: panel.export.text() == "Export best (step 60)" and panel.export.isEnabled())
    assert "best" in page.charts.numbers.quality._delta.text()
    write_labels(folder, {"last": checkpoint_name(60)})  # as after going back to before the best
    panel.refresh()
    qtbot.waitUntil(lambda: panel.export.text() == "Export step 60")
    assert panel.export.isEnabled()
    assert panel.export.toolTip().startswith("No checkpoint is the best one now: ")
    assert panel.export.toolTip().endswith(" This is the last one.")
    panel.choose("step-00000020")
    assert panel.export.text() == "Export step 20"
    assert panel.branch.text() == "Branch from step 20"
    assert "best" not in panel.export.toolTip()
    assert page.charts.numbers.quality._delta.text() == "at step 60"
