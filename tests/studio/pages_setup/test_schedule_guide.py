"""The guide beside the scheduler, and stretches of the run in its form."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from studio.forms.duration_editor import DurationEditor
from studio.forms.editors import make_editor
from studio.pages.setup.previews.schedule_guide import ScheduleGuide
from studio.panels.run_curves import RunCurves
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import specs
from training.events import AttemptStarted, RateDropped, Rewound
from training.schedules.guide import GUIDE, find_row, guide_table


def test_a_click_chooses_a_schedule_as_one_step_that_can_be_undone(qtbot: QtBot) -> None:
    draft = Draft()
    guide = ScheduleGuide(draft)
    qtbot.addWidget(guide)
    before = draft.settings()
    for row in GUIDE:
        guide.follow(draft.config())
        guide.rows[row.title].click()
        config = draft.config()
        assert config is not None, draft.problems()
        assert find_row(config.schedule) == row
        guide.follow(config)
        assert [title for title, button in guide.rows.items() if button.isChecked()] == [row.title]
        guide.rows[row.title].click()  # what is chosen stays chosen
        assert guide.rows[row.title].isChecked()
    draft.set("schedule.warmup", "nonsense")
    guide.follow(draft.usable_config("schedule"))
    assert not any(button.isChecked() for button in guide.rows.values())
    while draft.can_undo:
        draft.undo()
    assert draft.settings() == before


def test_each_row_has_the_curve_of_its_schedule() -> None:
    curves = {row.title: row.curve() for row in GUIDE}
    assert curves["Cosine"][0] == 1.0
    assert curves["Warm-up + cosine"][0] == pytest.approx(0.01)
    assert max(curves["Warm-up + cosine"]) == 1.0
    restarts = curves["Warm restarts"]
    assert [step for step in range(1, 120) if restarts[step] > restarts[step - 1]] == [30, 60, 90]
    assert (
        sum(later < earlier for earlier, later in zip(curves["On plateau"], curves["On plateau"][1:], strict=False))
        == 3
    )


def test_the_help_has_the_guide() -> None:
    page = Path(__file__).parents[3] / "resources" / "help" / "optimizer.md"
    assert guide_table() in page.read_text(encoding="utf-8")


def make(qtbot: QtBot, kind: str, name: str) -> tuple[DurationEditor, QLineEdit]:
    editor = make_editor(specs("schedule", kind)[name])
    assert isinstance(editor, DurationEditor)
    qtbot.addWidget(editor)
    line = editor.findChild(QLineEdit)
    assert line is not None
    return editor, line


@pytest.mark.parametrize(
    ("text", "value", "by_step", "by_epoch"),
    [
        ("300", 300, "steps", ""),
        ("470", 470, "steps", "= 2 epochs"),
        ("3 epochs", "3 epochs", "= 705 steps", "= 705 steps"),
        ("5 %", "5 %", "= 118 steps", "= 1 epoch"),
        ("1.5 epochs", "1.5 epochs", "= 352 steps", ""),
        ("twelve", "twelve", "", ""),
    ],
)
def test_a_stretch_says_its_steps(qtbot: QtBot, text: str, value: object, by_step: str, by_epoch: str) -> None:
    editor, line = make(qtbot, "cosine", "warmup")
    editor.set_length(2350, 235)
    line.clear()
    qtbot.keyClicks(line, text)
    assert editor.value() == value
    assert editor.note.text() == by_step
    editor.follow({"every": "epoch"})
    assert editor.note.text() == by_epoch
    editor.follow({"every": "step"})
    editor.set_length(0, 0)  # the data is not read
    assert editor.note.text() == ("steps" if isinstance(value, int) else "")


def test_several_stretches(qtbot: QtBot) -> None:
    editor, line = make(qtbot, "multi_step", "milestones")
    editor.set_length(1000, 100)
    line.setText("2 epochs, 500; 80 %")
    assert editor.value() == ["2 epochs", 500, "80 %"]
    assert editor.note.text() == "= 200, 500, 800 steps"
    line.setText("100 200")  # as numbers were typed before
    assert editor.value() == [100, 200]
    line.setText("100, soon")
    assert editor.value() == "100, soon"
    assert editor.problem().startswith("Each must be a number of steps or a text like")
    qtbot.keyClick(line, Qt.Key.Key_Backspace)
    assert editor.value() == "100, soo"


def test_a_drop_is_marked_on_the_rates_curve_until_it_is_void(qtbot: QtBot, tmp_path: Path) -> None:
    curves = RunCurves(SettingsStore(tmp_path / "settings.json", AppSettings()))
    qtbot.addWidget(curves)
    drop = RateDropped(step=40, epoch=2, before=0.01, after=0.001, metric="val/loss", validations=3)
    curves.add_event(drop)
    (marker,) = curves.board.plot("lr")._markers._markers.values()
    assert (marker.kind, marker.x) == ("drop", 40)
    assert marker.text == "Step 40: 0.01 → 0.001: no progress of validation loss in 3 validations"
    assert not curves.board.plot("loss")._markers._markers
    curves.add_event(Rewound(step=30, reached=50))
    assert not curves.board.plot("lr")._markers._markers
    curves.add_event(drop)
    curves.add_event(
        AttemptStarted(attempt=2, step=39, total_steps=50, steps_per_epoch=20, epochs=3, device="cpu", checkpoint="x")
    )
    assert [found.kind for found in curves.board.plot("lr")._markers._markers.values()] == ["resume"]
