"""Check on the Setup page: what it finds, what is proposed, and how long the run will take."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.pages.setup.findings import EVERYTHING
from studio.pages.setup.page import SetupPage
from studio.state.drafts.setting_specs import RUN
from studio.widgets import vbox
from tests.studio.pages_setup.fakes import FakeContext, answer, refusal, words
from training.findings.data import SAMPLED


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
