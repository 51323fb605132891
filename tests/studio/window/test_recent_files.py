"""Configurations that were opened or saved lately are opened again from the menu."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.actions.recent_files import RecentMenu
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.window_driver import open_window
from training.config import parse_config, save_config


def look(window: MainWindow) -> RecentMenu:
    """The menu, as it is shown now."""
    menu = next(each for each in window.menu_button.menu().findChildren(RecentMenu))
    menu.aboutToShow.emit()
    return menu


def texts(window: MainWindow) -> list[str]:
    return [action.text().partition("\t")[0] for action in look(window).actions() if not action.isSeparator()]


def test_what_was_opened_lately_is_opened_again(qtbot: QtBot, context: AppContext, tmp_path: Path) -> None:
    window = open_window(qtbot, context, "runs")
    assert texts(window) == ["No configuration was opened yet"]
    for name in ("a & b", "second"):
        save_config(parse_config({"name": name}), tmp_path / f"{name}.toml")
        assert context.open_config(str(tmp_path / f"{name}.toml"))
    context.open_config("preset:sample")
    assert texts(window) == ["second.toml", "a && b.toml", "Clear this list"]
    look(window).actions()[1].trigger()
    assert context.draft.value("name") == "a & b"
    assert window.rail.current() == "setup"
    assert texts(window)[:2] == ["a && b.toml", "second.toml"]
    (tmp_path / "second.toml").unlink()
    gone = look(window).actions()[1]
    assert not gone.isEnabled()
    assert "is not there any more" in gone.toolTip()
    look(window).actions()[-1].trigger()
    assert texts(window) == ["No configuration was opened yet"]


def test_ten_are_kept(qtbot: QtBot, context: AppContext, tmp_path: Path) -> None:
    window = open_window(qtbot, context, "runs")
    for number in range(12):
        save_config(parse_config({"name": f"run {number}"}), tmp_path / f"{number}.toml")
        context.open_config(str(tmp_path / f"{number}.toml"))
    assert texts(window)[:-1] == [f"{number}.toml" for number in range(11, 1, -1)]
