"""Files dragged over the window: what will happen is said before they are let go, on every page."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QDragLeaveEvent, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from tests.cases import first_of
from tests.studio.window_driver import carry, drag, let_go, open_window, overlay
from tests.training.tiny import tiny
from training.runs.folder import create_run


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
        image = QImage(32, 32, QImage.Format.Format_RGB32)
        image.fill(0)
        assert image.save(str(folder / name / "1.png"))
    return folder


@pytest.mark.parametrize("key", first_of(["setup", "runs", "data", "run"], 2))
def test_a_folder_over_any_page_is_named_and_becomes_the_dataset(
    qtbot: QtBot, context: AppContext, photos: Path, key: str
) -> None:
    window = open_window(qtbot, context, key)
    shown = overlay(window)
    assert shown.isHidden()
    data = carry(photos)
    assert drag(window, data)
    assert shown.isVisible()
    assert shown.geometry() == window.rect()
    qtbot.waitUntil(lambda: shown.message() == "Use photos/ as the dataset")
    assert shown.accessibleName().startswith("Use photos/ as the dataset")
    assert context.draft.kind("dataset") != "image_folder"
    let_go(shown, data)
    assert shown.isHidden()
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "image_folder")
    assert context.draft.value("dataset.path") == str(photos)
    assert context.draft.value("dataset.image_size") is None, "small images keep their size"
    assert window.rail.current() == "setup"


def test_a_configuration_over_the_runs_is_opened_in_the_setup(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    window = open_window(qtbot, context, "runs")
    file = tmp_path / "run.toml"
    file.write_text('name = "lab"\n')
    data = carry(file)
    drag(window, data)
    qtbot.waitUntil(lambda: overlay(window).message() == "Open run.toml")
    let_go(overlay(window), data)
    qtbot.waitUntil(lambda: context.draft.value("name") == "lab")
    assert window.rail.current() == "setup"


@pytest.mark.parametrize("by", ["folder", "opener"])
def test_a_run_is_shown(qtbot: QtBot, context: AppContext, tmp_path: Path, by: str) -> None:
    window = open_window(qtbot, context, "setup")
    run = create_run(tmp_path, tiny())
    data = carry(run.path if by == "folder" else run.opener_file)
    drag(window, data)
    qtbot.waitUntil(lambda: overlay(window).message() == f"Open the run {run.id}")
    let_go(overlay(window), data)
    qtbot.waitUntil(lambda: context.shown.run.folder == run)
    assert window.rail.current() == "run"


def test_what_cannot_be_used_is_refused_in_words_before_and_after(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    window = open_window(qtbot, context, "run")
    heard: list[str] = []
    context.notifier.notified.connect(lambda notice: heard.append(notice.text))
    file = tmp_path / "film.mp4"
    file.touch()
    data = carry(file, tmp_path / "other.mp4")
    before = context.draft.settings()
    drag(window, data)
    qtbot.waitUntil(lambda: overlay(window).message() == "film.mp4 holds no dataset this program knows.")
    assert overlay(window).detail().endswith("Only the first of 2 files is taken.")
    let_go(overlay(window), data)
    qtbot.waitUntil(lambda: len(heard) == 1)
    assert heard[0].startswith("film.mp4 holds no dataset")
    assert context.draft.settings() == before
    assert window.rail.current() == "run"
    file.unlink()  # what is gone is not told to hold nothing
    drag(window, data)
    qtbot.waitUntil(lambda: overlay(window).message().endswith("cannot be read (No such file or directory)."))


def test_the_overlay_goes_with_the_drag_and_other_things_are_let_through(
    qtbot: QtBot, context: AppContext, photos: Path
) -> None:
    window = open_window(qtbot, context, "run")
    words = QMimeData()
    words.setText("hello")
    drag(window, words)
    assert overlay(window).isHidden()
    data = carry(photos)
    drag(window, data)
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert drag(overlay(window), data)  # it only went over to what covers the page
    qtbot.wait(200)
    assert overlay(window).isVisible()
    QApplication.sendEvent(overlay(window), QDragLeaveEvent())
    qtbot.waitUntil(lambda: overlay(window).isHidden())


def test_a_folder_of_images_and_masks_is_used_as_it_is_laid_out(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    for part in ("train", "val"):
        for folder, name in ((part, "1.jpg"), (f"{part}annot", "1.png")):
            (tmp_path / "CamVid" / folder).mkdir(parents=True)
            (tmp_path / "CamVid" / folder / name).touch()
    window = open_window(qtbot, context, "runs")
    shown, data = overlay(window), carry(tmp_path / "CamVid")
    drag(window, data)
    qtbot.waitUntil(lambda: "train: train with trainannot; validation: val with valannot" in shown.accessibleName())
    let_go(shown, data)
    qtbot.waitUntil(lambda: context.draft.kind("dataset") == "segmentation")
    names = ("train_images", "train_masks", "validation_images", "validation_masks", "test_images")
    assert [context.draft.value(f"dataset.{name}") for name in names] == ["train", "trainannot", "val", "valannot", ""]
