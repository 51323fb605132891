"""The Run page around the fake engine: what it shows at each state, and its buttons."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.actions.runs import HERE
from studio.engine.messages import EngineDeath
from studio.engine.state import RunState
from studio.pages.run.about_row import NameInPlace
from studio.pages.run.header import RunHeader
from studio.pages.run.page import RunPage
from studio.panels.fix_dialog import APPLY_ANEW, FixDialog
from studio.panels.outcome_banner import OutcomeBanner
from studio.state.context import AppContext
from studio.state.runs.live_run import LiveRun
from studio.theme import apply
from studio.widgets import Banner, SteadyLabel
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_dialog, answer_next_question, open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.events import AttemptStarted, Completed, Failed, Finding, PhaseChanged, Stopped, Validated
from training.runs.folder import claim, create_run, release
from training.runs.records.forms import Parent
from training.runs.records.history import EventLog

MakeConfig = Callable[..., RunConfig]


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isVisible()
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def figures(page: RunPage) -> list[str]:
    """What the strip at the foot says of the machine."""
    return [each.text() for each in page.system.load.findChildren(SteadyLabel) if each.isVisible()]


def test_an_empty_page_starts_the_sample(qtbot: QtBot, context: AppContext) -> None:
    page = run_page(open_window(qtbot, context))
    assert page.empty.accessibleName().startswith("Looking for running training …")  # the list of runs is not read yet
    assert not page.empty.button.isVisible()
    qtbot.waitUntil(page.empty.button.isVisible)
    assert page.empty.accessibleName().startswith("Nothing is being trained.")
    click(qtbot, page.empty.button)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert not page.empty.isVisible()
    config = context.live.config()
    assert config is not None
    assert config.dataset.kind == "shapes"
    context.live.ask(Command.STOP)


def test_buttons_and_figures_follow_a_run(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    header = page.header
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    assert header.pause.isVisible()
    assert not header.pause.isEnabled()
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    qtbot.waitUntil(lambda: page.charts.numbers.loss.value() != "–")
    click(qtbot, header.pause)
    qtbot.waitUntil(lambda: header.pause.text() == "Continue")
    qtbot.waitUntil(lambda: context.live.state is RunState.PAUSED)
    qtbot.waitUntil(lambda: figures(page) == [])  # of what works now: nothing does
    click(qtbot, header.pause)
    page.show_tab("system")
    qtbot.waitUntil(lambda: "Memory 210 MB" in figures(page))
    qtbot.waitUntil(lambda: header.pause.text() == "Pause" and header.save.isEnabled())
    click(qtbot, header.save)
    qtbot.waitUntil(lambda: len(page.checkpoints.list.checkpoints) >= 1)
    qtbot.waitUntil(lambda: "%" in page.charts.numbers.quality.value())
    assert not header.resume.isVisible()
    header.stop.menu().actions()[0].trigger()
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    assert header.resume.isVisible()
    assert not header.pause.isVisible()
    resume = page.checkpoints.resume
    assert header.resume is resume
    qtbot.waitUntil(lambda: resume.main.text() == "Resume from last" and resume.main.isEnabled())
    assert resume.more.isVisible()
    assert figures(page) == []
    assert page.system.load.device.text() == "cpu"


def test_a_run_is_seen_whole_in_a_window_of_usual_size(
    qtbot: QtBot, qapp: QApplication, context: AppContext, config: MakeConfig
) -> None:
    apply(qapp, "light")  # or everything is smaller than it is in the program
    window = open_window(qtbot, context)
    page = run_page(window)
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: "%" in page.charts.numbers.quality.value())
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: page.charts.area.verticalScrollBar().maximum() == 0)
    assert not page.header.owner.isVisible()
    context.live.ask(Command.STOP)


def test_two_buttons_give_up_their_words_for_a_long_name(qtbot: QtBot) -> None:
    live, header = LiveRun(), RunHeader(NameInPlace(), *(QWidget() for _ in range(5)))
    qtbot.addWidget(header)
    live.expect("lab")
    header.show_run(live)
    header.resize(header.minimumSizeHint().width() + 80, 90)
    with qtbot.waitExposed(header):
        header.show()
    for name, words in (("lab", "Save now"), ("digits-with-all-augmentations", ""), ("mnist", "Save now")):
        live.expect(name)
        header.show_run(live)
        qtbot.waitUntil(lambda: header.save.text() == words)  # noqa: B023 - here
        assert header.save.accessibleName() == "Save now"
        assert header.pause.y() < header._pill.geometry().bottom()


def test_a_run_stopped_without_saving_is_started_over_or_deleted(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)

    def stop_at_once() -> None:
        for _ in range(2):  # the first time leaves ten seconds to take it back
            page.header.stop.menu().actions()[1].trigger()

    context.start_run(config(epochs=ENDLESS, milliseconds=500))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    qtbot.waitUntil(lambda: page.checkpoints._empty.text().startswith("None yet. One is saved every "))
    for _ in range(2):  # also after it was started over
        stop_at_once()
        qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.start_problem())
        folder = context.live.folder
        assert folder is not None
        assert not list(folder.checkpoints.iterdir())
        assert page.outcome._banner is not None
        assert page.outcome._banner.accessibleName() == "The run was stopped. No checkpoint was saved."
        assert page.checkpoints._empty.text() == "No checkpoint was saved."
        assert page.checkpoints.resume.main.text() == "Start over"
        assert "from its beginning" in page.checkpoints.resume.main.toolTip()
        assert not page.checkpoints.resume.more.isVisible()
        assert not window.controller.actions.actions["resume"].isEnabled()  # it goes on from the last checkpoint
        click(qtbot, page.checkpoints.resume.main)
        qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
        assert page.outcome.isHidden()
        assert context.live.folder == folder
    stop_at_once()
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    run = context.live.folder
    assert run is not None
    press(page.outcome, "Delete")
    qtbot.waitUntil(lambda: not run.path.exists())
    assert page.empty.isVisible()


def test_resuming_from_a_chosen_checkpoint_continues_one_curve(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    context.start_run(config(epochs=3))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    qtbot.waitUntil(lambda: len(page.checkpoints.list.checkpoints) == 3)
    main = page.checkpoints.resume.main
    qtbot.waitUntil(lambda: main.isVisible() and main.text() == "Train longer …" and main.isEnabled())
    told = "The run is complete at step 60. A branch of its last checkpoint trains longer: raise Epochs in it."
    assert main.toolTip() == told
    assert not window.controller.actions.actions["resume"].isEnabled()
    page.checkpoints.choose("step-00000020")
    qtbot.waitUntil(lambda: main.text() == "Resume from step 20 …" and main.isEnabled())
    answer_next_question(qtbot, HERE)
    click(qtbot, main)
    qtbot.waitUntil(lambda: context.live.state is not RunState.COMPLETED)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    curve = page.charts.curves.board.plot("loss")._curves["train/loss"].series.raw
    assert list(curve.x) == list(range(1, 61))


def test_a_failed_run_says_why_and_offers_to_go_on(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config("fails"))
    qtbot.waitUntil(lambda: page.outcome.isVisible())
    buttons = {button.text(): button for button in page.outcome.findChildren(QPushButton)}
    assert set(buttons) == {"Show log", "Copy", "Delete", "Apply and start"}
    click(qtbot, buttons["Copy"])
    copied = QApplication.clipboard().text()
    assert "Oh no: the numbers ran out. Buy more numbers.\nNo checkpoint was saved." in copied
    assert "line 2" in copied
    click(qtbot, buttons["Show log"])
    qtbot.waitUntil(lambda: not context.start_problem())
    main = page.checkpoints.resume.main
    assert main.text() == "Start over"
    click(qtbot, main)
    qtbot.waitUntil(lambda: context.live.state is not RunState.FAILED)
    assert not page.outcome.isVisible()
    qtbot.waitUntil(lambda: context.live.state is RunState.FAILED and not context.engine.training)


def test_what_a_failure_proposes_is_shown_and_applied(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config("fails"))
    qtbot.waitUntil(lambda: page.outcome.isVisible() and not context.start_problem())
    assert context.live.folder is not None
    failed = context.live.folder
    assert page.outcome._banner is not None
    assert "Proposed: Name: fails → better" in page.outcome._banner.accessibleName()
    answer_next_dialog(qtbot, FixDialog, "Cancel")
    press(page.outcome, APPLY_ANEW)
    assert context.live.folder == failed
    shown = answer_next_dialog(qtbot, FixDialog, APPLY_ANEW)
    press(page.outcome, APPLY_ANEW)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    assert "No checkpoint was saved. A new run begins from the start with these settings." in shown[0]
    assert "Name: fails → better" in shown[0]
    assert context.live.folder != failed
    assert context.live.folder.status().parent == Parent(run=failed.id)


def test_findings_are_shown_for_a_run_that_is_looked_at_again(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    """Those of the last attempt, also what it found in its data before it was announced; the process is named."""
    folder = create_run(workspace, config())
    log = EventLog(folder.events_file)
    attempt = AttemptStarted(attempt=1, step=0, total_steps=9, steps_per_epoch=3, epochs=3, device="cpu")
    for event in (
        PhaseChanged(phase="preparing data"), Finding(level="warning", title="Of an attempt that is over."), attempt,
        Stopped(step=0),
        PhaseChanged(phase="preparing data"), Finding(level="warning", title="Left out: 3 files."), attempt,
        Finding(level="warning", title="The loader is slow.", step=4, fix={"loader.workers": 2}),
        Finding(level="info", title="Branched from step 1225 of lab. Restored: the weights.", step=1225),
    ):  # fmt: skip
        log.emit(event)
    log.close()
    claim(folder.path)
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count == 3)
    names = [banner.accessibleName() for banner in page.findings.findChildren(Banner)]
    assert "Branched from step 1225 of lab. Restored: the weights." in names  # which step is said once
    assert any(name.startswith("Left out: 3 files.") for name in names)
    assert any(name == "The loader is slow (step 4). Proposed: Data-loader workers: automatic → 2" for name in names)
    assert page.header.owner.text().startswith(f"Process {os.getpid()} trains it, outside this window.")
    release(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
    assert page.header.owner.isHidden()


def test_a_killed_engine_says_so_with_its_log(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config("dies"))
    qtbot.waitUntil(lambda: page.outcome.isVisible())
    assert context.live.state is RunState.INTERRUPTED

    def named() -> bool:  # the run's owner may be missed before the engine's end is explained
        banner = page.outcome._banner
        return banner is not None and "SIGKILL" in banner.accessibleName()

    qtbot.waitUntil(named)
    context.live.mourn(EngineDeath("It was explained late."))
    assert page.outcome._banner is not None
    assert "It was explained late." in page.outcome._banner.accessibleName()


def test_a_page_made_late_shows_the_whole_run(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    page = run_page(open_window(qtbot, context, "runs"))
    export = page.checkpoints.export
    assert not export.isEnabled()  # whether there is a best one is not known before the list is read
    assert export.toolTip() == "Reading the checkpoints …"
    qtbot.waitUntil(export.isEnabled)
    curve = page.charts.curves.board.plot("loss")._curves["train/loss"].series.raw
    assert list(curve.x) == list(range(1, 41))
    assert export.text() == "Export best (step 40)"
    assert "The run is complete at step 40." in page.checkpoints.resume.main.toolTip()


def test_an_ordinary_end_needs_no_banner(qtbot: QtBot) -> None:
    banner = OutcomeBanner()
    qtbot.addWidget(banner)
    banner.show_outcome(RunState.FAILED, Failed(step=1, reason="No memory.", advice="Use less."))
    assert not banner.isHidden()
    banner.show_outcome(RunState.STOPPED, None)
    assert banner.isHidden()


def test_early_stopping_counts_beside_the_metric_until_the_run_has_ended(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folder = create_run(workspace, config())
    log = EventLog(folder.events_file)
    log.emit(AttemptStarted(attempt=1, step=0, total_steps=9, steps_per_epoch=3, epochs=3, device="cpu"))
    claim(folder.path)
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)

    def words() -> str:
        return page.charts.numbers.quality._delta.text()

    def judge(step: int, stale: int) -> None:
        metrics = {"val/accuracy": 0.5, "val/loss": 1.0}
        log.emit(Validated(step=step, epoch=1, metrics=metrics, improved=not stale, stale=stale, patience=5))

    judge(1, 3)
    qtbot.waitUntil(lambda: "early stopping 3 of 5" in words())
    judge(2, 0)
    qtbot.waitUntil(lambda: "early stopping" not in words())
    judge(3, 5)
    qtbot.waitUntil(lambda: "early stopping 5 of 5" in words())
    reason = "early stopping: val/accuracy has not improved for 5 validations"
    log.emit(Completed(step=3, reason=reason))
    log.close()
    release(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    assert "early stopping" not in words()
    banner = page.outcome._banner
    assert banner is not None
    assert "Stopped early by its own rule" in banner.accessibleName()


def test_a_run_that_reached_its_goal_says_so(qtbot: QtBot) -> None:
    banner = OutcomeBanner()
    qtbot.addWidget(banner)
    banner.show_outcome(RunState.COMPLETED, Completed(step=3, reason="reached val/accuracy 98.02%"))
    assert banner._banner is not None
    assert "Reached its target" in banner._banner.accessibleName()
    banner.show_outcome(RunState.COMPLETED, Completed(step=3, reason="all steps done"))
    assert banner.isHidden()
