"""Sweeps in the window: a setting put in from its menu, a sweep made, shown, added to, stopped, gone on with, adopted."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

if find_spec("optuna") is None:
    pytest.skip("optuna is not installed: pip install 'trainwright[sweeps]'", allow_module_level=True)

from studio.pages.studies.sweeps.names import SettingNames
from studio.pages.studies.sweeps.trial_dialog import TrialDialog
from studio.pages.studies.sweeps.views import CurvesView, ParallelView, SlicesView
from studio.state.context import AppContext
from tests.studio.conftest import ENDLESS, PATIENCE
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_studies.conftest import Commands, listen
from tests.studio.pages_studies.made_up import FAILED, tell_sweep
from tests.studio.pages_studies.sweeps_driver import open_tab, sweeps_tab
from tests.studio.window_driver import answer_next_question, open_window, press, runs_page
from tests.training.sweeps.in_process import make_sweep
from tests.training.tiny import tiny
from training.config import RunConfig
from training.runs.folder import claim, release, write_first
from training.sweeps.by_hand import add_trial
from training.sweeps.folder import Sweep
from training.sweeps.records import read_record
from training.sweeps.request import SweepRequest
from training.sweeps.request import make_sweep as make_as_asked
from training.sweeps.trials import Trials


@pytest.fixture(autouse=True)
def made_workspace(workspace: Path) -> None:
    workspace.mkdir(parents=True, exist_ok=True)


def test_a_trial_is_the_chosen_one_in_all_views(qtbot: QtBot, context: AppContext) -> None:
    older = make_sweep(context.workspace, "name=older")
    sweep = tell_sweep(context.workspace, 16)
    add_trial(sweep, ["optimizer.lr=0.01"])
    tab = open_tab(qtbot, context)
    detail, record = tab.detail, read_record(sweep)
    assert [each.sweep.id for each in context.sweeps.list.items] == [sweep.id, older.id]  # the newest first
    assert detail.sweep_id == sweep.id
    assert detail.chosen == record.best
    assert detail.head.pill.text() == "Stopped"
    assert detail.head.go_on.text() == "Go on"
    rows = detail.table.rows
    assert rows.rowCount() == 17
    states = [rows.describe(number, 1) for number in range(17)]
    assert states[FAILED] == "Failed: the run failed"
    assert states[16] == "Waiting, by hand"
    pruned = next(number for number, state in enumerate(states) if state.startswith("Pruned at validation"))
    detail.choice.set_current("slices")
    slices = detail.views["slices"]
    assert isinstance(slices, SlicesView)
    assert set(slices.plots) == {"optimizer.lr", "model.hidden", "model.dropout"}
    plot = slices.plots["optimizer.lr"]
    plot.point_pressed.emit(pruned)
    assert detail.chosen == pruned
    assert rows.trial_at(detail.table.currentIndex().row()) == record.trials[pruned]
    detail.choice.set_current("parallel")
    parallel = detail.views["parallel"]
    assert isinstance(parallel, ParallelView)
    parallel.axes.line_pressed.emit(0)
    assert detail.chosen == 0
    detail.choice.set_current("curves")
    curves = detail.views["curves"]
    assert isinstance(curves, CurvesView)
    qtbot.waitUntil(lambda: "Chosen trial" in curves.plot.shown_samples())
    drawn = curves.plot.shown_samples()
    assert list(drawn["Chosen trial"][1]) == pytest.approx([value for _, value in record.trials[0].curve], rel=1e-6)
    curves.plot.point_clicked.emit("3", 1.0)
    assert detail.chosen == 3
    detail.table.sortByColumn(2, Qt.SortOrder.AscendingOrder)
    first = rows.trial_at(0)
    assert first is not None
    assert first.value == min(trial.value for trial in record.trials if trial.value is not None)
    detail.choice.set_current("importance")
    assert "below 20 importances are mostly noise" in detail.views["importance"].note.text()  # type: ignore[attr-defined]
    tab.rows.choose(older.id)
    assert detail.sweep_id == older.id
    assert (detail.head.pill.text(), detail.head.go_on.text()) == ("Not begun", "Start sweep")
    assert detail.find_trial() is None
    assert not detail.adopt.isEnabled()


def test_a_share_is_read_in_percent_in_the_slices_as_everywhere(qtbot: QtBot, context: AppContext) -> None:
    sweep = make_sweep(context.workspace, "checkpoints.monitor=val/accuracy", varied=("optimizer.lr=1e-4:1e-1:log",))
    trials = Trials(sweep)
    for number, value in enumerate((0.25, 0.5)):
        trials.propose(trials.create(), sweep.base())
        trials.end(number, "complete", value, {})
    tab = open_tab(qtbot, context)
    qtbot.waitUntil(lambda: tab.rows.current() == sweep.id)
    detail = tab.detail
    detail.choice.set_current("slices")
    slices = detail.views["slices"]
    assert isinstance(slices, SlicesView)
    qtbot.waitUntil(lambda: bool(slices.plots))
    plot = slices.plots["optimizer.lr"]
    spots = (QPointF(x, y) for x in range(0, plot.width(), 4) for y in range(0, plot.height(), 4))
    said = {plot.words_at(spot).rpartition("\n")[2] for spot in spots} - {""}
    assert said == {"Validation accuracy: 25.00%", "Validation accuracy: 50.00%"}


def test_adopting_a_trial_is_one_change_that_can_be_taken_back(qtbot: QtBot, context: AppContext) -> None:
    context.draft.set_config(tiny())
    sweep = tell_sweep(context.workspace, 3)
    tab, said = open_tab(qtbot, context), listen(context)
    before = context.draft.settings()
    tab.detail.choose(1)
    tab.detail.adopt.click()
    tried = read_record(sweep).trials[1].params
    assert context.draft.value("optimizer.lr") == tried["optimizer.lr"]
    assert context.draft.value("model.hidden") == json.loads(str(tried["model.hidden"]))
    assert said[-1].action is not None
    said[-1].action()
    assert context.draft.settings() == before
    tab.detail.adopt.click()
    context.draft.undo()
    assert context.draft.settings() == before
    context.draft.set_kind("model", "small_cnn")
    held = context.draft.settings()
    assert not tab.detail.adopt.isEnabled()
    assert "Setup has no such setting now" in tab.detail.adopt.toolTip()
    assert context.draft.settings() == held


def test_a_trial_is_added_by_hand_and_stopped_after_a_question(qtbot: QtBot, context: AppContext) -> None:
    sweep = tell_sweep(context.workspace, 2)
    tab, said = open_tab(qtbot, context), listen(context)
    canceled: list[int] = []
    names = SettingNames(sweep.space, sweep.base())
    dialog = TrialDialog(sweep, names, None, context.background, canceled.append, tab)
    dialog.show()
    wait_for_soundness(qtbot, dialog)
    dialog.add.click()
    assert dialog.problem.text().startswith("Give at least one value")
    rate = dialog.fields["optimizer.lr"]
    rate.setText("5")  # type: ignore[union-attr]
    dialog.add.click()
    qtbot.waitUntil(lambda: "in the sweep's range" in dialog.problem.text())
    rate.setText("0.02")  # type: ignore[union-attr]
    dialog.add.click()
    qtbot.waitUntil(lambda: dialog.number == 2)
    context.sweeps.list.refresh()
    qtbot.waitUntil(lambda: tab.detail.table.rows.rowCount() == 3)
    tab.detail.choose(2)
    assert tab.detail.stop_one.isEnabled()
    asked = answer_next_question(qtbot, "Stop the trial")
    tab.detail.stop_one.click()
    qtbot.waitUntil(lambda: bool(said))
    assert asked == ["Stop trial 2?"]
    assert said[-1].text == "Trial 2 had not begun; it is passed over."
    qtbot.waitUntil(lambda: not tab.detail.stop_one.isEnabled())
    assert read_record(sweep).trials[2].reason == "stopped by hand"
    assert not canceled
    late = TrialDialog(sweep, names, read_record(sweep).trials[0], context.background, canceled.append, tab)
    late.add.click()
    late.reject()  # before it is known to be there
    qtbot.waitUntil(lambda: canceled == [3])
    assert late.number is None


def test_a_damaged_sweep_is_listed_and_can_be_deleted(qtbot: QtBot, context: AppContext) -> None:
    damaged, whole = make_sweep(context.workspace), tell_sweep(context.workspace, 2)
    (damaged.path / "sweep.json").write_text("{")
    tab = open_tab(qtbot, context)
    qtbot.waitUntil(lambda: tab.rows.model().rowCount() == 2)
    assert tab.detail.sweep_id == whole.id
    tab.rows.choose(damaged.id)
    assert (tab.detail.head.title.text(), tab.detail.head.pill.text()) == ("Damaged sweep", "Damaged")
    assert tab.detail.problem.message[1] == "This sweep cannot be read"
    assert "bring it back from a copy" in tab.detail.problem.message[2]
    assert tab.detail.head.go_on.isHidden()
    assert not tab.detail.add.isEnabled()
    asked = answer_next_question(qtbot, "Delete sweep")
    tab.detail.head.delete.click()
    qtbot.waitUntil(lambda: [each.id for each in context.sweeps.list.items] == [whole.id])
    assert asked == [f"Delete the damaged sweep {damaged.id}?"]
    assert tab.detail.sweep_id == whole.id


def test_a_list_that_cannot_be_read_again_says_so(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_sweep(context.workspace, 2)
    tab = open_tab(qtbot, context)
    qtbot.waitUntil(lambda: tab.rows.model().rowCount() == 1)

    def refuse(_workspace: Path) -> list[Path]:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr("studio.state.sweeps.sweep_list.list_folders", refuse)
        context.sweeps.list.refresh()
        qtbot.waitUntil(lambda: tab.reason.text() == "What is listed here may be old: the disk is gone")
    assert tab.rows.isVisible()
    context.sweeps.list.refresh()
    qtbot.waitUntil(lambda: not tab.reason.isVisible())


def test_without_optuna_the_tab_says_what_to_install(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.sweeps.optuna_study.find_spec", lambda _name: None)
    tab = open_tab(qtbot, context)
    assert "pip install 'trainwright[sweeps]'" in tab.empty.accessibleName()
    assert tab.empty.button.isHidden()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sweep_is_worked_on_stopped_gone_on_with_and_its_runs_are_ordinary(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "studies/sweeps")
    tab = sweeps_tab(qtbot, window)
    endless = make_of(
        context, tiny(f"loop.epochs={ENDLESS}", "loop.validate_every_steps=8", "checkpoints.monitor=val/loss")
    )
    context.sweeps.list.refresh()
    qtbot.waitUntil(lambda: tab.detail.sweep_id == endless.id)
    validated = 0
    for turn in ("Start sweep", "Go on"):
        assert tab.detail.head.go_on.text() == turn
        tab.detail.head.go_on.click()
        assert tab.detail.head.pill.text().startswith("At work")
        asked = answer_next_question(qtbot, "Cancel")
        window.close()
        assert asked == ["A sweep is at work"]
        assert window.isVisible()
        qtbot.waitUntil(
            lambda: count_validations(endless) > validated,  # noqa: B023 - within this turn
            timeout=3 * PATIENCE,  # two processes load torch one after the other
        )
        tab.detail.head.stop.click()
        qtbot.waitUntil(lambda: not context.sweeps.is_busy, timeout=3 * PATIENCE)
        assert context.sweeps.job.problem == ""
        qtbot.waitUntil(lambda: tab.detail.head.pill.text() == "Stopped" and tab.detail.head.go_on.text() == "Go on")
        validated = count_validations(endless)
    assert len(read_record(endless).trials) == 1  # it went on with the same one
    small = make_of(context, tiny("checkpoints.monitor=val/loss"))
    context.sweeps.list.refresh()
    qtbot.waitUntil(lambda: tab.rows.model().rowCount() == 2)
    tab.rows.setCurrentIndex(tab.rows.model().index(0, 0))
    assert tab.detail.sweep_id == small.id
    tab.detail.head.go_on.click()
    qtbot.waitUntil(lambda: not context.sweeps.is_busy, timeout=3 * PATIENCE)
    qtbot.waitUntil(lambda: tab.detail.head.pill.text() == "Done")
    assert tab.detail.head.go_on.isHidden()
    assert [trial.state for trial in read_record(small).trials] == ["complete"] * 2
    tab.detail.head.show_runs.click()
    page = runs_page(window)
    qtbot.waitUntil(lambda: len(page.model.runs_shown()) == 2)
    assert page.search.text() == f'"{small.id}" in tags'
    window.show_page("studies/sweeps")
    tab.detail.choose(1)
    tab.detail.open_run.click()
    qtbot.waitUntil(lambda: context.shown.run.folder is not None and context.shown.run.folder.id == f"{small.id}-0001")
    window.show_page("studies/sweeps")
    tab.rows.setCurrentIndex(tab.rows.model().index(1, 0))
    assert tab.detail.sweep_id == endless.id
    tab.detail.head.go_on.click()
    qtbot.waitUntil(lambda: count_validations(endless) > validated, timeout=3 * PATIENCE)
    asked = answer_next_question(qtbot, "Stop the sweep and close")
    window.close()
    assert asked == ["A sweep is at work"]
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=3 * PATIENCE)
    assert not context.sweeps.is_busy
    assert read_record(endless).trials[0].words == "unfinished"  # nobody works on it any more


def make_of(context: AppContext, base: RunConfig) -> Sweep:
    """With two trials, none of them pruned."""
    request = SweepRequest(("optimizer.lr=1e-3:1e-2:log",), pruner="none", trials=2)
    return make_as_asked(context.workspace, base, request)


def count_validations(sweep: Sweep) -> int:
    """Of its first trial."""
    trials = read_record(sweep).trials
    return len(trials[0].curve) if trials else 0


def test_a_sweep_is_deleted_once_asked_and_its_runs_stay_unless_wanted(qtbot: QtBot, context: AppContext) -> None:
    kept, sweep = tell_sweep(context.workspace, 2), tell_sweep(context.workspace, 2)
    for each in (kept, sweep):
        each.run(0).path.mkdir(parents=True)
        write_first(each.run(0), tiny(f"name={each.id}"), None)
    tab = open_tab(qtbot, context)
    qtbot.waitUntil(tab.detail.head.show_runs.isVisible)
    assert tab.detail.sweep_id == sweep.id
    answer_next_question(qtbot, "Cancel")
    tab.detail.head.delete.click()
    assert sweep.path.is_dir()
    asked = answer_next_question(qtbot, "Delete sweep and runs")
    tab.detail.head.delete.click()
    qtbot.waitUntil(lambda: [each.id for each in context.sweeps.list.items] == [kept.id])
    assert asked == [f"Delete the sweep of “{sweep.name}”?"]
    qtbot.waitUntil(lambda: not sweep.run(0).path.exists())
    assert tab.detail.sweep_id == kept.id
    kept.trial_folder(0).mkdir(parents=True, exist_ok=True)
    (kept.trial_folder(0) / "config.toml").touch()
    claim(kept.trial_folder(0))  # another program works on a trial of it by now
    said = listen(context)
    answer_next_question(qtbot, "Delete sweep")
    tab.detail.head.delete.click()
    qtbot.waitUntil(lambda: any("another process works on this sweep" in each.text for each in said))
    assert kept.path.is_dir()
    release(kept.trial_folder(0))
    answer_next_question(qtbot, "Delete sweep")
    tab.detail.head.delete.click()
    qtbot.waitUntil(tab.empty.isVisible)
    assert kept.run(0).path.is_dir()
    assert not kept.path.exists()


def test_the_next_start_offers_to_go_on_with_a_sweep(qtbot: QtBot, context: AppContext, commands: Commands) -> None:
    sweep = tell_sweep(context.workspace, 3, more=3)
    context.sweeps.job.left = sweep.id
    window = open_window(qtbot, context, "setup")
    notice = window.controller.left_work[1]
    qtbot.waitUntil(lambda: notice.banner is not None)
    banner = notice.banner
    assert banner is not None
    assert banner.message[1] == f"Sweep of “{sweep.name}” was stopped with the window"
    assert banner.message[2] == "50% of it is done and kept. It goes on with what is missing."
    press(banner, "Go on")
    assert commands.last.words[:3] == ["sweep", "work", str(sweep.path)]
    assert context.settings.get().sweep_at_work == sweep.id
    assert not banner.isVisible()
    tab = sweeps_tab(qtbot, window)
    assert tab.detail.head.pill.text() == "At work 50%"
    tab.detail.head.stop.click()
    assert tab.detail.head.pill.text() == "Stopping …"
    commands.last.answer(130)
    assert context.settings.get().sweep_at_work == ""
    qtbot.waitUntil(lambda: tab.detail.head.pill.text() == "Stopped")
    tab.detail.head.go_on.click()
    commands.last.answer(1, error="All 3 trials so far failed. Mend that in a new sweep, or go on with sweep work.")
    qtbot.waitUntil(tab.detail.problem.isVisible)
    assert tab.detail.problem.message[2].endswith("or go on with the sweep.")
    tab.detail.head.go_on.click()
    answer_next_question(qtbot, "Stop the sweep and close")
    window.close()
    commands.last.answer(130)
    qtbot.waitUntil(lambda: not window.isVisible())
    assert context.settings.get().sweep_at_work == sweep.id
