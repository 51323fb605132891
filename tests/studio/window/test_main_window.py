"""The window around the fake engine: what is shown, grayed, asked, and never lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt, QThreadPool
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.monitor import RunMonitor
from studio.engine.state import RunState
from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.main_window import MainWindow
from studio.window.page_entries import PAGES
from studio.window.preferences import PreferencesDialog
from studio.window.status_strip import StatusStrip
from tests.studio.conftest import ENDLESS, MakeHost
from tests.studio.window_driver import answer_next_question, open_window, press, run_page
from training.config import RunConfig
from training.control import WINDOW_GONE, Command, send
from training.runs.folder import RunFolder, create_run, owner_of

MakeConfig = Callable[..., RunConfig]


def begin_training(qtbot: QtBot, context: AppContext, config: RunConfig) -> RunFolder:
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.progress.step > 3)
    assert context.live.folder is not None
    return context.live.folder


def test_pages_come_by_rail_and_by_key(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    assert window.rail.keys() == [entry.key for entry in PAGES] == ["data", "setup", "run", "runs", "studies", "models"]
    for number, entry in enumerate(PAGES, start=1):
        qtbot.keyClick(window, getattr(Qt.Key, f"Key_{number}"), Qt.KeyboardModifier.ControlModifier)
        assert window.rail.current() == entry.key
        assert window.stack.currentWidget() is window.page(entry.key)
    assert context.settings.get().page == "models"


def test_every_command_has_someone_who_carries_it_out(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    table = window.controller.actions.table
    assert set(window.controller.actions.actions) == {action.id for action in table}
    keys = [action.shortcut for action in table if action.shortcut]
    assert len(keys) == len(set(keys))


def test_commands_follow_the_run(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    actions = window.controller.actions.actions

    def enabled() -> set[str]:
        return {key for key in ("start", "pause", "stop", "save", "resume") if actions[key].isEnabled()}

    assert enabled() == {"start"}
    begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert enabled() == {"pause", "stop", "save"}
    foot = window.findChild(StatusStrip)
    assert foot is not None
    assert foot.text.text().startswith("Training · ")
    qtbot.keyClick(window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: context.live.state is RunState.PAUSED)
    assert foot.text.text().startswith("Paused · ")
    qtbot.keyClick(window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert foot.text.text().startswith("Training · ")
    qtbot.keyClick(window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
    qtbot.waitUntil(lambda: enabled() == {"start", "resume"})


def test_an_idle_window_closes_without_a_question(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    with qtbot.waitSignal(window.closed):
        window.close()
    assert not context.engine.threads_running
    assert context.settings.get().geometry


def test_closing_while_training_can_be_canceled(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    asked = answer_next_question(qtbot, "Cancel")
    window.close()
    assert asked == ["“lab” is being trained"]
    assert window.isVisible()
    before = context.live.progress.step
    qtbot.waitUntil(lambda: context.live.progress.step > before)


def test_closing_while_training_stops_and_keeps(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    folder = begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    answer_next_question(qtbot, "Stop && save checkpoint")
    with qtbot.waitSignal(window.closed):
        window.close()
    assert folder.status().status == "stopped"
    assert list(folder.checkpoints.iterdir())
    assert not context.engine.threads_running


def test_closing_while_training_can_leave_it_in_the_background_and_the_next_window_shows_it(
    qtbot: QtBot, context: AppContext, config: MakeConfig, make_host: MakeHost, workspace: Path
) -> None:
    window = open_window(qtbot, context)
    folder = begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    answer_next_question(qtbot, "Keep training in the background")
    with qtbot.waitSignal(window.closed):
        window.close()
    owner = owner_of(folder.path)
    assert owner is not None
    context.live.detach()
    next_context = AppContext(workspace, context.settings, make_host())
    next_window = open_window(qtbot, next_context, "setup")
    next_context.library.refresh()
    qtbot.waitUntil(lambda: next_context.live.state is RunState.TRAINING)
    assert next_context.live.folder == folder
    assert next_window.rail.current() == "run"
    assert "in progress" in next_context.start_problem()
    before = next_context.live.progress.step
    qtbot.waitUntil(lambda: next_context.live.progress.step > before)
    next_context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: next_context.live.state is RunState.STOPPED)
    qtbot.waitUntil(lambda: not psutil.pid_exists(owner.pid))
    with qtbot.waitSignal(next_window.closed):
        next_window.close()  # a run of the background asks nothing
    next_context.background.close()


def test_a_paused_run_goes_on_in_the_background(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    folder = begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    context.live.ask(Command.PAUSE)
    qtbot.waitUntil(lambda: context.live.state is RunState.PAUSED)
    asked = answer_next_question(qtbot, "Continue in the background")
    with qtbot.waitSignal(window.closed):
        window.close()
    assert asked == ["“lab” is paused"]
    owner = owner_of(folder.path)
    assert owner is not None
    qtbot.waitUntil(lambda: folder.status().status == "running")
    send(folder.path, Command.STOP)
    qtbot.waitUntil(lambda: not psutil.pid_exists(owner.pid))


def test_an_interrupted_run_is_offered_at_the_next_start(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folder = begin_training(qtbot, context, config(epochs=ENDLESS, milliseconds=10))
    context.live.ask(Command.SAVE)
    qtbot.waitUntil(lambda: any(folder.checkpoints.glob("*/manifest.json")))
    owner = owner_of(folder.path)
    assert owner is not None
    psutil.Process(owner.pid).kill()
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
    context.live.detach()
    window = open_window(qtbot, context, "setup")
    context.library.refresh()
    qtbot.waitUntil(lambda: bool(window.controller.notices.findChildren(Banner)))
    banner = window.controller.notices.findChildren(Banner)[0]
    assert banner.accessibleName().startswith("“lab” was interrupted")
    qtbot.waitUntil(lambda: context.start_problem() == "")
    buttons = {button.text(): button for button in banner.findChildren(QPushButton)}
    qtbot.mouseClick(buttons["Resume"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert not banner.isVisible()
    send(folder.path, Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)


def test_a_run_that_dies_while_the_list_is_read_is_offered(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folder = create_run(workspace, config())
    folder.write_status(folder.status().model_copy(update={"status": "running"}))
    claiming = "import sys; from pathlib import Path; from training.runs.folder import RunFolder, claim; "
    claiming += "claim(Path(sys.argv[1])); print('mine', flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", claiming, str(folder.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().strip() == b"mine"
        window = open_window(qtbot, context, "setup")
        context.library.refresh()
        assert QThreadPool.waitForDone(
            context.background.findChildren(QThreadPool)[0], 20000
        )  # read, not yet delivered
        owner.kill()
        owner.wait()
    qtbot.waitUntil(lambda: bool(window.controller.notices.findChildren(Banner)))
    (banner,) = window.controller.notices.findChildren(Banner)
    assert banner.accessibleName().startswith("“lab” was interrupted")
    assert banner.accessibleName().endswith("No checkpoint was saved.")
    assert [button.text() for button in banner.findChildren(QPushButton)][:3] == ["Show run", "Delete", "Start over"]
    qtbot.waitUntil(lambda: not owner_of(folder.path))
    press(banner, "Delete")
    qtbot.waitUntil(lambda: not folder.path.exists())
    assert not banner.isVisible()


def test_a_notice_put_away_does_not_come_back_for_the_same_run(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    for number, name in enumerate(("early", "late")):
        folder = create_run(workspace, config(name))
        reason = WINDOW_GONE if name == "late" else None
        status = "stopped" if name == "late" else "running"
        folder.write_status(
            folder.status().model_copy(update={"status": status, "reason": reason, "created": float(number), "step": 7})
        )
        (folder.checkpoints / "step-00000007").mkdir()

    def offered() -> list[Banner]:
        window = open_window(qtbot, context, "setup")
        with qtbot.waitSignal(context.library.refreshed):
            context.library.refresh()
        return window.controller.notices.findChildren(Banner)

    (banner,) = offered()
    said = banner.accessibleName()
    assert said.startswith("“late” was stopped. The window that showed the run ended unexpectedly")
    assert "It waits at step 7. 1 more under Runs." in said
    banner._close.click()
    assert offered() == []


def test_a_dead_engine_is_shown_and_can_be_tried_again(
    qtbot: QtBot, make_host: MakeHost, workspace: Path, context: AppContext
) -> None:
    broken = AppContext(workspace, context.settings, make_host(["/no/such/python"]))
    window = open_window(qtbot, broken)
    qtbot.waitUntil(lambda: window.status.retry.isVisible())
    assert "could not be started" in window.status.text.text()
    assert "could not be started" in broken.start_problem()
    assert not run_page(window).empty.button.isEnabled()
    assert not window.controller.actions.actions["start"].isEnabled()
    broken.background.close()


def test_preferences_are_checked_and_taken_over(qtbot: QtBot, context: AppContext, tmp_path: Path) -> None:
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    for wrong, problem in (
        (sys.executable, "is a file. Choose a folder"),
        (f"{sys.executable}/runs", "is a file. Choose a folder"),
        ("runs", "write the whole path"),
        ("~nobody-of-this-name/runs", "no such home folder"),
    ):
        dialog.workspace.set_path(wrong)
        dialog._on_accepted()
        assert problem in dialog.problem.text()
        assert dialog.sections.currentItem().text() == "Storage"
    assert not context.settings.get().workspace
    dialog.workspace.set_path("")
    dialog.theme.set_current("dark")
    dialog.high_contrast.setChecked(True)
    assert dialog.if_window_ends.current() == "keep"
    dialog.if_window_ends.set_current("stop")
    dialog._on_accepted()
    settings = context.settings.get()
    assert not settings.keep_training
    assert settings.theme == "dark"
    assert settings.high_contrast


def test_starting_the_program_loads_neither_qt_nor_pyqtgraph_too_early() -> None:
    code = (
        "import sys, studio.app; early = [name for name in ('PySide6', 'pyqtgraph', 'numpy') if name in sys.modules];"
        "import studio.launch; print(early, [name for name in ('pyqtgraph', 'sqlalchemy') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.strip() == "[] []"


def test_the_window_can_be_made_small(qtbot: QtBot, context: AppContext) -> None:
    window: MainWindow = open_window(qtbot, context)
    for entry in PAGES:
        window.show_page(entry.key)
        window.resize(900, 600)
        qtbot.wait(50)
        assert (window.width(), window.height()) == (900, 600), entry.key


def test_a_minimized_window_looks_at_the_run_less_often(
    qtbot: QtBot, context: AppContext, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context)
    paces: list[bool] = []
    show = RunMonitor.set_visible

    def noted(monitor: RunMonitor, shown: bool) -> None:
        paces.append(shown)
        show(monitor, shown)

    monkeypatch.setattr(RunMonitor, "set_visible", noted)
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.folder is not None)
    assert paces[-1]
    window.showMinimized()
    qtbot.waitUntil(lambda: not paces[-1])
    window.showNormal()
    qtbot.waitUntil(lambda: paces[-1])
    window.show_page("runs")
    assert not paces[-1]
    window.show_page("run")
    assert paces[-1]
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
