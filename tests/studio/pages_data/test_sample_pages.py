"""Passages and images, piece by piece: what is asked for, what stays, and what is said meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.data.page import DataPage
from studio.panels.data.text_card import TextCard
from tests.studio.pages_data.test_text_card import plain, text_report
from tests.studio.pages_setup.fakes import Asked, FakeContext, one_sample, refusal, report
from training.protocol.answers import PAGE, TEXTS
from training.protocol.messages import BrowseSamples


def page_of(offset: int, total: int = 480) -> dict[str, Any]:
    """Passages that are called by their places."""
    places = range(offset, min(offset + TEXTS, total))
    texts = [{"name": f"at {place}", "tokens": [f"{place}"], "place": place} for place in places]
    return {"offset": offset, "total": total, "texts": texts}


def asked(context: FakeContext) -> tuple[str, int]:
    """The part and the offset that were asked for last."""
    request = last(context).request
    assert isinstance(request, BrowseSamples)
    return request.part, request.offset


def last(context: FakeContext) -> Asked:
    return context.engine.pages[-1]


def first(card: TextCard) -> str:
    return plain(card.texts[0].text())


@pytest.fixture
def card(page: DataPage, context: FakeContext) -> TextCard:
    """With the first page of 480 passages."""
    context.engine.inspections[-1].done(text_report(first_page=page_of(0)))
    return page.text


def choose_part(card: TextCard, part: str) -> None:
    """As a person chooses an entry."""
    card.bar.part.setCurrentIndex(card.bar.part.findData(part))
    card.bar.part.activated.emit(card.bar.part.currentIndex())


def test_pages_are_turned_and_what_comes_too_late_is_dropped(card: TextCard, context: FakeContext) -> None:
    bar = card.bar
    assert bar.range.text() == "1–3 of 480"
    assert not context.engine.pages  # the first page came with the report
    assert not bar.previous.isEnabled()
    bar.following.click()
    assert asked(context) == ("train", 3)
    assert first(card) == "0"  # until the other page is there
    last(context).done(page_of(3))
    assert (bar.range.text(), first(card)) == ("4–6 of 480", "3")
    bar.following.click()
    bar.following.click()  # the person is faster than the engine
    assert asked(context) == ("train", 9)
    late, newest = context.engine.pages[-2:]
    assert late.inquiry.canceled
    newest.done(page_of(9))
    late.done(page_of(6))
    assert bar.range.text() == "10–12 of 480"
    bar.last.click()
    last(context).done(page_of(477))
    assert not bar.following.isEnabled()
    bar.first.click()
    assert asked(context) == ("train", 0)


def test_a_page_that_takes_its_time_says_so_and_a_refused_one_leaves_what_is_shown(
    qtbot: QtBot, card: TextCard, context: FakeContext
) -> None:
    card.bar.following.click()
    qtbot.waitUntil(lambda: card.bar.range.text() == "Loading 4–6 of 480 …")
    assert card.bar.message.isHidden()
    last(context).done(page_of(3))
    context.engine.training = True
    choose_part(card, "validation")
    assert asked(context) == ("validation", 0)
    qtbot.waitUntil(lambda: card.bar.range.text() == "Loading …")
    assert card.bar.message.text() == "A run is being trained, so a second engine reads these."
    last(context).failed(refusal("The engine is training inside this window."))
    assert card.bar.message.text().endswith("The engine is training inside this window.")
    assert (card.bar.part.currentData(), card.bar.range.text(), first(card)) == ("train", "4–6 of 480", "3")
    choose_part(card, "validation")
    last(context).done(page_of(0, 0))
    assert card.bar.message.text() == "No passage in the validation part."


def test_other_data_begins_at_its_first_page_and_the_same_data_keeps_the_place(
    qtbot: QtBot, card: TextCard, context: FakeContext
) -> None:
    card.bar.following.click()
    last(context).done(page_of(3))
    before = len(context.engine.pages)
    context.draft.set("dataset.samples", 900)
    assert not card.bar.following.isEnabled()  # the data is being read
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    context.engine.inspections[-1].done(text_report(first_page=page_of(0)))
    assert len(context.engine.pages) == before + 1
    assert asked(context) == ("train", 3)
    late = last(context)
    context.draft.set_kind("dataset", "spiral")
    context.draft.set_kind("dataset", "shapes")
    qtbot.waitUntil(lambda: len(context.engine.inspections) > 2)
    assert late.inquiry.canceled
    late.done(page_of(3))
    assert card.isHidden()
    context.engine.inspections[-1].done(text_report(classes=["a", "b"], first_page=page_of(0, 60)))
    assert card.bar.range.text() == "1–3 of 60"
    card.bar.following.click()
    assert last(context).config["dataset"]["kind"] == "shapes"


def test_images_of_other_data_that_come_too_late_are_not_shown(
    qtbot: QtBot, page: DataPage, context: FakeContext
) -> None:
    def list_of(kind: str, offset: int = 0) -> dict[str, Any]:
        shown = [one_sample(place=place, name=f"{kind} {place}") for place in range(offset, offset + PAGE)]
        return {"offset": offset, "total": 4800, "samples": shown}

    images, engine = page.images, context.engine
    engine.inspections[-1].done(report(first_page=list_of("old")))
    assert images.find(0) is not None
    assert "no exclude list: each sample is made" in page.browser.bar.why.text()
    images.find(30)
    qtbot.waitUntil(lambda: bool(engine.pages))
    late = last(context)
    context.draft.set("dataset.samples", 900)  # the same data of another size: what is there stays until it is read
    assert images.find(0) is not None
    context.draft.set_kind("dataset", "spiral")  # other data
    assert (images.has_data, images.total, images.find(0)) == (False, None, None)
    assert late.inquiry.canceled
    late.done(list_of("old", PAGE))
    assert images.find(30) is None
    context.draft.set_kind("dataset", "shapes")
    qtbot.waitUntil(lambda: len(engine.inspections) > 1)
    engine.inspections[-1].done(report(first_page=list_of("new")))
    assert [found.original.name for place in (0, 30) if (found := images.find(place))] == ["new 0"]
    context.draft.set("dataset.samples", 6)
    assert page.frame.message().startswith("No samples to show: Samples: ")
