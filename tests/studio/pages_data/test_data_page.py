"""The Data page over the engine's own reading: what is listed, filtered, left out, found twice, and how all of it is taken back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from studio.actions import excluding
from studio.engine.client import Ticket
from studio.pages.data.page import DataPage
from studio.pages.setup.previews.dataset_preview import DatasetPreview
from studio.panels.data.data_images import DataImages, Listing
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.theme import dress_at_end
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_setup.fakes import FakeContext
from training.data.browse import Browser
from training.errors import TrainingError
from training.exclude_list import read_exclude_list
from training.protocol.messages import BrowseSamples, DataQuestion, Quit, Refusal


class ReadingEngine:
    """Answers at once what is asked of the data, in JSON, as an engine of its own does."""

    training = False

    def __init__(self) -> None:
        self.browser = Browser(keeps=True)
        self.asked: list[DataQuestion] = []

    def ask(
        self,
        request: DataQuestion,
        answer_type: Any,
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Refusal], object],
        show_progress: object = None,
    ) -> Ticket:
        self.asked.append(request)
        try:
            found = self.browser.answer(request, lambda text, fraction: None)
        except TrainingError as error:
            handle_failure(Refusal(message=error.message, advice=error.advice))
        else:
            handle_result(answer_type.model_validate_json(json.dumps(found.model_dump(mode="json"))))
        return Ticket(Quit(), print)


@pytest.fixture
def context(qapp: QApplication, tmp_path: Path) -> FakeContext:
    made = FakeContext()
    made.engine = ReadingEngine()  # type: ignore[assignment]
    made.workspace = tmp_path / "workspace"
    (tmp_path / "workspace").mkdir()
    return made


def open_page(qtbot: QtBot, qapp: QApplication, context: FakeContext, **dataset: Any) -> DataPage:
    with dress_at_end(qapp):
        page = DataPage(cast("AppContext", context), delay=0)
        qtbot.addWidget(page)
        context.draft.set_data({"dataset": dataset})
    page.resize(1000, 700)
    page.show()
    qtbot.waitUntil(lambda: not page._look.question.busy and page._look.question.answer is not None)
    return page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """40 cats and 10 dogs of noise; a cat that is held out is a copy of one that is trained on."""
    noise = np.random.default_rng(0)
    for name, count in (("cat", 40), ("dog", 10)):
        place = tmp_path / "animals" / "train" / name
        place.mkdir(parents=True)
        for number in range(count):
            Image.fromarray(noise.integers(0, 256, (8, 8, 3), np.uint8)).save(place / f"{name}-{number:02}.png")
    for name in ("cat", "dog"):
        held = tmp_path / "animals" / "val" / name
        held.mkdir(parents=True)
        shutil.copy(tmp_path / "animals" / "train" / name / f"{name}-03.png", held / f"{name}-held.png")
    return tmp_path / "animals"


def names_of(images: DataImages) -> list[str]:
    """What all listed samples are called, once they are there."""
    found = [images.find(place) for place in range(images.total or 0)]
    return [each.original.name for each in found if each is not None]


def test_images_are_listed_filtered_left_out_and_taken_back(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    images, browser = page.images, page.browser
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    qtbot.waitUntil(lambda: len(names_of(images)) == 50)  # two blocks and a bit, each asked for when it is looked at
    browser.of_class.setCurrentIndex(browser.of_class.findData("dog"))
    browser.of_class.activated.emit(browser.of_class.currentIndex())
    browser.name.setText("dog-0")
    browser.name.returnPressed.emit()
    qtbot.waitUntil(lambda: len(names_of(images)) == 10)
    assert all("dog-0" in name for name in names_of(images))
    monkeypatch.setattr(excluding, "ask", lambda *rest: "here")
    browser.grid.selectAll()
    browser.bar.button.click()
    listed = Path(str(context.draft.value("dataset.exclude")))
    assert len(read_exclude_list(listed)) == 10
    qtbot.waitUntil(lambda: images.report.samples.get("train") == 40)
    assert browser.part.findData("excluded") >= 0
    told[-1].action()  # type: ignore[misc]  # Undo
    assert not read_exclude_list(listed)
    assert context.draft.value("dataset.exclude") is None
    qtbot.waitUntil(lambda: images.report.samples.get("train") == 50)


def test_a_sample_of_setup_is_shown_large_here(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path
) -> None:
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    preview = DatasetPreview(cast("AppContext", context), page._look)
    qtbot.addWidget(preview)
    page.images.choose(Listing(name="dog"))
    page.tabs.setCurrentIndex(2)
    preview.images.opened.emit(5)
    assert context.shown == ["data"]
    assert page.tabs.currentIndex() == 0
    dialog = page.browser.dialog
    assert dialog is not None
    wait_for_soundness(qtbot, dialog)
    assert dialog.place.text() == "6 of 50"
    dialog.reject()


def test_rows_are_left_out_and_taken_back(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "animals.csv"
    file.write_text(
        "\n".join(["size,kind", *(f"{number / 7:.3f},{'cat' if number % 2 else 'dog'}" for number in range(60))])
    )
    page = open_page(qtbot, qapp, context, kind="table", path=str(file), targets=["kind"])
    rows, told = page.rows, list[Notification]()
    context.notifier.notified.connect(told.append)
    monkeypatch.setattr(excluding, "ask", lambda *rest: "here")
    assert not rows.bar.button.isEnabled()
    rows.table.bar.following.click()
    rows.table.view.selectRow(2)
    assert rows.bar.told.text() == "60 rows, 1 selected"
    rows.bar.button.click()
    listed = Path(str(context.draft.value("dataset.exclude")))
    assert [*read_exclude_list(listed).values()] == ["row 33"]
    qtbot.waitUntil(lambda: rows.part.findData("excluded") > 0)
    rows.part.setCurrentIndex(rows.part.findData("excluded"))
    rows.part.activated.emit(rows.part.currentIndex())
    qtbot.waitUntil(lambda: page._look.pages.total == 1)
    rows.table.view.selectRow(0)
    assert rows.bar.button.text() == "Include again"
    rows.bar.button.click()
    assert not read_exclude_list(listed)
    told[-1].action()  # type: ignore[misc]  # Undo
    assert len(read_exclude_list(listed)) == 1


def test_a_screenful_is_one_question_and_what_is_scrolled_past_is_none(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path
) -> None:
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    images, asked = page.images, cast("ReadingEngine", context.engine).asked
    page.browser.grid.hide()  # what is wanted is chosen here

    def list_questions(name: str, wanted: Sequence[int], looked_at: range) -> list[tuple[int, int]]:
        qtbot.waitUntil(lambda: not images.waiting)
        images.choose(Listing(name=name))
        qtbot.waitUntil(lambda: images.total == 50 and not images.waiting)
        asked.clear()
        for place in wanted:
            images.find(place)
        images.look_at(looked_at)
        qtbot.waitUntil(lambda: not images.waiting)
        return [(each.offset, each.count) for each in asked if isinstance(each, BrowseSamples)]

    assert list_questions(".png", range(50), range(50)) == [(24, 48)]
    assert len(names_of(images)) == 50
    assert list_questions("-", (24, 48), range(48, 50)) == [(48, 24)]
    grid, bar = page.browser.grid, page.browser.grid.verticalScrollBar()
    grid.show()
    page.browser.scale.setValue(page.browser.scale.maximum())
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    images.choose(Listing(name="dog"))  # the grid is empty, and at its top, before anything of it is known
    qtbot.waitUntil(lambda: images.total == 10)


def test_a_class_is_left_out_and_taken_back(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path
) -> None:
    for part in ("train", "val"):
        shutil.copytree(folder / part / "dog", folder / part / "fox")
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    choice = page.classes.list
    qtbot.waitUntil(lambda: len([*choice.view.items()]) == 3)
    choice.view.setCurrentItem(next(item for item in choice.view.items() if "fox" in item.text(0)))
    qtbot.keyClick(choice.view, Qt.Key.Key_Space)
    assert context.draft.value("dataset.classes") == ["cat", "dog"]
    assert told[-1].text == "2 of 3 classes are trained on."
    told[-1].action()  # type: ignore[misc]  # Undo
    assert context.draft.value("dataset.classes") == []
    assert choice.names() == []  # all


def test_copies_and_uneven_classes_are_named_and_classes_chosen(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path
) -> None:
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    assert "40 training samples" in page.classes.balance.text()
    assert "(4 to 1)" in page.classes.balance.text()
    assert "0.625 times" in page.classes.balance.text()  # 50 / (2 * 40)
    page.classes.bars.clicked.emit(page.classes.bars.model().index(1, 0))
    assert (page.tabs.currentIndex(), page.images.choice) == (0, Listing("train", "dog"))
    page._look.samples_asked.emit()
    assert page.images.choice == Listing()
    card = page.parts.duplicates
    card.ask()
    assert "2 held-out samples are trained on, too" in card.told.text()
    assert any("cat-held.png" in card.list.item(row).text() for row in range(card.list.count()))
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    card.remove.click()
    assert context.draft.value("dataset.duplicates") == "drop_from_validation"
    told[-1].action()  # type: ignore[misc]  # Undo
    assert context.draft.value("dataset.duplicates") == "keep"
    page.classes.list.none_button.click()
    assert "at least two" in page.classes.problem.text()
    assert context.draft.value("dataset.classes") == []  # nothing was changed


def test_a_folder_that_is_gone_or_empty_says_so_and_comes_back(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path, tmp_path: Path
) -> None:
    page = open_page(qtbot, qapp, context, kind="image_folder", path=str(folder))
    question = page._look.question
    page.browser.enlarge(3)
    dialog = page.browser.dialog
    assert dialog is not None
    folder.rename(tmp_path / "elsewhere")
    page.again.click()
    qtbot.waitUntil(lambda: not question.busy and question.answer is None)
    assert not (isValid(dialog) and dialog.isVisible())  # it would show what is gone
    assert str(folder) in page.frame.message()  # there are no fields here that could say it
    folder.mkdir()
    page.again.click()
    qtbot.waitUntil(lambda: not question.busy)
    assert page.frame.message()
    folder.rmdir()
    (tmp_path / "elsewhere").rename(folder)
    page.again.click()
    qtbot.waitUntil(lambda: question.answer is not None)
    assert not page.frame.message()
    qtbot.waitUntil(lambda: page.images.total == 50)


def test_rows_are_filtered_by_part_and_by_a_cell(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "animals.csv"
    rows = [f"{number},{'cat' if number % 2 else 'dog'},{'' if number < 3 else number / 10}" for number in range(60)]
    file.write_text("\n".join(["number,kind,size", *rows]))
    page = open_page(qtbot, qapp, context, kind="table", path=str(file), targets=["kind"])
    rows_tab = page.rows

    def find(column: str, value: str, part: str = "") -> int:
        rows_tab.part.setCurrentIndex(rows_tab.part.findData(part))
        rows_tab.column.setCurrentIndex(rows_tab.column.findData(column))
        rows_tab.value.setText(value)
        rows_tab.value.returnPressed.emit()
        return page._look.pages.total

    assert find("size", "") == 60
    assert find("size", "missing") == 3
    assert find("number", "10..19") == 10
    assert find("number", ">= 50") == 10
    assert find("kind", "CA") == 30
    assert find("kind", "= ca") == 0
    assert find("kind", "!= cat") == 30
    assert find("size", "", "validation") == 12
    find("number", "cat")
    assert "holds numbers" in page._look.pages.refusal
    assert find("number", "59") == 1
    header = rows_tab.table.view.verticalHeader().model()
    assert header.headerData(0, rows_tab.table.view.verticalHeader().orientation()) == "60"  # its number in the file
    sizes = page.columns.model
    texts = [str(sizes.index(2, column).data()) for column in range(sizes.columnCount())]
    assert texts[3] == "3 (5.0%)"
    assert texts[5] == "0.3 to 5.9"


@pytest.mark.parametrize("kind", ["images", "table"])
def test_every_tab_is_used_by_keyboard_and_screen_reader(
    qtbot: QtBot, qapp: QApplication, context: FakeContext, folder: Path, kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("kind,weight\n" + "".join(f"{'cat' if row % 2 else 'dog'},{row}\n" for row in range(40)))
    given = (
        {"kind": "image_folder", "path": str(folder)}
        if kind == "images"
        else {"kind": "table", "path": str(file), "targets": ["kind"]}
    )
    page = open_page(qtbot, qapp, context, **given)
    for number in range(page.tabs.count()):
        if page.tabs.isTabVisible(number):
            page.tabs.setCurrentIndex(number)
            qtbot.wait(50)
            wait_for_soundness(qtbot, page, page.tabs.tabText(number))
