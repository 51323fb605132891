"""One learning rate: what stands in the field is what the run trains at, whatever optimizer and schedule are chosen."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.forms.field_row import FieldRow
from studio.forms.fix_link import FixLink
from studio.forms.kinds.chooser import ListChooser
from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.optimization_preview import OptimizationPreview
from studio.services.notifier import Notification
from tests.studio.pages_setup.fakes import FakeContext, answer
from training.schedules import make_run_schedule


def row_of(page: SetupPage, path: str) -> FieldRow:
    return next(form.rows()[path] for form in page.forms if path in form.rows())


def line(page: SetupPage, path: str) -> QLineEdit:
    found = row_of(page, path).findChild(QLineEdit)
    assert isinstance(found, QLineEdit)
    return found


def choose(page: SetupPage, section: str, kind: str) -> None:
    chooser = next(form.chooser for form in page.forms if form.section == section)
    assert isinstance(chooser, ListChooser)
    chooser.combo.setCurrentIndex(chooser.combo.findData(kind))
    chooser.combo.activated.emit(chooser.combo.currentIndex())


def rates(context: FakeContext) -> list[float]:
    config = context.draft.config()
    assert config is not None
    schedule = make_run_schedule(config, 100, 100)
    return [schedule.lr(step) for step in range(100)]


def notices(context: FakeContext) -> list[Notification]:
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    return heard


def test_sgd_under_one_cycle_trains_at_the_rate_its_field_shows(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    heard = notices(context)
    before, curve = context.draft.data(), rates(context)
    assert max(curve) == 0.003
    choose(page, "optimizer", "sgd")
    assert line(page, "optimizer.lr").text() == "0.05"
    assert line(page, "optimizer.lr").isEnabled()
    assert max(rates(context)) == 0.05
    page.tabs.setCurrentIndex(2)
    assert page.findChildren(OptimizationPreview)[0].sentence.text().startswith("Rises to 0.05 over the first 30%")
    (notice,) = heard
    assert (notice.title, notice.text) == ("Moved to SGD's scale", "Learning rate 0.05 instead of 0.003.")
    context.draft.undo()
    assert (context.draft.data(), rates(context)) == (before, curve)
    context.draft.redo()
    assert notice.action_text == "Back to AdamW"
    assert notice.action is not None
    notice.action()
    assert rates(context) == curve
    assert [each.title for each in heard] == ["Moved to SGD's scale", "Undone", "Redone"]


def test_a_highest_rate_set_on_purpose_stands_in_the_way_of_the_other_until_it_is_taken_over(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "old.toml"
    file.write_text('[optimizer]\nkind = "adamw"\nlr = 1e-3\n[schedule]\nkind = "one_cycle"\nmax_lr = 0.004\n')
    assert context.draft.load_file(file) == []
    answer(context)
    curve = rates(context)
    assert max(curve) == 0.004
    page.show_setting("schedule.max_lr")
    assert line(page, "schedule.max_lr").text() == "0.004"
    assert row_of(page, "schedule.max_lr").is_changed
    row, edit = row_of(page, "optimizer.lr"), line(page, "optimizer.lr")
    assert row.inactive.why == "No effect while Max LR is set."
    assert row.inactive.why in row.editor.toolTip()
    assert edit.accessibleDescription().startswith(row.inactive.why)
    assert not edit.isEnabled()
    QTest.keyClicks(edit, "7")
    assert context.draft.value("optimizer.lr") == 1e-3
    row.focusPreviousChild()
    seen = set()
    for _ in range(60):
        page.focusNextChild()
        seen.add(page.focusWidget())
    assert line(page, "optimizer.weight_decay") in seen
    assert edit not in seen
    (button,) = (each for each in row.findChildren(FixLink) if not each.isHidden())
    assert button.text() == "Clear Max LR, set Learning rate to 0.004"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert rates(context) == curve
    assert (context.draft.value("schedule.max_lr"), context.draft.value("optimizer.lr")) == (None, 0.004)
    assert line(page, "optimizer.lr").isEnabled()
    assert not row_of(page, "optimizer.lr").inactive.why
    context.draft.undo()
    assert rates(context) == curve
    assert not line(page, "optimizer.lr").isEnabled()


def test_what_is_wrong_can_be_put_right_where_it_has_no_effect(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    assert not row_of(page, "loop.early_stopping_min_delta").editor.isEnabled()
    context.draft.set("loop.early_stopping_min_delta", -1.0)
    assert row_of(page, "loop.early_stopping_min_delta").editor.isEnabled()
    context.draft.reset("loop.early_stopping_min_delta")
    assert not row_of(page, "loop.early_stopping_min_delta").editor.isEnabled()
    context.draft.set("loop.early_stopping_patience", 3)
    assert row_of(page, "loop.early_stopping_min_delta").editor.isEnabled()


def test_a_cycled_momentum_leaves_the_optimizers_without_effect(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    choose(page, "optimizer", "sgd")
    assert row_of(page, "optimizer.momentum").inactive.why == (
        "No effect while Cycle momentum is on: it goes from 0.95 down to 0.85 and back."
    )
    context.draft.set("schedule.cycle_momentum", False)
    assert row_of(page, "optimizer.momentum").editor.isEnabled()
    assert not row_of(page, "schedule.base_momentum").editor.isEnabled()
