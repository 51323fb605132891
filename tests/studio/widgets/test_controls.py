"""Switches, choices, rails and paths, used with the keyboard and the mouse."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QPixmap, QWheelEvent
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.widgets import (
    Card,
    ComboBox,
    ElidedLabel,
    Hint,
    NavigationRail,
    PathEdit,
    Segmented,
    Switch,
    label,
)


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_a_switch_is_toggled_by_the_keyboard(qtbot: QtBot, key: Qt.Key) -> None:
    switch = Switch("Flip pictures")
    qtbot.addWidget(switch)
    switch.show()
    switch.setFocus()
    with qtbot.waitSignal(switch.toggled) as toggled:
        qtbot.keyClick(switch, key)
    assert toggled.args == [True]
    qtbot.keyClick(switch, key)
    assert not switch.isChecked()


def test_a_switch_is_toggled_anywhere_on_it_and_slides_to_its_end(qtbot: QtBot) -> None:
    switch = Switch("A rather long text beside it")
    qtbot.addWidget(switch)
    switch.show()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton, pos=QPoint(switch.width() - 3, 5))
    assert switch.isChecked()
    qtbot.waitUntil(lambda: switch.property("knob") == 1.0)


def turn_wheel(widget: QWidget) -> None:
    none = Qt.KeyboardModifier.NoModifier
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle, middle, QPoint(), QPoint(0, -240), Qt.MouseButton.NoButton, none, Qt.ScrollPhase.NoScrollPhase, False
    )
    QApplication.sendEvent(widget, event)
    assert not event.isAccepted()  # so that the page below scrolls


def test_the_wheel_changes_nothing(qtbot: QtBot) -> None:
    combo = ComboBox()
    combo.addItems(["a", "b", "c"])
    qtbot.addWidget(combo)
    combo.show()
    combo.setFocus()
    turn_wheel(combo)
    assert combo.currentText() == "a"


def test_one_segment_is_taken_and_announced_once(qtbot: QtBot) -> None:
    row = Segmented([("fp32", "FP32"), ("bf16", "BF16")])
    qtbot.addWidget(row)
    changed = QSignalSpy(row.current_changed)
    assert row.current() == "fp32"
    row.set_current("fp32")
    row.set_current("bf16")
    assert row.current() == "bf16"
    assert [changed.at(at)[0] for at in range(changed.count())] == ["bf16"]


def test_the_rail_is_walked_with_the_arrow_keys(qtbot: QtBot) -> None:
    rail = NavigationRail()
    qtbot.addWidget(rail)
    rail.set_header(QPixmap(16, 16), "Trainwright")
    for key in ("setup", "train", "runs"):
        rail.add_item(key, key, key.title())
    rail.add_item("settings", "settings", "Settings")
    with qtbot.waitActive(rail):
        rail.show()
    changed = QSignalSpy(rail.current_changed)
    rail.focusNextChild()
    for pressed in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Home, Qt.Key.Key_End):
        focused = QApplication.focusWidget()
        assert focused is not None
        qtbot.keyClick(focused, pressed)
    went = [changed.at(at)[0] for at in range(changed.count())]
    assert went == ["train", "runs", "settings", "runs", "setup", "settings"]


def test_a_file_or_a_folder_may_be_picked_where_both_will_do(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = PathEdit("any")
    qtbot.addWidget(edit)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/a/file", ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "/a/folder")
    menu = edit.findChild(QMenu)
    assert menu is not None
    for action, path in zip(menu.actions(), ("/a/file", "/a/folder"), strict=True):
        action.trigger()
        assert edit.path() == path


@pytest.mark.parametrize(
    ("mode", "is_file", "gives"), [("folder", False, "."), ("folder", True, "."), ("file", True, "a b.idx")]
)
def test_what_is_dropped_on_a_path_becomes_the_path(
    qtbot: QtBot, tmp_path: Path, mode: str, is_file: bool, gives: str
) -> None:
    edit = PathEdit("file" if mode == "file" else "folder")
    qtbot.addWidget(edit)
    file = tmp_path / "a b.idx"
    file.touch()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file if is_file else tmp_path))])
    copy, none = Qt.DropAction.CopyAction, Qt.KeyboardModifier.NoModifier
    with qtbot.waitSignal(edit.path_changed) as changed:
        edit.dropEvent(QDropEvent(QPointF(1, 1), copy, data, Qt.MouseButton.LeftButton, none))
    assert Path(changed.args[0]) == (tmp_path / gives)
    assert edit.path() == changed.args[0]


def test_a_card_folds_on_a_click_on_its_header(qtbot: QtBot) -> None:
    card = Card("Advanced", "sliders", collapsible=True)
    content = label("inside")
    card.add(content)
    qtbot.addWidget(card)
    card.resize(400, 200)
    card.show()
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton, pos=QPoint(200, 24))
    assert not content.isVisible()
    card.set_collapsed(False)
    assert content.isVisible()


def test_a_shortened_label_tells_the_rest(qtbot: QtBot) -> None:
    text = ElidedLabel("/home/ana/a very long folder name/with/many/parts/weights.safetensors")
    qtbot.addWidget(text)
    text.resize(120, 20)
    text.show()
    assert text.elide() != text.text()
    assert text.toolTip() == text.text()
    text.resize(2000, 20)
    assert text.toolTip() == ""


def test_a_hint_explains_itself_to_the_keyboard_and_the_screen_reader(qtbot: QtBot) -> None:
    hint = Hint("Larger steps learn faster < and break sooner")
    qtbot.addWidget(hint)
    assert hint.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert hint.accessibleDescription() == "Larger steps learn faster < and break sooner"
    assert "&lt;" in hint.toolTip()
