"""The decision boundary on the Run page and beside a run: live, back over the validations, saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageSequence
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.run.page import RunPage
from studio.panels.records.boundary_card import BoundaryCard
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.theme import LIGHT
from tests.studio.window_driver import open_window, run_page
from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.runs.boundary.frames import BoundaryFile, read_boundary
from training.runs.boundary.images import LOOK
from training.runs.folder import RunFolder


@pytest.fixture
def folder(workspace: Path) -> RunFolder:
    """A run over the spiral with frames at steps 8, 16 and 24."""
    return RunFolder(Path(start_run(tiny("loop.decision_boundary=every_validation"), workspace).folder))


def shown_page(qtbot: QtBot, context: AppContext, folder: RunFolder) -> RunPage:
    page = run_page(open_window(qtbot, context))
    context.live.attach(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    return page


def words(card: BoundaryCard) -> str:
    return card.words.text()


def test_the_newest_frame_is_shown_and_followed(qtbot: QtBot, context: AppContext, folder: RunFolder) -> None:
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(lambda: words(card) == "Epoch 3, step 24")
    assert card.isVisible()
    boundary = read_boundary(folder.boundary_file)
    assert boundary is not None
    before = card.plot.regions.image.copy()
    file, frame = BoundaryFile(folder.boundary_file, boundary.plane, 24), boundary.frames[0]
    file.add(32, 4, frame["classes"], frame["certainty"])
    card.refresh()
    qtbot.waitUntil(lambda: words(card) == "Epoch 4, step 32")
    assert (card.plot.regions.image != before).any()


def test_who_went_back_stays_there_while_more_come(qtbot: QtBot, context: AppContext, folder: RunFolder) -> None:
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(lambda: words(card) == "Epoch 3, step 24")
    card.slider.setValue(1)
    assert words(card) == "Epoch 2, step 16"
    boundary = read_boundary(folder.boundary_file)
    assert boundary is not None
    frame = boundary.frames[0]
    BoundaryFile(folder.boundary_file, boundary.plane, 24).add(32, 4, frame["classes"], frame["certainty"])
    card.refresh()
    qtbot.waitUntil(lambda: card.slider.maximum() == 3)
    assert words(card) == "Epoch 2, step 16"


def test_play_goes_from_the_first_to_the_last(qtbot: QtBot, context: AppContext, folder: RunFolder) -> None:
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(lambda: words(card) == "Epoch 3, step 24")
    card.rate.setCurrentIndex(card.rate.findText("25 frames/s"))
    seen: list[int] = []
    card.slider.valueChanged.connect(seen.append)
    card.play.click()
    assert card.play.toolTip() == "Stop here"
    qtbot.waitUntil(lambda: card.play.toolTip().startswith("Play"))
    assert seen == [0, 1, 2]


def test_it_is_saved_as_a_film_and_as_frames(
    qtbot: QtBot, context: AppContext, folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(lambda: words(card) == "Epoch 3, step 24")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "film"), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    card.save_gif.click()
    assert [note.text for note in told] == ["Saving film.gif …"]
    assert not card.save_gif.isEnabled()
    qtbot.waitUntil(lambda: len(told) == 2)
    assert (told[1].text, told[1].action_text) == (f"Saved as {tmp_path / 'film.gif'}.", "Open folder")
    assert card.save_gif.isEnabled()
    with Image.open(tmp_path / "film.gif") as image:
        assert (image.info["duration"], sum(1 for _ in ImageSequence.Iterator(image))) == (100, 3)
    card.save_frames.click()
    frames = tmp_path / f"{folder.id}-boundary"
    qtbot.waitUntil(lambda: frames.is_dir() and len(list(frames.glob("*.png"))) == 3)


def test_a_place_that_cannot_be_written_is_said(
    qtbot: QtBot, context: AppContext, folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(lambda: words(card) == "Epoch 3, step 24")
    told: list[str] = []
    context.notifier.notified.connect(lambda note: told.append(note.text))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "film.gif"), ""))
    card.save_gif.click()
    qtbot.waitUntil(lambda: any("cannot be written" in text for text in told))


def test_before_the_first_validation_the_samples_are_shown(
    qtbot: QtBot, context: AppContext, folder: RunFolder
) -> None:
    boundary = read_boundary(folder.boundary_file)
    assert boundary is not None
    BoundaryFile(folder.boundary_file, boundary.plane, 0)
    card = shown_page(qtbot, context, folder).charts.boundary
    qtbot.waitUntil(card.isVisible)
    assert not card.play.isVisible()
    assert not card.save_gif.isVisible()


def test_a_run_without_a_plane_has_no_card(
    qtbot: QtBot, context: AppContext, workspace: Path, folder: RunFolder
) -> None:
    other = start_run(tiny("dataset.kind=blobs", "dataset.features=3"), workspace)
    page = shown_page(qtbot, context, folder)
    qtbot.waitUntil(page.charts.boundary.isVisible)
    context.live.attach(Path(other.folder))
    qtbot.waitUntil(lambda: not page.charts.boundary.isVisible())


def test_the_terminal_draws_in_the_colors_of_the_light_theme() -> None:
    assert (LOOK.ground, LOOK.text, LOOK.classes) == (LIGHT.surface, LIGHT.text, LIGHT.curves)
