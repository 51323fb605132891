"""Start, what keeps it from starting, and Check."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from studio.forms.field_row import FieldRow
from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.dataset_preview import DatasetPreview
from studio.pages.setup.previews.optimization_preview import OptimizationPreview
from studio.panels.data.preview_frame import PreviewFrame
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds
from tests.studio.every_setting import named, other_value, settings_of, wrong_value
from tests.studio.pages_setup.fakes import FakeContext, answer, words
from training.config.field_spec import FieldSpec
from training.config.run import SECTIONS
from training.errors import Problem


def test_the_untouched_page_starts_the_built_in_sample(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    assert page.bar.start_button.isEnabled()
    assert page.bar.start_button.toolTip() == "Train with these settings (Ctrl+Enter)"
    assert not page.bar.reason.isVisible()
    qtbot.mouseClick(page.bar.start_button, Qt.MouseButton.LeftButton)
    assert [config.dataset.kind for config in context.started] == ["shapes"]


def test_the_summary_tells_what_will_run(page: SetupPage, context: FakeContext) -> None:
    assert page.bar.summary.text() == "Small CNN on the dataset, 5 epochs"
    answer(context)
    assert page.bar.summary.text() == "Small CNN on 4,800 samples, 5 epochs of 75 steps"
    context.draft.set_kind("model", "torchvision")
    context.draft.set("loop.max_steps", 10)
    assert page.bar.summary.text() == "resnet18 on 4,800 samples, 10 steps"


SLOWER = ("dataset", "optimizer", "objective", "model", "schedule")
"""Sections of many kinds, each of which has its own settings."""


@pytest.mark.parametrize(
    "section",
    [pytest.param(section, marks=pytest.mark.slow) if section in SLOWER else section for section in (RUN, *SECTIONS)],
)
def test_every_bad_value_disables_start_with_the_reason(
    page: SetupPage, context: FakeContext, section: str, tmp_path: Path
) -> None:
    answer(context)
    page.previews.set_active(
        False
    )  # what Start waits for is tried elsewhere, and so is what the data tell of other kinds
    page.previews.dataset.answer = None
    for kind in [kind for kind in kinds(section) if not kind.startswith("user_")] or [""]:
        draft = Draft()  # of its own: each kind of data that is tried would be shown by the page
        for spec in settings_of(draft, section, kind, tmp_path):
            with named(section, kind, spec):
                context.draft.set_data(draft.data())
                refuse_and_start(page, context, section, spec, tmp_path)


def refuse_and_start(page: SetupPage, context: FakeContext, section: str, spec: FieldSpec, folder: Path) -> None:
    """A wrong value takes Start away and says why; another gives it back."""
    path = join_path(section, spec.name)
    assert page.bar.start_button.isEnabled()
    context.draft.set(path, wrong_value(spec))
    assert not page.bar.start_button.isEnabled()
    ((wrong_path, sentence),) = page.problem_sentences()
    assert wrong_path == path
    assert sentence.startswith(f"{spec.title}: ")
    where = next(form.heading for form in page.forms if form.knows(path))
    assert page.bar.start_button.toolTip() == f"1 setting to put right: {where} › {spec.title}"
    assert sentence not in page.bar.reason.text()  # the field says it
    page.bar.start_asked.emit()
    assert context.started == []
    context.draft.set(path, other_value(spec, folder))
    assert page.bar.start_button.isEnabled()


def test_the_link_in_the_start_bar_goes_to_the_field(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    context.draft.set("loop.ema_decay", "much")
    assert page.tabs.accessibleTabName(3) == "Precision and loop, 1 setting to put right"
    assert page.bar.reason.text() == '1 setting to put right: <a href="loop.ema_decay">Training loop › EMA decay</a>'
    assert page.bar.reason.focusPolicy() & Qt.FocusPolicy.TabFocus
    page.bar.reason.linkActivated.emit("loop.ema_decay")
    assert page.tabs.currentIndex() == 3
    row = next(form for form in page.forms if form.section == "loop").rows()["loop.ema_decay"]
    qtbot.waitUntil(row.isVisible)
    focused = page.focusWidget()
    assert isinstance(focused, QLineEdit)
    assert focused.text() == "much"


def test_several_problems_are_counted_and_each_can_be_gone_to(page: SetupPage, context: FakeContext) -> None:
    context.draft.set("optimizer.lr", -1)
    context.draft.set("loop.epochs", 0)
    context.draft.set("loop.batch_size", 0)
    told = page.bar.start_button.toolTip()
    assert (
        told == "3 settings to put right: Optimizer › Learning rate, Training loop › Epochs, Training loop › Batch size"
    )
    assert page.bar.reason.text().endswith('<a href="#all">1 more</a>')
    page.bar.reason.linkActivated.emit("#all")
    menu = next(each for each in page.bar.findChildren(QMenu) if each is not page.bar.engine_button.menu())
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Optimizer › Learning rate", "Training loop › Epochs", "Training loop › Batch size"]
    menu.actions()[2].trigger()
    menu.close()
    assert page.tabs.currentIndex() == 3
    assert page.focusWidget() is page_row(page, "loop.batch_size").findChild(QLineEdit)


def page_row(page: SetupPage, path: str) -> FieldRow:
    return next(form.rows()[path] for form in page.forms if path in form.rows())


def test_the_start_bar_mends_what_a_click_can_mend(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    context.draft.set("loop.epochs", 0)
    context.draft.set_kind("model", "unet")
    assert page.bar.start_button.toolTip().startswith("2 settings to put right: Model › Architecture, ")
    assert page.bar.fix.isVisible()
    assert page.bar.fix.text() == "Use Small CNN"
    qtbot.mouseClick(page.bar.fix, Qt.MouseButton.LeftButton)
    assert context.draft.kind("model") == "small_cnn"
    assert page.bar.start_button.toolTip() == "1 setting to put right: Training loop › Epochs"
    assert not page.bar.fix.isVisible()


def test_another_reason_not_to_start_stands_beside_the_button(page: SetupPage, context: FakeContext) -> None:
    context.set_problem("No engine.")
    assert not page.bar.start_button.isEnabled()
    assert (page.bar.reason.text(), page.bar.reason.property("role")) == ("No engine.", "problem")
    context.set_problem("Another run is in progress.")  # nothing is wrong
    assert not page.bar.start_button.isEnabled()
    assert (page.bar.reason.text(), page.bar.reason.property("role")) == ("Another run is in progress.", "help")
    context.set_problem("")
    assert page.bar.start_button.isEnabled()


def test_a_schedule_too_long_for_the_run_is_found_when_the_samples_are_known(
    page: SetupPage, context: FakeContext
) -> None:
    context.draft.set_kind("schedule", "cosine")
    context.draft.set("schedule.warmup", 400)
    assert page.bar.start_button.isEnabled()  # nobody knows yet how long the run is
    answer(context)  # 375 steps
    assert not page.bar.start_button.isEnabled()
    assert page.problem_sentences()[0][0] == "schedule.warmup"
    context.draft.set("loop.epochs", 10)
    assert page.bar.start_button.isEnabled()


def test_what_the_engine_refused_is_shown_at_its_field_until_the_next_edit(
    page: SetupPage, context: FakeContext
) -> None:
    context.draft.set_engine_problems([Problem("model.hidden", "is too wide for this device.")])
    assert page_row(page, "model.hidden").sentence == "Is too wide for this device."
    assert page.bar.start_button.toolTip() == "1 setting to put right: Model › Hidden units"
    answer(context)
    assert not page.bar.start_button.isEnabled()
    context.draft.set("model.hidden", 64)
    assert page.bar.start_button.isEnabled()


def test_what_nobody_has_come_to_yet_is_asked_for_and_not_wrong_until_start_is_pressed(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    context.draft.set_kind("dataset", "image_folder")
    row = page_row(page, "dataset.path")
    assert "Required. Choose a folder." in words(row)
    assert not line_of(row).property("invalid")
    assert page.bar.reason.property("role") == "help"
    assert page.bar.reason.text() == 'Still needed: <a href="dataset.path">Dataset › Folder</a>'
    assert page.tabs.accessibleTabName(0) == "Dataset, 1 setting still needed"
    page.tabs.setCurrentIndex(3)
    for name in ("start_button", "check_button"):
        button = getattr(page.bar, name)
        context.draft.set_kind("dataset", "idx")
        context.draft.set_kind("dataset", "image_folder")
        assert button.isEnabled()
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert page.tabs.currentIndex() == 0
        row = page_row(page, "dataset.path")
        assert page.focusWidget() is line_of(row)
        assert "Required" not in words(row)
        assert line_of(row).property("invalid")
        assert page.bar.reason.property("role") == "problem"
        assert not button.isEnabled()
    assert not context.started
    assert not context.engine.checks


def test_a_field_that_was_emptied_is_wrong_at_once(page: SetupPage, context: FakeContext, tmp_path: Path) -> None:
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(tmp_path))
    context.draft.set("dataset.path", "")
    assert line_of(page_row(page, "dataset.path")).property("invalid")
    assert page.bar.start_button.toolTip() == "1 setting to put right: Dataset › Folder"


def line_of(row: FieldRow) -> QLineEdit:
    found = row.findChild(QLineEdit)
    assert isinstance(found, QLineEdit)
    return found


def test_what_is_missing_is_to_be_mended_in_every_word_once_somebody_wants_to_start(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    context.draft.set_kind("dataset", "image_folder")
    (frame,) = (each for each in page.findChildren(PreviewFrame) if each.findChildren(DatasetPreview))
    page.tabs.setCurrentIndex(2)
    optimization = page.findChild(OptimizationPreview)
    assert frame.message().endswith("Fill in the required fields to see a preview.")
    page.bar.start_button.click()
    assert frame.message().endswith("Fix the highlighted fields to see a preview.")
    assert "Fill in" not in words(page)
    assert optimization is not None
