"""Start, what keeps it from starting, and Check."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.forms.field_row import FieldRow
from studio.pages.setup.findings import EVERYTHING
from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.dataset_preview import DatasetPreview
from studio.pages.setup.previews.optimization_preview import OptimizationPreview
from studio.panels.data.preview_frame import PreviewFrame
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds
from studio.widgets import vbox
from tests.studio.every_setting import named, other_value, settings_of, wrong_value
from tests.studio.pages_setup.fakes import FakeContext, answer, refusal, words
from training.config.field_spec import FieldSpec
from training.config.run import SECTIONS
from training.errors import Problem
from training.findings.data import SAMPLED


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


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(section, marks=pytest.mark.slow) if section in ("dataset", "optimizer", "objective") else section
        for section in (RUN, *SECTIONS)
    ],
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


def test_check_lists_findings_until_a_setting_changes(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    qtbot.mouseClick(page.bar.check_button, Qt.MouseButton.LeftButton)
    assert page.findings.isVisible()
    findings = [
        {"level": "ok", "title": "The data opens.", "advice": ""},
        {
            "level": "warning",
            "title": "The disk is nearly full.",
            "advice": "Free some space, or set checkpoints.keep_last.",
        },
    ]
    context.engine.checks[-1].done({"findings": findings})
    assert page.findings.texts() == [
        "warning: The disk is nearly full. Free some space, or set Keep last N checkpoints.",
        "ok: The data opens.",
    ]
    assert "Worth a look" in words(page.findings)
    context.draft.set("seed", 9)
    assert not page.findings.isVisible()


def test_a_check_is_canceled(page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    assert page.findings.cancel.isVisible()
    page.findings.cancel.click()
    assert context.engine.checks[-1].inquiry.canceled
    assert not page.findings.isVisible()
    page.bar.check_asked.emit()
    context.engine.checks[-1].done({"findings": [{"level": "info", "title": "Warm-up is long."}]})
    assert not page.findings.cancel.isVisible()
    assert page.findings.texts() == ["info: Warm-up is long."]


def test_fit_one_batch_is_followed_cancelled_and_told_among_the_findings(page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    context.engine.checks[-1].done({"findings": [{"level": "info", "title": "Warm-up is long."}]})
    panel, fits = page.findings, context.engine.fits
    panel.fit_button.click()
    assert "Running" in words(panel)
    panel.cancel.click()
    assert fits[-1].inquiry.canceled
    assert panel.texts() == ["info: Warm-up is long."]
    panel.fit_button.click()
    found = {
        "level": "warning",
        "code": "fit.one_batch",
        "title": "It does not learn 16 samples.",
        "evidence": {"error": 0.44},
    }
    fits[-1].done({"fitted": False, "findings": [found]})
    assert panel.texts() == ["warning: It does not learn 16 samples.", "info: Warm-up is long."]
    assert "error 44.0% · fit.one_batch" in words(panel)
    panel.fit_button.click()
    context.draft.set("seed", 9)  # it was of other settings
    assert fits[-1].inquiry.canceled
    assert not panel.isVisible()


def test_of_some_samples_all_are_checked_on_request(page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    assert not getattr(context.engine.checks[-1].request, "whole")  # noqa: B009 - of one kind
    found = {"level": "info", "code": SAMPLED.code, "title": "40 % of the samples were compared."}
    context.engine.checks[-1].done({"findings": [found]})
    (everything,) = [made for made in page.findings.findChildren(QPushButton) if made.text() == EVERYTHING]
    everything.click()
    assert getattr(context.engine.checks[-1].request, "whole")  # noqa: B009 - of one kind


RUN_TIME = {"step": 0.01, "validation": 0.2, "steps": 1000, "steps_per_epoch": 200, "validations": 5}


def test_the_start_bar_tells_the_time_that_a_check_measured_until_a_setting_changes(
    page: SetupPage, context: FakeContext
) -> None:
    answer(context)
    page.bar.check_asked.emit()
    assert getattr(context.engine.checks[-1].request, "workspace") == context.workspace  # noqa: B009 - of one kind
    context.engine.checks[-1].done({"findings": [], "run_time": RUN_TIME})
    assert (
        page.bar.summary.text()
        == "Small CNN on 4,800 samples, 5 epochs of 75 steps · about 11 s, 2 s an epoch, plus start-up and saving"
    )
    context.draft.set("loop.epochs", 9)
    assert "about" not in page.bar.summary.text()


def test_a_quick_run_is_timed_by_itself_once_and_a_large_one_by_the_check_alone(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    timings = context.engine.timings
    assert not timings
    answer(context)
    qtbot.waitUntil(lambda: len(timings) == 1)
    timings[-1].done({"run_time": None})  # its first step took too long
    page.draft.recheck()
    qtbot.wait(50)
    assert len(timings) == 1
    context.draft.set("loop.epochs", 9)
    qtbot.waitUntil(lambda: len(timings) == 2)
    timings[-1].done({"run_time": RUN_TIME})
    assert page.bar.summary.text().endswith(" · about 11 s, 2 s an epoch, plus start-up and saving")
    context.draft.set("dataset.samples", 99_999)
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    answer(context, train=10**7)
    qtbot.wait(50)
    assert len(timings) == 2
    assert "about" not in page.bar.summary.text()


def test_a_refused_check_marks_the_field(page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    context.engine.checks[-1].failed(refusal("does not fit these images.", "model.channels"))
    assert page.problem_sentences() == [("model.channels", "Channels: does not fit these images.")]
    assert not page.findings.isVisible()  # which would say it again
    assert page.tabs.currentIndex() == 1


def test_a_refused_check_that_blames_no_setting_says_why(page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    context.engine.checks[-1].failed(refusal("The disk is gone."))
    assert page.findings.texts() == ["error: The disk is gone."]


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


def test_a_finding_that_is_no_problem_here_is_muted_until_that_is_undone(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    page.bar.check_button.click()
    context.engine.checks[-1].done(
        {
            "findings": [
                {
                    "level": "warning", "title": "It leaks.", "code": "table.target_leak", "place": "total",
                    "evidence": {"skill": 0.99876, "rows": 12000, "samples": [1, 2, 3, 4, 5]},
                },
                {"level": "error", "title": "It is black.", "code": "data.scale"},
            ]
        }
    )  # fmt: skip
    assert (
        "skill 0.9988 (0 is guessing, 1 is always right), 12,000 rows, samples 1, 2, 3, 4 and 1 more · table.target_leak:total"
        in words(page.findings)
    )
    (mute,) = [made for made in page.findings.findChildren(QPushButton) if made.text() == "Not a problem here"]
    qtbot.mouseClick(mute, Qt.MouseButton.LeftButton)
    assert context.engine.checks[-1].config["muted_findings"] == ["table.target_leak:total"]
    context.engine.checks[-1].done({"findings": []})
    told = "Said to be no problem here: table.target_leak:total."
    assert told in words(page.findings)
    context.draft.undo()
    assert context.draft.value("muted_findings") == []
    page.bar.check_button.click()
    context.engine.checks[-1].done({"findings": []})
    assert told not in words(page.findings)


def test_what_a_finding_proposes_is_applied_to_the_draft_and_checked_again(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    page.bar.check_button.click()
    fix = {"loop.batch_size": 8, "loop.accumulation": 2, "loader.workers": None}
    context.engine.checks[-1].done(
        {"findings": [{"level": "warning", "title": "Too large.", "fix": fix}, {"level": "ok", "title": "Fine."}]}
    )
    (apply,) = [made for made in page.findings.findChildren(QPushButton) if made.text() == "Apply"]
    assert "loop.batch_size = 8" in apply.toolTip()
    qtbot.mouseClick(apply, Qt.MouseButton.LeftButton)
    assert context.draft.value("loop.batch_size") == 8
    assert context.draft.value("loop.accumulation") == 2
    assert len(context.engine.checks) == 2
    assert context.engine.checks[-1].config["loop"]["batch_size"] == 8
    context.draft.undo()
    assert context.draft.value("loop.batch_size") != 8
    assert context.draft.value("loop.accumulation") == 1, "one step back takes all of it back"


def test_the_keyboard_stays_on_the_page_when_what_was_pressed_goes(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    holder = QWidget()
    vbox(QPushButton("Elsewhere"), page, parent=holder)
    with qtbot.waitExposed(holder):
        holder.show()
    page.bar.check_button.click()
    found = {"level": "warning", "title": "Too large.", "fix": {"loop.batch_size": 8}}
    context.engine.checks[-1].done({"findings": [found]})
    (apply,) = [made for made in page.findings.findChildren(QPushButton) if made.text() == "Apply"]
    apply.setFocus()
    apply.click()
    context.engine.checks[-1].done({"findings": []})
    focused = holder.focusWidget()
    stays = focused is page or page.isAncestorOf(focused)
    page.setParent(None)  # the holder ends first
    assert stays, "or Ctrl+Z would take nothing back"


@pytest.mark.parametrize("answered", [False, True])
def test_a_check_begins_again_when_the_settings_that_suit_other_data_follow(
    page: SetupPage, context: FakeContext, answered: bool
) -> None:
    page.bar.check_asked.emit()
    if answered:
        context.engine.checks[-1].done({"findings": [{"level": "info", "title": "Of other settings."}]})
    settings = context.draft.settings()
    settings["loop"]["batch_size"] = 8
    context.draft.replace(settings, follows="dataset")
    page.other_data.followed.emit()
    assert answered or context.engine.checks[0].inquiry.canceled
    assert len(context.engine.checks) == 2
    assert context.engine.checks[1].config["loop"]["batch_size"] == 8
    context.engine.checks[1].done({"findings": [{"level": "info", "title": "Warm-up is long."}]})
    assert page.findings.texts() == ["info: Warm-up is long."]
    context.draft.replace({**settings, RUN: {**settings[RUN], "seed": 9}})  # a preset, for example
    assert page.findings.isHidden()
    context.draft.set("seed", 10)
    page.other_data.followed.emit()
    assert len(context.engine.checks) == 2, "that was put away by the person"


def test_what_fitting_one_batch_came_to_is_scrolled_to(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    page.bar.check_asked.emit()
    warnings = [{"level": "warning", "title": f"Fault {number}."} for number in range(20)]
    context.engine.checks[-1].done({"findings": warnings})
    page.findings.fit_button.click()
    learned = "It learns 16 samples by heart."
    context.engine.fits[-1].done({"fitted": True, "findings": [{"level": "ok", "title": learned}]})
    (row,) = [each for each in page.findings.findChildren(QWidget) if each.property("finding") == learned]
    qtbot.waitUntil(lambda: not row.visibleRegion().isEmpty())


def test_a_proposal_for_a_setting_that_is_gone_changes_nothing(page: SetupPage, context: FakeContext) -> None:
    heard: list[str] = []
    context.notifier.notified.connect(lambda notice: heard.append(notice.text))
    before = context.draft.data()
    page.findings.apply({"loop.batch_size": 8, "optimizer.wings": 2})
    assert context.draft.data() == before
    assert "optimizer.wings" in heard[0]


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
