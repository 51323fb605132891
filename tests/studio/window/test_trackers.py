"""Trackers in the preferences, and on the run's page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.side_command import SideCommand
from studio.engine.state import RunState
from studio.state.context import AppContext
from studio.window.preferences import PreferencesDialog
from tests.studio.window_driver import answer_next_question, open_window, press, run_page
from tests.training.file_keyring import use_file_keyring
from training.config import RunConfig
from training.copies.account import Account
from training.copies.settings import CopySettings, load_copy_settings
from training.copies.settings import settings_file as copies_file
from training.tracking.cursor import Cursor
from training.tracking.settings import load_tracker_settings, settings_file

MakeConfig = Callable[..., RunConfig]


@pytest.fixture
def dialog(qtbot: QtBot, context: AppContext) -> PreferencesDialog:
    made = PreferencesDialog(context)
    qtbot.addWidget(made)
    made.show()
    return made


def texts(parent: PreferencesDialog) -> list[str]:
    return [each.text() for each in parent.findChildren(QLabel) if each.isVisible()]


def test_trackers_are_chosen_in_the_preferences(qtbot: QtBot, context: AppContext, dialog: PreferencesDialog) -> None:
    dialog.show_section("Trackers")
    mlflow = dialog.trackers.cards["mlflow"]
    assert not mlflow.lines["url"].isVisible()  # of one that is not used
    mlflow.on.click()
    mlflow.lines["url"].setText("somewhere")
    dialog.show_section("General")
    press(dialog, "Save")
    assert "mlflow.url" in dialog.problem.text()
    assert dialog.sections.currentItem().text() == "Trackers"
    assert not settings_file().exists()
    mlflow.lines["url"].setText("http://127.0.0.1:5999")
    press(dialog, "Save")
    assert not dialog.isVisible()
    said = load_tracker_settings()
    assert (said.mlflow.on, said.mlflow.url, said.wandb.on) == (True, "http://127.0.0.1:5999", False)
    again = PreferencesDialog(context)
    qtbot.addWidget(again)
    assert again.trackers.cards["mlflow"].lines["url"].text() == "http://127.0.0.1:5999"
    press(again, "Save")


def test_a_file_that_cannot_be_read_is_told_and_left_alone(qtbot: QtBot, context: AppContext) -> None:
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text("[mlflow]\nport = 5\n")
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_section("Trackers")
    assert any("mlflow.port" in text for text in texts(dialog))
    assert not dialog.trackers.cards["mlflow"].on.isEnabled()
    press(dialog, "Save")
    assert settings_file().read_text() == "[mlflow]\nport = 5\n"


def test_a_connection_is_tested_before_it_is_saved(qtbot: QtBot, dialog: PreferencesDialog, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    dialog.show_section("Trackers")
    card = dialog.trackers.cards["tensorboard"]
    card.on.click()
    (tmp_path / "file").touch()
    card.lines["folder"].setText(str(tmp_path / "file" / "logs"))
    card.test.click()
    assert (card.result.text(), card.test.isEnabled()) == ("Asking TensorBoard …", False)
    qtbot.waitUntil(card.test.isEnabled)
    assert str(tmp_path / "file") in card.result.text()
    assert card.result.property("role") == "problem"
    card.lines["folder"].setText(str(tmp_path / "logs"))
    card.test.click()
    qtbot.waitUntil(card.test.isEnabled)
    assert "is installed" in card.result.text()
    assert card.result.property("role") == "help"
    assert not settings_file().exists()


def test_a_key_goes_into_the_keyring_and_out_of_it(
    qtbot: QtBot, dialog: PreferencesDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("keyring")
    with use_file_keyring(tmp_path, monkeypatch) as vault:
        dialog.show_section("Trackers")
        card = dialog.trackers.cards["wandb"]
        card.on.click()
        row = card.keys["WANDB_API_KEY"]
        assert row.place.text() == "Looking for a key …"
        qtbot.waitUntil(lambda: row.place.text().startswith("None is known."))
        row.line.setText("a-key")
        row.keep.click()
        qtbot.waitUntil(row.remove.isVisible)
        assert json.loads(vault.read_text()) == {"Trainwright/WANDB_API_KEY": "a-key"}
        assert (row.line.text(), row.place.text()) == ("", "It is in the system's keyring.")
        answer_next_question(qtbot, "Remove")
        row.remove.click()
        qtbot.waitUntil(lambda: not row.remove.isVisible())
        assert json.loads(vault.read_text()) == {}


def test_copies_are_set_up_and_tried_in_the_preferences(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, tmp_path: Path
) -> None:
    dialog.show_section("Copies")
    form, card = dialog.copies, dialog.copies.card
    assert not card.test.isEnabled()
    assert not any(row.isVisible() for row in card.keys.values())  # a folder needs none
    form.to.set_path("s3://key:secret@bucket/runs")
    assert all(row.isVisible() for row in card.keys.values())
    dialog.trackers.cards["mlflow"].on.click()
    press(dialog, "Save")
    assert "holds a key" in dialog.problem.text()
    form.to.set_path("far/runs")
    press(dialog, "Save")
    assert "is a part of a path; give all of it" in dialog.problem.text()
    assert not copies_file().exists()
    assert not settings_file().exists()  # nor is any other form written
    form.to.set_path(str(tmp_path / "not mounted" / "far"))
    card.test.click()
    form.to.set_path(str(tmp_path / "far"))
    assert (card.result.text(), card.test.isEnabled()) == ("", True)  # nobody waits for what was asked before
    card.test.click()
    qtbot.waitUntil(card.test.isEnabled)
    assert card.result.text().startswith(f"{tmp_path / 'far'} takes copies")
    assert list((tmp_path / "far").iterdir()) == []
    form.keep.set_current("all")
    press(dialog, "Save")
    assert load_copy_settings() == CopySettings(to=str(tmp_path / "far"), keep="all")
    copies_file().write_text("# mine\n" + copies_file().read_text())
    again = PreferencesDialog(context)
    qtbot.addWidget(again)
    again.copies.to.set_path("")
    press(again, "Save")
    assert (load_copy_settings().to, copies_file().read_text()[:6]) == ("", "# mine")


@pytest.mark.slow
def test_the_page_of_a_run_tells_what_trackers_have_and_sends_the_rest(
    qtbot: QtBot, context: AppContext, config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    page = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    page.deliveries.refresh()
    assert not page.deliveries.isVisible()  # it is sent nowhere
    folder = context.live.folder
    assert folder is not None
    folder.tracking.mkdir()
    Cursor(place="tracking/tensorboard").save(folder, "tensorboard")
    link = "http://127.0.0.1:5000/#/experiments/1/runs/abc"
    Cursor(place="http://127.0.0.1:5000", steps=30, problem="It cannot be reached.", link=link).save(folder, "mlflow")
    page.deliveries.refresh()

    def lines() -> list[str]:
        return [each.toolTip() for each in page.deliveries.findChildren(QLabel) if each.isVisible() and each.toolTip()]

    def buttons(text: str) -> list[QPushButton]:
        return [each for each in page.deliveries.findChildren(QPushButton) if each.isVisible() and each.text() == text]

    qtbot.waitUntil(lambda: len(lines()) == 2)
    assert lines() == [
        "TensorBoard: 0 steps are in tracking/tensorboard; 40 steps wait",
        "MLflow: 30 steps are in http://127.0.0.1:5000; 10 steps wait: It cannot be reached",
    ]
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    buttons("Open in MLflow")[0].click()
    assert opened == [QUrl(link)]
    Cursor(place="x", link="file:///etc/passwd").save(folder, "mlflow")  # of a run folder that somebody sent
    page.deliveries.refresh()
    assert buttons("Open in MLflow") == buttons("Open folder") == []
    Account(to=str(tmp_path / "far")).save(folder)
    page.deliveries.refresh()
    qtbot.waitUntil(lambda: len(lines()) == 3)
    assert lines()[-1:] == [f"Copy: {tmp_path / 'far' / folder.id}: nothing yet; 1 checkpoint to be copied"]
    buttons("Send now")[0].click()
    assert buttons("Sending …")
    qtbot.waitUntil(lambda: "TensorBoard: 40 steps are in tracking/tensorboard, and how the run ended" in lines())
    qtbot.waitUntil(lambda: len(buttons("Open folder")) == 1)
    assert len(buttons("Send now")) == 2  # MLflow's, and the copy's
    qtbot.waitUntil(lambda: not context.findChildren(SideCommand))
