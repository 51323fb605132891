"""Preview and footer tell of the data that is chosen, and of no other, whatever was chosen before."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from tests.studio.pages_setup.fakes import Asked, FakeContext, report, words
from tests.studio.pages_setup.test_files_and_keys import drop
from tests.studio.pages_setup.test_other_data import flowers, press_keep, prices

COUNTS = {"shapes": 4811, "spiral": 2422, "moons": 2533, "flowers": 1644, "prices": 1755}
"""Training samples of each dataset: no other has as many."""

Walk = Callable[[str], None]


def name_of(dataset: dict[str, Any]) -> str:
    return Path(dataset.get("path") or dataset["kind"]).stem


@pytest.fixture
def walk(qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path) -> Walk:
    """Takes one step, looks at what is shown at once and, with "settle", after the engine has answered."""
    files = {"flowers": flowers(tmp_path), "prices": prices(tmp_path)}
    (question, chooser), answered = (page.previews.dataset, page.forms[1].chooser), list[Asked]()
    assert chooser is not None

    def answer_all() -> bool:
        for asked in context.engine.inspections:
            if asked not in answered and not asked.inquiry.canceled:
                answered.append(asked)
                name = name_of(asked.config["dataset"])
                asked.done(report(COUNTS[name], target="values" if name == "prices" else "class"))
        return not question.busy

    def keep() -> None:
        if page.other_data.banner.isVisible():
            press_keep(page)

    steps: dict[str, Callable[[], object]] = {
        "settle": lambda: qtbot.waitUntil(answer_all),
        "leave": page.hide,
        "return": page.show,
        "keep": keep,
        "undo": page.header.undo.click,
        "redo": page.header.redo.click,
    }

    def look(settled: bool) -> None:
        name = name_of(context.draft.settings()["dataset"])
        seen = [words(page.panels[0].preview), page.bar.summary.text()]
        others = {f"{count:,}": other for other, count in COUNTS.items() if other != name}
        assert not [other for count, other in others.items() if any(count in text for text in seen)]
        if settled and name in COUNTS:
            assert all(f"{COUNTS[name]:,}" in text for text in seen)

    def take(step: str) -> None:
        if step in steps:
            steps[step]()
        elif step in files:
            drop(page, files[step])
            qtbot.waitUntil(lambda: context.draft.settings()["dataset"].get("path") == str(files[step]))
        else:
            chooser.chosen.emit("dataset", step)
        look(settled=step == "settle" and page.isVisible())

    return take


@pytest.mark.parametrize(
    "steps",
    [
        "spiral settle leave return settle moons shapes spiral shapes settle",
        "prices settle shapes settle",
        pytest.param(
            "flowers settle shapes settle spiral settle shapes settle spiral shapes settle flowers settle",
            marks=pytest.mark.slow,
        ),
        "spiral settle shapes settle spiral shapes settle flowers settle keep settle undo settle",
    ],
)
def test_what_is_shown_is_of_the_data_that_was_chosen_last(walk: Walk, steps: str) -> None:
    for step in ["settle", *steps.split()]:
        walk(step)


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 2])
def test_what_is_shown_is_of_the_chosen_data_whatever_is_done_in_whatever_order(walk: Walk, seed: int) -> None:
    chance = random.Random(seed)
    others = ["settle", "settle", "settle", "undo", "redo", "keep", "leave"]
    for _ in range(25):
        step = chance.choice([*COUNTS, *others])
        walk(step)
        if step == "leave":
            walk("return")
    walk("settle")
