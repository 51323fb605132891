"""The samples of a dataset, page by page: what is asked for, what stays, and what is said meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.setup.samples.sample_dialog import SampleDialog
from studio.pages.setup.samples.samples_card import SamplesCard
from studio.panels.data.text_card import TextCard
from tests.studio.pages_setup.fakes import Asked, FakeContext, one_sample, refusal, report
from tests.studio.pages_setup.test_text_card import text_report
from training.protocol.answers import PAGE
from training.protocol.messages import BrowseSamples

CIRCLE, TRAM = report()["classes"]


def page_of(offset: int, total: int, **changes: Any) -> dict[str, Any]:
    """A page of images that are called by their places."""
    places = range(offset, min(offset + PAGE, total))
    samples = [one_sample(place=place, name=f"{place}.png", label=f"at {place}") for place in places]
    return {"offset": offset, "total": total, "samples": samples} | changes


def asked(context: FakeContext) -> tuple[str, tuple[str, ...], int]:
    """The part, the classes and the offset that were asked for last."""
    request = context.engine.pages[-1].request
    assert isinstance(request, BrowseSamples)
    return request.part, request.classes, request.offset


def last(context: FakeContext) -> Asked:
    return context.engine.pages[-1]


def shown(card: SamplesCard) -> list[str]:
    return [thumbnail.name for thumbnail in card.grid.thumbnails()]


@pytest.fixture
def card(page: SetupPage, context: FakeContext) -> SamplesCard:
    """With the first page of 4,800 samples."""
    context.engine.inspections[-1].done(report(first_page=page_of(0, 4800)))
    found = page.findChild(SamplesCard)
    assert isinstance(found, SamplesCard)
    return found


def choose(card: SamplesCard, box: str, key: str) -> None:
    """As a person chooses an entry."""
    choice = getattr(card.bar, box)
    choice.setCurrentIndex(choice.findData(key))
    choice.activated.emit(choice.currentIndex())


def test_pages_are_turned_by_buttons_and_keys(qtbot: QtBot, card: SamplesCard, context: FakeContext) -> None:
    bar = card.bar
    assert bar.range.text() == "1–24 of 4,800"
    assert not context.engine.pages  # the first page came with the report
    assert not bar.previous.isEnabled()
    bar.following.click()
    assert asked(context) == ("train", (), 24)
    assert shown(card)[0] == "0.png"  # until the other page is there
    last(context).done(page_of(24, 4800))
    assert (bar.range.text(), shown(card)[0]) == ("25–48 of 4,800", "24.png")
    with qtbot.waitActive(card):
        card.activateWindow()
    card.grid.setFocus()
    qtbot.keyClick(card.grid, Qt.Key.Key_PageDown)
    assert asked(context)[2] == 48
    qtbot.keyClick(card.grid, Qt.Key.Key_PageDown)  # the person is faster than the engine
    assert asked(context)[2] == 72
    first, second = context.engine.pages[-2:]
    assert first.inquiry.canceled
    second.done(page_of(72, 4800))
    first.done(page_of(48, 4800))  # too late
    assert bar.range.text() == "73–96 of 4,800"
    qtbot.keyClick(card.grid, Qt.Key.Key_PageUp)
    assert asked(context)[2] == 48
    bar.last.click()
    assert asked(context)[2] == 4776
    last(context).done(page_of(4776, 4800))
    assert not bar.following.isEnabled()
    bar.first.click()
    assert asked(context)[2] == 0


def test_a_part_and_a_class_are_chosen(card: SamplesCard, context: FakeContext) -> None:
    assert [card.bar.part.itemText(at) for at in range(2)] == ["Training (4,800)", "Validation (1,200)"]
    assert [card.bar.of_class.itemText(at) for at in range(3)] == ["All classes", f"{CIRCLE} (4,799)", f"{TRAM} (1)"]
    choose(card, "of_class", CIRCLE)
    assert asked(context) == ("train", (CIRCLE,), 0)
    choose(card, "part", "validation")  # before the answer
    assert asked(context) == ("validation", (CIRCLE,), 0)
    last(context).done(page_of(0, 1200))
    assert card.bar.range.text() == "1–24 of 1,200"
    assert card.bar.of_class.itemText(2) == f"{TRAM} (0)"
    choose(card, "of_class", TRAM)
    last(context).done(page_of(0, 0))
    assert card.bar.message.text() == f"No sample of class {TRAM} in the validation part."
    assert card.grid.isHidden()
    assert not card.isHidden()  # or nobody could choose another class
    choose(card, "of_class", "")
    last(context).done(page_of(0, 1200))
    assert card.bar.message.isHidden()
    assert len(shown(card)) == PAGE


def test_a_page_that_takes_its_time_says_so(qtbot: QtBot, card: SamplesCard, context: FakeContext) -> None:
    card.bar.following.click()
    qtbot.waitUntil(lambda: card.bar.range.text() == "Loading 25–48 of 4,800 …")
    assert card.bar.message.isHidden()
    last(context).done(page_of(24, 4800))
    context.engine.training = True
    choose(card, "part", "validation")
    qtbot.waitUntil(lambda: card.bar.range.text() == "Loading …")
    assert card.bar.message.text() == "A run is being trained, so a second engine reads these."


def test_a_refused_page_leaves_what_is_shown(card: SamplesCard, context: FakeContext) -> None:
    choose(card, "part", "validation")
    last(context).failed(refusal("The engine is training inside this window."))
    assert card.bar.message.text().endswith("The engine is training inside this window.")
    assert (card.bar.part.currentData(), card.bar.range.text()) == ("train", "1–24 of 4,800")
    assert shown(card)[0] == "0.png"
    card.bar.following.click()
    last(context).done(page_of(24, 4800))
    assert card.bar.message.isHidden()


def test_files_that_cannot_be_read_are_named(card: SamplesCard, context: FakeContext) -> None:
    card.bar.following.click()
    broken = [{"path": f"{place}.png", "reason": "it is empty"} for place in range(24, 29)]
    last(context).done(page_of(24, 4800, unreadable=broken))
    assert card.bar.message.text().splitlines()[1:] == [
        *(f"{place}.png: it is empty" for place in range(24, 27)),
        "and 2 more",
    ]


def test_other_data_begins_at_its_first_page_whatever_was_on_its_way(
    qtbot: QtBot, page: SetupPage, card: SamplesCard, context: FakeContext
) -> None:
    choose(card, "of_class", CIRCLE)
    context.draft.set_kind("dataset", "spiral")
    context.draft.set_kind("dataset", "shapes")
    late = last(context)
    qtbot.waitUntil(lambda: len(context.engine.inspections) > 1)
    assert late.inquiry.canceled
    late.done(page_of(0, 4799))
    assert page.previews.pages.page is None
    context.engine.inspections[-1].done(report(600, classes=["a", "b"], first_page=page_of(0, 600)))
    assert (card.bar.range.text(), card.bar.of_class.currentData()) == ("1–24 of 600", "")
    card.bar.following.click()
    assert last(context).config["dataset"]["kind"] == "shapes"


def test_the_same_data_otherwise_augmented_keeps_the_place(
    qtbot: QtBot, card: SamplesCard, context: FakeContext
) -> None:
    choose(card, "of_class", CIRCLE)
    last(context).done(page_of(0, 4799))
    card.bar.following.click()
    last(context).done(page_of(24, 4799))
    before = len(context.engine.pages)
    context.draft.set("dataset.flip", True)
    assert not card.bar.following.isEnabled()  # the data is being read
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    context.engine.inspections[-1].done(report(first_page=page_of(0, 4800)))
    assert len(context.engine.pages) == before + 1
    assert asked(context) == ("train", (CIRCLE,), 24)
    assert last(context).config["dataset"]["flip"] is True
    last(context).done(page_of(24, 4799))
    assert card.bar.range.text() == "25–48 of 4,799"


def test_larger_images_have_names(card: SamplesCard, context: FakeContext) -> None:
    narrow = card.grid.gridSize()
    assert not card.smaller.isEnabled()
    card.larger.click()
    assert context.settings.get().sample_size == 1  # as the next start has it
    assert card.grid.gridSize().width() > narrow.width()
    assert card.grid.gridSize().height() - card.grid.gridSize().width() > narrow.height() - narrow.width()
    card.larger.click()
    assert not card.larger.isEnabled()
    card.smaller.click()
    card.smaller.click()
    assert card.grid.gridSize() == narrow


def test_the_large_view_goes_on_to_the_next_page(qtbot: QtBot, card: SamplesCard, context: FakeContext) -> None:
    card.grid.clicked.emit(card.grid.model().index(PAGE - 1, 0))
    dialog = card.findChild(SampleDialog)
    assert isinstance(dialog, SampleDialog)
    assert dialog.place.text() == "24 of 4,800"
    qtbot.keyClick(dialog, Qt.Key.Key_Right)
    assert (asked(context)[2], dialog.place.text()) == (24, "Loading …")
    qtbot.keyClick(dialog, Qt.Key.Key_Right)  # nowhere to go yet
    last(context).done(page_of(24, 4800, samples=[], unreadable=[{"path": "x", "reason": "broken"}]))
    assert asked(context)[2] == 48  # past a page of which nothing can be shown
    last(context).done(page_of(48, 4800))
    assert (dialog.title.text(), dialog.place.text()) == ("at 48", "49 of 4,800")
    qtbot.keyClick(dialog, Qt.Key.Key_Left)
    last(context).failed(refusal("The engine is gone."))
    assert (dialog.title.text(), dialog.place.text()) == ("at 48", "49 of 4,800")
    assert "The engine is gone." in dialog.detail.text()
    qtbot.keyClick(dialog, Qt.Key.Key_Left)
    last(context).done(page_of(24, 4800))
    assert dialog.place.text() == "48 of 4,800"
    dialog.accept()


def test_passages_of_a_text_are_paged_too(page: SetupPage, context: FakeContext) -> None:
    context.engine.inspections[-1].done(text_report())
    card = page.findChild(TextCard)
    assert isinstance(card, TextCard)
    assert card.bar.range.text() == "1–3 of 480"
    assert card.bar.of_class.isHidden()
    card.bar.following.click()
    assert asked(context) == ("train", (), 3)
    last(context).done(
        {"offset": 3, "total": 480, "texts": [{"name": "tokens 9 to 12", "tokens": ["moon"], "place": 3}]}
    )
    assert card.bar.range.text() == "4–6 of 480"
    assert "moon" in card.texts[0].text()
