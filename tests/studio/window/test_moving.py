"""The workspace moved from Preferences."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import studio.state.moving
from studio.services.app_settings import draft_file, read_object, write_object
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.state.moving import Stage, find_workspace, moving_of
from studio.window.moving import MoveDialog
from studio.window.preferences import PreferencesDialog
from tests.studio.window_driver import open_window
from training.config import RunConfig
from training.errors import Canceled
from training.moving.move import MoveProgress
from training.moving.plan import MARK, MovePlan, make_plan
from training.runs.folder import RunFolder, claim, create_run, release

MakeConfig = Callable[..., RunConfig]


@pytest.fixture
def run(workspace: Path, config: MakeConfig) -> RunFolder:
    return create_run(workspace, config("first"))


@pytest.fixture
def dialog(qtbot: QtBot, context: AppContext, run: RunFolder) -> Iterator[MoveDialog]:
    made = MoveDialog(context)
    qtbot.addWidget(made)
    made.show()
    yield made
    moving_of(context).cancel()


@pytest.fixture
def other_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(workspace: Path, target: Path) -> MovePlan:
        return replace(make_plan(workspace, target), same_disk=False)

    monkeypatch.setattr(studio.state.moving, "make_plan", plan)


def choose(qtbot: QtBot, context: AppContext, dialog: MoveDialog, target: Path) -> None:
    dialog.place.set_path(str(target))
    qtbot.waitUntil(lambda: moving_of(context).stage is Stage.CHOOSING)


def test_on_the_same_disk_it_is_renamed_and_the_window_starts_again(
    qtbot: QtBot, context: AppContext, dialog: MoveDialog, run: RunFolder, tmp_path: Path
) -> None:
    target, kept = tmp_path / "new", context.workspace / "exports"
    context.settings.update(export_folder=str(kept), recent_files=f"{kept / 'a.toml'}\n/elsewhere/b.toml")
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(context.workspace / "images"))
    assert not dialog.move_button.isEnabled()
    choose(qtbot, context, dialog, target)
    assert "on the same disk" in dialog.plan.text()
    dialog.move_button.click()
    qtbot.waitUntil(lambda: moving_of(context).stage is Stage.MOVED)
    assert (context.settings.get().workspace, context.settings.get().workspace_target) == (str(target), "")
    assert find_workspace(context.settings) == target
    assert (target / "runs" / run.id / "config.toml").is_file()
    assert context.settings.get().export_folder == str(target / "exports")
    assert context.settings.get().recent_files == f"{target / 'exports' / 'a.toml'}\n/elsewhere/b.toml"
    assert context.draft.value("dataset.path") == str(target / "images")
    assert dialog.delete.isHidden()
    dialog.restart.click()
    assert dialog.result() == MoveDialog.DialogCode.Accepted


@pytest.mark.usefixtures("other_disk")
@pytest.mark.parametrize("delete", [True, False])
def test_after_a_copy_the_person_is_asked_about_the_old_folder(
    qtbot: QtBot, context: AppContext, dialog: MoveDialog, run: RunFolder, tmp_path: Path, delete: bool
) -> None:
    target = tmp_path / "new"
    choose(qtbot, context, dialog, target)
    assert "to another disk" in dialog.plan.text()
    dialog.move_button.click()
    qtbot.waitUntil(lambda: moving_of(context).stage is Stage.MOVED)
    assert f"The old folder {context.workspace} is still there" in dialog.words.text()
    if delete:
        dialog.delete.click()
        qtbot.waitUntil(lambda: not dialog.isVisible())
    else:
        dialog.reject()  # Escape
    assert dialog.result() == MoveDialog.DialogCode.Accepted
    assert run.path.exists() is not delete
    assert context.settings.get().workspace == str(target)
    assert (target / "runs" / run.id / "config.toml").is_file()


@pytest.mark.usefixtures("other_disk")
def test_a_move_is_canceled(
    qtbot: QtBot,
    context: AppContext,
    dialog: MoveDialog,
    run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait(_plan: object, report: Callable[[MoveProgress], object], is_canceled: Callable[[], bool]) -> bool:
        report(MoveProgress("Copying", 30, 100))
        while not is_canceled():
            time.sleep(0.01)
        raise Canceled("Canceled.")

    monkeypatch.setattr(studio.state.moving, "move_workspace", wait)
    choose(qtbot, context, dialog, tmp_path / "new")
    dialog.move_button.click()
    qtbot.waitUntil(lambda: "Copying: 30 bytes of 100 bytes" in dialog.line.accessibleName())
    dialog.cancel.click()
    qtbot.waitUntil(lambda: moving_of(context).stage is Stage.CHOOSING)
    assert dialog.isVisible()
    assert context.settings.get().workspace == ""


def test_what_speaks_against_it_is_said(
    qtbot: QtBot, context: AppContext, dialog: MoveDialog, run: RunFolder, workspace: Path, tmp_path: Path
) -> None:
    claim(run.path)
    choose(qtbot, context, dialog, tmp_path / "new")
    assert f"the run {run.id} is at work" in dialog.plan.text()
    assert not dialog.move_button.isEnabled()
    release(run.path)
    choose(qtbot, context, dialog, workspace / "inside")
    assert "lies inside the workspace" in dialog.plan.text()
    choose(qtbot, context, dialog, tmp_path / "new")
    assert dialog.move_button.isEnabled()
    claim(run.path)  # by another window, meanwhile
    dialog.move_button.click()
    qtbot.waitUntil(lambda: "is at work" in dialog.plan.text())
    release(run.path)
    assert context.settings.get().workspace_target == ""
    assert run.path.exists()
    dialog.reject()
    assert dialog.result() == MoveDialog.DialogCode.Rejected


def test_one_that_was_killed_after_the_rename_is_found(context: AppContext, run: RunFolder, tmp_path: Path) -> None:
    workspace, target = context.workspace, tmp_path / "new"
    context.settings.update(workspace_target=str(target))
    assert find_workspace(context.settings) == workspace  # killed before
    assert context.settings.get().workspace_target == ""
    context.settings.update(workspace_target=str(target))
    (workspace / MARK).write_text(json.dumps({"from": str(workspace), "to": str(target)}), encoding="utf-8")
    context.settings.update(export_folder=str(workspace / "exports"))
    write_object(draft_file(), {"dataset": {"kind": "image_folder", "path": str(workspace / "images")}})
    workspace.rename(target)
    assert find_workspace(context.settings) == target
    assert context.settings.get().workspace == str(target)
    assert context.settings.get().export_folder == str(target / "exports")
    assert read_object(draft_file())["dataset"]["path"] == str(target / "images")
    assert not (target / MARK).exists()


def test_preferences_ask_for_a_restart(qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.window.preferences.move_by_dialog", lambda *_: True)

    def move(dialog: PreferencesDialog) -> int:
        dialog.move_workspace.click()
        return 0

    monkeypatch.setattr(PreferencesDialog, "exec", move)
    window = open_window(qtbot, context)
    with qtbot.waitSignal(window.closed):
        window.controller.show_preferences()
    assert window.is_restart_asked


def test_another_workspace_is_used_from_the_restart_on_that_is_offered(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def choose_another(dialog: PreferencesDialog) -> int:
        dialog.workspace.set_path(str(tmp_path / "other"))
        dialog._on_accepted()
        return 1

    monkeypatch.setattr(PreferencesDialog, "exec", choose_another)
    said: list[Notification] = []
    context.notifier.notified.connect(said.append)
    window = open_window(qtbot, context)
    window.controller.show_preferences()
    assert f"the workspace is {context.workspace}" in said[-1].text
    with qtbot.waitSignal(window.closed):
        said[-1].action()  # type: ignore[misc]
    assert window.is_restart_asked
    assert find_workspace(context.settings) == tmp_path / "other"


def test_a_workspace_in_a_home_that_is_gone_gives_way_to_the_usual_one(context: AppContext, workspace: Path) -> None:
    context.settings.update(workspace="~nobody-of-this-name/runs")
    assert find_workspace(context.settings) == workspace
