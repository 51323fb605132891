"""The sheet of a branch on the Setup page: what is restored, changed and ignored, as the draft stands."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from tests.studio.pages_setup.fakes import FakeContext, branch_from_draft, words
from training.config.consent import agree
from training.runs.records.manifest import digest
from training.runs.records.teachers import teacher_as_it_is


@pytest.fixture
def branching(page: SetupPage, context: FakeContext) -> SetupPage:
    """The page, about to branch from step 1,400 of the sample."""
    branch_from_draft(context)
    return page


def said_by(page: SetupPage) -> str:
    """Title, summary and sheet."""
    return f"{words(page.sheet)}\n{page.sheet.view.text()}"


def test_the_sheet_follows_the_draft(branching: SetupPage, context: FakeContext) -> None:
    said = said_by(branching)
    assert "Continues from step 1,400. No setting is changed yet." in said
    assert said.count("No setting is changed yet.") == 1
    assert "The step and the data-loader position." in said
    context.draft.set("optimizer.weight_decay", 0.5)
    assert "Weight decay: 0.01 → 0.5" in said_by(branching)
    assert "from here on, because of Weight decay." in said_by(branching)
    context.draft.set("optimizer.lr", 0.5)
    assert "Note: " in said_by(branching)
    assert "optimizer.lr" not in said_by(branching).lower(), "settings are called as the forms call them"
    context.draft.set("seed", 7)
    said = said_by(branching)
    assert "Starts at step 0 with the weights of step 1,400." in said
    assert "The step, the data-loader position and the state of the random numbers, because" in said
    for _ in range(3):
        context.draft.undo()
    assert "No setting is changed yet." in said_by(branching)


def test_another_kind_does_not_list_what_it_brings_along(branching: SetupPage, context: FakeContext) -> None:
    context.draft.set_kind("schedule", "plateau")
    context.draft.set("schedule.factor", 0.25)
    said = said_by(branching)
    assert "LR scheduler: OneCycleLR → ReduceLROnPlateau" in said
    assert "Factor: 0.25" in said
    assert "Patience" not in said
    assert "Warm-up fraction" not in said


def test_what_cannot_be_done_cannot_be_started(branching: SetupPage, context: FakeContext) -> None:
    context.draft.set_kind("model", "mlp")
    assert "This cannot be done: the weights belong to another model, because Architecture is changed" in said_by(
        branching
    )
    assert not branching.sheet.more.isVisible()
    assert not branching.bar.start_button.isEnabled()
    assert branching.bar.reason.text() == "This branch cannot start; the reason stands above."
    branching.start()
    assert context.started == []
    context.cancel_branch()
    assert branching.bar.start_button.isEnabled()


def test_a_teacher_that_was_changed_in_place_is_told(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    code, weights = tmp_path / "teacher.py", tmp_path / "teacher.pth"
    code.write_text("def build(features: int, classes: int): ...\n", encoding="utf-8")
    weights.write_bytes(b"numbers")
    agree(digest(code), str(code))
    context.draft.set_kind("objective", "distillation")
    for name, value in (("", code), ("_trusted", digest(code)), ("_weights", weights)):
        context.draft.set(f"objective.teacher{name}", str(value))
    branch_from_draft(context, teacher=teacher_as_it_is(context.draft.config() or pytest.fail("it cannot be used")))
    assert "teacher" not in said_by(page)
    weights.write_bytes(b"others!")
    context.draft.recheck()  # what coming back to the window asks for
    assert f"The teacher is another from here on ({weights} has changed), so the loss's curve may jump." in said_by(
        page
    )
    weights.write_bytes(b"numbers")
    context.draft.recheck()
    assert "teacher" not in said_by(page)


def test_folding_and_making_room(qtbot: QtBot, branching: SetupPage) -> None:
    view = branching.sheet.view
    assert view.isVisible(), "a page this high has room for the sheet"
    branching.sheet.more.click()
    assert not view.isVisible()
    branching.sheet.more.click()
    assert view.isVisible()
    branching.resize(700, 540)
    branching.sheet.more.click()
    assert view.isVisible()
    branching.bar.check_asked.emit()
    assert not view.isVisible()


def test_a_sheet_unfolded_in_a_large_window_does_not_hide_a_small_page(branching: SetupPage) -> None:
    sheet = branching.sheet
    assert sheet.view.isVisible()
    branching.resize(700, 540)
    assert not sheet.view.isVisible()
    assert sheet.more.text() == "Show summary"
    sheet.more.click()
    branching.resize(690, 520)
    assert sheet.view.isVisible(), "what was asked for in a small window stays"
    branching.resize(700, 900)
    assert sheet.view.isVisible()
    sheet.more.click()
    branching.resize(700, 540)
    branching.resize(700, 900)
    assert not sheet.view.isVisible(), "what was put away stays so"


def test_a_small_page_cuts_no_line_off(qtbot: QtBot, branching: SetupPage, context: FakeContext) -> None:
    for path, value in (("optimizer.lr", 0.5), ("optimizer.weight_decay", 0.5), ("loop.epochs", 9)):
        context.draft.set(path, value)
    area = branching.sheet._area

    def hidden() -> int:
        """Lines of pixels of the sheet that neither the card nor the scroll bar shows."""
        return area.height() - area.visibleRegion().boundingRect().height()

    for height in (900, 540, 500, 900):
        branching.resize(700, height)
        if not area.isVisible():
            branching.sheet.more.click()
        qtbot.waitUntil(lambda: hidden() == 0)
        scrolled = area.verticalScrollBar().maximum()
        assert area.viewport().height() + scrolled >= branching.sheet.view.heightForWidth(area.viewport().width())
        assert area.height() >= 64
    assert area.height() > 150, "it grows again with the page"
