"""The Studies tab: what there is, begun, stopped, gone on with, deleted; and what that means for the rest of the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from PySide6.QtGui import QCloseEvent
from pytestqt.qtbot import QtBot

from studio.engine.side_command import Answer
from studio.engine.state import RunState
from studio.pages.setup.page import SetupPage
from studio.services.keep_awake import KeepAwake
from studio.state.context import AppContext
from studio.state.staying_awake import StayingAwake
from studio.state.studies.studies import AT_WORK
from studio.state.studies.summary import read_summary, tell_left
from studio.widgets import Banner
from studio.window.main_window import MainWindow
from tests.studio.conftest import ENDLESS
from tests.studio.pages_studies.conftest import Commands, listen, make_result, make_study, show, studies_tab
from tests.studio.window_driver import answer_next_question, open_window, press, runs_page
from training.config import RunConfig
from training.control import Command
from training.laboratory.child import Interrupt
from training.runs.folder import create_run
from training.runs.records.about import About, update_about
from training.studies.folder import StudyFolder
from training.studies.records import Reached
from training.studies.trainer import Trainer

MakeConfig = Callable[..., RunConfig]


def test_an_empty_workspace_says_what_a_study_is(qtbot: QtBot, window: MainWindow) -> None:
    tab = studies_tab(window)
    qtbot.waitUntil(lambda: "No studies yet" in tab.empty.accessibleName())
    assert tab.empty.isVisible()
    assert tab.empty.button.isEnabled()


def test_one_that_comes_to_its_end_while_it_is_looked_at_is_done(
    workspace: Path, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(workspace, "seeds", config())

    def end(folder: StudyFolder) -> bool:
        folder.write_result(make_result("seeds"))
        return False

    monkeypatch.setattr(StudyFolder, "is_claimed", end)
    assert read_summary(study).state == "done"


def test_studies_are_listed_with_their_states_newest_first(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    planned = make_study(workspace, "seeds", config())
    stopped = make_study(workspace, "batch", config())
    stopped.write_reached(Reached(done=2, parts=8, words="Samples per second at a batch of 64"))
    failed = make_study(workspace, "cv", config())
    failed.write_reached(Reached(done=0, parts=5, words="x", problem="dataset.kind: it has no exclude list."))
    done = make_study(workspace, "speed", config(), result=make_result("speed", "Nothing makes it faster."))
    damaged = make_study(workspace, "ablation", config())
    (damaged.path / "plan.json").write_text("{")
    at_work = make_study(workspace, "lr-range", config("wide"))
    at_work.write_reached(Reached(done=1, parts=4, words="wide range test seed 1"))
    with at_work.claim():
        tab = show(qtbot, window, at_work)
        studies = window.controller.context.studies.list
        made = (planned, stopped, failed, done, damaged, at_work)
        wanted = dict(
            zip(
                (each.id for each in made),
                ("planned", "stopped", "failed", "done", "damaged", "working"),
                strict=True,
            )
        )
        studies.refresh()  # what is read now may have begun before the claim
        qtbot.waitUntil(lambda: {study.id: study.state for study in studies.items} == wanted)
        assert studies.items[0].id == at_work.id
        qtbot.waitUntil(lambda: tab.detail.head.pill.text() == "At work 25%")
        assert "wide range test seed 1" in tab.detail.progress.accessibleName()
        assert "2 of 4 · about 22 s left" in tab.detail.progress.accessibleName()
        assert not tab.detail.head.stop.isVisible()  # another program works on it
        assert not tab.detail.head.delete.isEnabled()
    show(qtbot, window, failed)
    qtbot.waitUntil(lambda: "it has no exclude list" in tab.detail.problem.message[2])
    show(qtbot, window, stopped)
    assert tab.detail.head.go_on.text() == "Go on"
    assert "2 of 8 done" in tab.detail.progress.accessibleName()
    show(qtbot, window, done)
    assert tab.detail.sentence.text() == "Nothing makes it faster."
    assert not tab.detail.head.go_on.isVisible()
    tab.rows.choose(damaged.id)
    assert "missing or damaged" in tab.detail.problem.message[2]


def test_a_study_works_beside_the_window_and_nothing_is_trained_meanwhile(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    context = window.controller.context
    study = make_study(workspace, "seeds", config())
    tab = show(qtbot, window, study)
    tab.detail.head.go_on.click()
    assert commands.last.words[:3] == ["study", "--resume", str(study.path)]
    assert context.settings.get().study_at_work == study.id
    assert context.start_problem() == AT_WORK
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    assert not setup.bar.start_button.isEnabled()
    assert setup.bar.reason.text() == AT_WORK
    assert window.status.text.text().startswith("A study is at work · ")
    window.show_page("studies/studies")
    study.write_reached(Reached(done=1, parts=2, words="lab seed 1"))
    with study.claim():
        qtbot.waitUntil(lambda: "lab seed 1" in tab.detail.progress.accessibleName())
        tab.detail.head.stop.click()
        assert commands.last.stopped
        assert "Stopping …" in tab.detail.progress.accessibleName()
    commands.last.answer(130, error="Stopped; what was done is kept.")
    qtbot.waitUntil(lambda: tab.detail.head.go_on.isVisible())
    assert context.start_problem() == ""
    assert window.status.text.text().startswith("Ready · ")
    assert context.settings.get().study_at_work == ""
    assert not tab.detail.problem.isVisible()
    tab.detail.head.go_on.click()
    commands.last.answer(1, error="[1/2] lab seed 0\nThe disk is full.")
    qtbot.waitUntil(lambda: tab.detail.problem.isVisible())
    assert tab.detail.problem.message[2] == "The disk is full."


def test_the_end_of_a_study_is_told_on_other_pages(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    context, told = window.controller.context, list[str]()
    context.notifier.notified.connect(lambda notice: told.append(notice.text))
    study = make_study(workspace, "seeds", config())
    head = show(qtbot, window, study).detail.head
    head.go_on.click()
    commands.last.answer(1, error="The disk is full.")
    assert told == []  # its own page says it
    for code, words in ((1, "The study has stopped: The disk is full."), (0, "The study is done.")):
        window.show_page("studies/studies")
        qtbot.waitUntil(head.go_on.isVisible)
        head.go_on.click()
        window.show_page("setup")
        commands.last.answer(code, error="The disk is full." if code else "")
        assert told.pop() == words


def test_none_begins_while_a_run_is_trained(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    context = window.controller.context
    study = make_study(workspace, "seeds", config())
    context.start_run(config(epochs=ENDLESS))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    tab = show(qtbot, window, study)
    assert not tab.detail.head.go_on.isEnabled()
    assert "A run is at work" in tab.detail.head.obstacle.text()
    assert context.studies.begin(study)
    tab.open_new("batch")
    dialog = tab.dialog
    assert dialog is not None
    assert not dialog.measure.isEnabled()
    assert "A run is at work" in dialog.problem.text()
    assert not commands.every
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: not context.is_training())
    qtbot.waitUntil(lambda: dialog.measure.isEnabled())
    dialog.reject()


def test_its_runs_are_listed_and_compared(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    study = make_study(workspace, "seeds", config())
    for number in range(2):
        run = create_run(workspace, config(f"lab seed {number}"))
        update_about(run, lambda about: About(tags=about.add_tags([study.id])))
        study.note_run(f"as-is-{number}", run)
    create_run(workspace, config("another"))
    tab, page = show(qtbot, window, study), runs_page(window)
    page.status.setCurrentText("Failed")
    press(tab, "Show its runs")
    qtbot.waitUntil(lambda: {run.name for run in page.model.runs_shown()} == {"lab seed 0", "lab seed 1"})
    show(qtbot, window, study)
    press(tab, "Compare them")
    qtbot.waitUntil(lambda: not page.compare.isHidden() and len(page.table.chosen_runs()) == 2)


def test_a_study_is_deleted_once_asked_and_its_runs_stay_unless_wanted(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    context = window.controller.context
    study, other = make_study(workspace, "seeds", config()), make_study(workspace, "cv", config())
    run = create_run(workspace, config("lab seed 0"))
    study.note_run("as-is-0", run)
    tab = show(qtbot, window, study)
    answer_next_question(qtbot, "Cancel")
    tab.detail.head.delete.click()
    assert study.path.is_dir()
    answer_next_question(qtbot, "Delete study")
    tab.detail.head.delete.click()
    qtbot.waitUntil(lambda: not study.path.exists())
    assert run.path.is_dir()
    qtbot.waitUntil(lambda: [each.id for each in context.studies.list.items] == [other.id])
    other.note_run("fold-1", run)
    show(qtbot, window, other)
    tab.detail.refresh()
    qtbot.waitUntil(tab.detail.head.show_runs.isVisible)
    said = listen(context)
    with other.claim():  # by another program, which nobody has seen yet
        answer_next_question(qtbot, "Delete study and runs")
        tab.detail.head.delete.click()
        qtbot.waitUntil(lambda: any("another process works on this study" in each.text for each in said))
    assert run.path.is_dir()
    context.studies.list.refresh()
    show(qtbot, window, other)
    qtbot.waitUntil(tab.detail.head.delete.isEnabled)
    answer_next_question(qtbot, "Delete study and runs")
    tab.detail.head.delete.click()
    qtbot.waitUntil(lambda: not run.path.exists())
    qtbot.waitUntil(lambda: not context.studies.list.items)
    qtbot.waitUntil(lambda: tab.empty.isVisible())


def test_closing_the_window_stops_the_study_and_the_next_start_offers_to_go_on(
    qtbot: QtBot, window: MainWindow, context: AppContext, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    study = make_study(workspace, "seeds", config())
    study.write_reached(Reached(done=1, parts=2, words="lab seed 1"))
    tab = show(qtbot, window, study)
    tab.detail.head.go_on.click()
    asked = answer_next_question(qtbot, "Cancel")
    window.close()
    assert asked == ["A study is at work"]
    assert not commands.last.stopped
    answer_next_question(qtbot, "Stop the study and close")
    window.close()
    assert commands.last.stopped
    assert window.isVisible()  # until it has stopped
    commands.last.answer(130)
    qtbot.waitUntil(lambda: not window.isVisible())
    assert context.settings.get().study_at_work == study.id
    assert not context.studies.begin(study)  # a window that stayed after all, since its run could not be handed over
    commands.last.answer(0)
    assert context.settings.get().study_at_work == ""


def test_what_a_killed_process_was_at_is_not_told_as_the_reason(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    study = make_study(workspace, "seeds", config())
    tab = show(qtbot, window, study)
    tab.detail.head.go_on.click()
    commands.last.told(Answer(-1, "", "[1/2] lab seed 0", was_killed=True))
    assert tab.detail.problem.message[2] == (
        "Its process was killed, or it crashed. The last that it said: [1/2] lab seed 0"
    )


def test_whoever_will_not_wait_ends_planning_too(
    qtbot: QtBot, window: MainWindow, context: AppContext, config: MakeConfig, commands: Commands
) -> None:
    context.studies.query.start("seeds", config(), [])
    window.close()
    assert commands.last.stopped
    assert window.isVisible()  # until it has stopped
    window.controller.closing.end_now()
    assert commands.last.killed
    commands.last.answer(-1)
    qtbot.waitUntil(lambda: not window.isVisible())


def test_the_next_start_offers_to_go_on(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    study = make_study(workspace, "lr-range", config("wide"))
    study.write_reached(Reached(done=1, parts=4, words="wide range test seed 1"))
    context.studies.job.left = study.id
    window = open_window(qtbot, context, "setup")
    notice = window.controller.left_work[0]
    qtbot.waitUntil(lambda: notice.banner is not None)
    banner = notice.banner
    assert isinstance(banner, Banner)
    assert banner.message[1] == "Learning-rate range test of “wide” was stopped with the window"
    assert "25%" in banner.message[2]
    press(banner, "Go on")
    assert commands.last.words[2] == str(study.path)
    assert not banner.isVisible()
    assert studies_tab(window).isVisible()
    commands.last.answer(130)


def test_a_planned_study_is_not_taken_for_one_that_was_stopped(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    context.studies.job.left = make_study(workspace, "seeds", config()).id
    window = open_window(qtbot, context, "studies")
    qtbot.waitUntil(lambda: context.studies.list.loaded)
    assert window.controller.left_work[0].banner is None


def test_the_close_event_is_ignored_while_it_is_asked(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    study = make_study(workspace, "seeds", config())
    show(qtbot, window, study).detail.head.go_on.click()
    answer_next_question(qtbot, "Cancel")
    event = QCloseEvent()
    window.controller.answer_close(event)
    assert not event.isAccepted()
    commands.last.answer(0)
    qtbot.waitUntil(lambda: not window.controller.context.studies.is_busy)


def test_the_computer_stays_awake_while_a_study_works(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig, commands: Commands
) -> None:
    class Keeper(KeepAwake):
        pids: ClassVar[list[int]] = []

        def hold(self, pid: int) -> None:
            self.pids.append(pid)

        def release(self) -> None:
            self.pids.clear()

    job = context.studies.job
    context.settings.update(keep_awake=True)
    awake = StayingAwake(context.live, [job], context.queue, context.settings, Keeper())
    context.studies.begin(make_study(workspace, "seeds", config()))
    assert Keeper.pids == []  # its process has not begun yet
    commands.last.pid = 17
    awake.update()
    assert Keeper.pids[-1] == 17
    commands.last.answer(0)
    assert Keeper.pids == []


def test_what_is_left_is_told_by_what_this_attempt_has_done(workspace: Path, config: MakeConfig) -> None:
    plan = make_study(workspace, "seeds", config()).plan()  # of 30 s
    begun = Reached(done=2, parts=4, at=1000.0, since=1000.0, before=2.0)
    assert tell_left(plan, begun, 0.5, 1001.0) == "about 15 s left"  # nothing but the plan tells
    one_more = Reached(done=3, parts=5, at=1100.0, since=1000.0, before=2.0)
    assert tell_left(plan, one_more, 3 / 5, 1100.0) == "about 3 min 20 s left"
    assert tell_left(plan, one_more, 3 / 5, 1150.0) == "about 2 min 30 s left"
    assert tell_left(plan, one_more, 3.5 / 5, 1150.0) == "about 2 min 30 s left"  # half of the run under way
    assert tell_left(plan, one_more, 3 / 5) == "about 3 min 20 s left"  # stopped
    assert tell_left(plan, one_more, 3 / 5, 9999.0) == ""  # and never less than nothing


def test_parts_that_were_there_before_tell_nothing_of_the_rest(
    workspace: Path, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = 1000.0
    monkeypatch.setattr("training.studies.trainer.time.time", lambda: moment)
    study = make_study(workspace, "seeds", config())
    trainer = Trainer(study, lambda _said: None, Interrupt())
    trainer.expect(6)
    for took in (0.1, 0.1, 50.0, 70.0):
        trainer.begin_part("a part")
        trainer.end_part()
        moment += took
    trainer.begin_part("a part")
    reached = study.read_reached()
    assert (reached.done, reached.before) == (4, 2.0)
    assert reached.at - reached.since == pytest.approx(120.0)
    assert tell_left(study.plan(), reached, 4 / 6, moment) == "about 2 min 00 s left"


def test_a_study_whose_plan_is_damaged_still_tells_what_it_found(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    study = make_study(workspace, "lr-range", config(), result=make_result("lr-range", "The rate 0.01 is best."))
    other = make_study(workspace, "seeds", config())
    for each in (study, other):
        (each.path / "plan.json").write_text("{")
    tab, found = studies_tab(window), window.controller.context.studies.list
    found.refresh()
    qtbot.waitUntil(lambda: len(found.items) == 2)
    tab.rows.choose(study.id)
    detail = tab.detail
    assert "range test" in detail.head.title.text().lower()
    assert "0.01 is best" in detail.sentence.text()
    assert not detail.said.isHidden()
    assert detail.problem.message[1] == "Its plan cannot be read"
    tab.rows.choose(other.id)
    assert detail.said.isHidden()
    asked = answer_next_question(qtbot, "Cancel")
    detail.head.delete.click()
    assert other.id in asked[0]
    assert "“”" not in asked[0]
