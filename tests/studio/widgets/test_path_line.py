"""A path too long for its field is read at both ends."""

from pytestqt.qtbot import QtBot

from studio.widgets import PathEdit


def test_a_long_path_is_shortened_in_the_middle_until_somebody_types(qtbot: QtBot) -> None:
    edit = PathEdit()
    qtbot.addWidget(edit)
    edit.resize(320, 40)
    edit.show()
    path = "/data/projects/" + "deeper/" * 20 + "photos-of-birds"
    edit.set_path(path)
    shown = edit.line_edit.find_shown()
    assert shown.startswith("/data/")
    assert shown.endswith("birds")
    assert "…" in shown
    assert edit.path() == edit.line_edit.toolTip() == path
    with qtbot.waitActive(edit):
        edit.activateWindow()
    edit.line_edit.setFocus()
    qtbot.waitUntil(edit.line_edit.hasFocus)
    assert edit.line_edit.find_shown() == path
    edit.set_path("/short")
    assert edit.line_edit.find_shown() == "/short"
