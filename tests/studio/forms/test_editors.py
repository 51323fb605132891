"""Each editor shows what it is given, gives back what was typed, and leaves a half-typed text alone."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.forms.editor import Editor
from studio.forms.editors import (
    BoolEditor,
    ChoiceEditor,
    NumberEditor,
    NumbersEditor,
    PathEditor,
    SuggestEditor,
    absolute_path,
    make_editor,
)
from studio.forms.messages import format_value, with_titles
from studio.state.drafts.setting_specs import default_value, specs
from studio.widgets import Segmented, Switch
from tests.studio.every_setting import EVERY_KIND, named, other_value, settings, wrong_value


def made(qtbot: QtBot, section: str, kind: str, name: str) -> Editor:
    editor = make_editor(specs(section, kind)[name])
    qtbot.addWidget(editor)
    editor.show()
    return editor


def line(editor: Editor) -> QLineEdit:
    found = editor.findChild(QLineEdit)
    assert isinstance(found, QLineEdit)
    return found


@pytest.mark.parametrize(("section", "kind"), EVERY_KIND)
def test_every_setting_has_an_editor_that_gives_back_what_it_shows(
    qtbot: QtBot, section: str, kind: str, tmp_path: Path
) -> None:
    for spec in settings(section, kind):
        with named(section, kind, spec):
            editor = make_editor(spec)
            qtbot.addWidget(editor)
            other = other_value(spec, tmp_path)
            values: list[Any] = [default_value(spec), other, wrong_value(spec), other]
            if spec.optional:
                values.append(None)
            with qtbot.assertNotEmitted(editor.edited):
                for value in values:
                    editor.set_value(value)
                    assert editor.value() == value
                    assert type(editor.value()) is type(value) or isinstance(value, float)


@pytest.mark.parametrize(("section", "kind"), EVERY_KIND)
def test_every_editor_is_named_for_screen_readers(qtbot: QtBot, section: str, kind: str) -> None:
    for spec in settings(section, kind):
        with named(section, kind, spec):
            editor = make_editor(spec)
            qtbot.addWidget(editor)
            editor.describe(spec.title, spec.help)
            focusable = [
                child
                for child in editor.findChildren(QWidget)
                if child.focusPolicy() & Qt.FocusPolicy.TabFocus and not child.focusProxy() and child.window() is editor
            ]
            assert focusable
            for child in focusable:
                assert spec.title.lower() in child.accessibleName().lower()


@pytest.mark.parametrize(("section", "kind"), EVERY_KIND)
def test_the_wheel_changes_nothing(qtbot: QtBot, section: str, kind: str, tmp_path: Path) -> None:
    for spec in settings(section, kind):
        with named(section, kind, spec):
            editor = make_editor(spec)
            qtbot.addWidget(editor)
            editor.set_value(other_value(spec, tmp_path))
            before = editor.value()
            for child in [editor, *editor.findChildren(QWidget)]:
                if child.window() is editor:
                    middle = QPointF(child.rect().center())
                    turn = QWheelEvent(
                        middle, middle, QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
                        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
                    )  # fmt: skip
                    QApplication.sendEvent(child, turn)
            assert editor.value() == before


def test_numbers_stay_as_they_were_typed(qtbot: QtBot) -> None:
    editor = made(qtbot, "optimizer", "adamw", "lr")
    assert isinstance(editor, NumberEditor)
    qtbot.keyClicks(line(editor), "1e-3")
    assert editor.value() == 0.001
    editor.set_value(0.001)
    assert line(editor).text() == "1e-3"
    line(editor).setText("0,5")
    assert editor.value() == "0,5"
    assert editor.problem() == "Write the decimal point as a point: 0.5."


def test_log_fields_step_by_factors_and_others_by_steps(qtbot: QtBot) -> None:
    rate = made(qtbot, "optimizer", "adamw", "lr")
    rate.set_value(0.001)
    qtbot.keyClick(line(rate), Qt.Key.Key_Up)
    assert rate.value() == 0.002
    qtbot.keyClick(line(rate), Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert rate.value() == 0.0002
    share = made(qtbot, "dataset", "shapes", "validation_fraction")
    share.set_value(0.1)
    for _ in range(5):
        qtbot.keyClick(line(share), Qt.Key.Key_Down)
    assert share.value() == 0.05  # 0 itself is not allowed, so the keys stop before it


@pytest.mark.parametrize(
    ("text", "value"),
    [("128, 64", [128, 64]), ("128;64", [128, 64]), (" (128 64) ", [128, 64]), ("[7]", [7]), ("", []), ("1.5", "1.5")],
)
def test_lists_of_numbers_are_read_as_people_write_them(qtbot: QtBot, text: str, value: Any) -> None:
    editor = made(qtbot, "model", "mlp", "hidden")
    assert isinstance(editor, NumbersEditor)
    line(editor).setText(text)
    assert editor.value() == value
    assert bool(editor.problem()) is isinstance(value, str)


def test_few_short_choices_stand_side_by_side_and_many_in_a_list(qtbot: QtBot) -> None:
    few = made(qtbot, "precision", "", "channels_last")
    assert isinstance(few, ChoiceEditor)
    assert few.findChildren(Segmented)
    lonely = made(qtbot, "objective", "classification", "loss")
    assert lonely.findChildren(QComboBox)


def test_choices_are_shown_as_the_field_writes_them_and_kept_as_files_do(qtbot: QtBot) -> None:
    editor = made(qtbot, "precision", "", "compute")
    combo = editor.findChild(QComboBox)
    assert combo is not None
    assert [combo.itemText(row) for row in range(combo.count())] == ["FP32", "TF32", "BF16 (AMP)", "FP16 (AMP)"]
    combo.setCurrentIndex(2)
    assert editor.value() == "bf16"
    assert with_titles("set precision.compute to fp32") == "set Precision to FP32"


@pytest.mark.parametrize("kind", ["segmentation", "image_folder", "torchvision"])
def test_an_unset_size_is_called_alike_everywhere(kind: str) -> None:
    spec = specs("dataset", kind)["image_size"]
    assert format_value(default_value(spec), spec) == "automatic"


def test_a_digest_is_told_by_its_first_letters() -> None:
    assert format_value("0123456789abcdef" * 4, specs("dataset", "user_dataset")["trusted"]) == "0123456789ab"


@pytest.mark.parametrize(
    ("section", "kind", "name"), [("precision", "", "channels_last"), ("objective", "classification", "loss")]
)
def test_an_unknown_choice_is_kept_until_one_is_taken(qtbot: QtBot, section: str, kind: str, name: str) -> None:
    editor = made(qtbot, section, kind, name)
    first = specs(section, kind)[name].choices[0]
    editor.set_value("fp7")
    assert editor.value() == "fp7"
    with qtbot.waitSignal(editor.edited):
        for option in editor.findChildren(QToolButton)[:1]:
            qtbot.mouseClick(option, Qt.MouseButton.LeftButton)
        for combo in editor.findChildren(QComboBox):
            combo.setCurrentIndex(0)
    assert editor.value() == first


def test_a_switch_replaces_what_was_no_truth_value(qtbot: QtBot) -> None:
    editor = made(qtbot, "", "", "deterministic")
    assert isinstance(editor, BoolEditor)
    editor.set_value("maybe")
    assert editor.value() == "maybe"
    switch = editor.findChild(Switch)
    assert isinstance(switch, Switch)
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert editor.value() is True


def test_a_name_is_found_by_any_part_of_it(qtbot: QtBot) -> None:
    editor = made(qtbot, "model", "torchvision", "name")
    assert isinstance(editor, SuggestEditor)
    combo = editor.findChild(QComboBox)
    assert isinstance(combo, QComboBox)
    completer = combo.completer()
    assert completer is not None
    completer.setCompletionPrefix("V3_SMALL")
    assert completer.currentCompletion() == "mobilenet_v3_small"
    combo.lineEdit().setText("my_net")  # type: ignore[union-attr]  # an editable box has one
    assert editor.value() == "my_net"


def test_paths_become_absolute_but_the_text_stays(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    editor = made(qtbot, "dataset", "image_folder", "path")
    assert isinstance(editor, PathEditor)
    line(editor).setText("pictures/")
    assert editor.value() == str(tmp_path / "pictures")
    editor.set_value(str(tmp_path / "pictures"))
    assert line(editor).text() == "pictures/"


def test_pasted_paths(isolated_home: Path) -> None:
    assert absolute_path("~/data") == str(isolated_home / "data")
    assert absolute_path('"/a b/c"') == str(Path("/a b/c"))
    assert absolute_path("file:///a%20b/c") == str(Path("/a b/c"))
    assert absolute_path("  ") == ""
    assert absolute_path("~nobody-of-this-name/data") == "~nobody-of-this-name/data"  # no home that is known


def test_sentences_name_settings_as_the_form_of_the_kind_does() -> None:
    said = "choose dataset.targets; see loop.batch_size, a.b, net.model.hidden, or type --set dataset.targets=x"
    for kind, title in (("npz", "Target array"), ("table", "Target")):
        shown = f"choose {title}; see Batch size, a.b, net.model.hidden, or type --set dataset.targets=x"
        assert with_titles(said, {"dataset": kind}.__getitem__) == shown
