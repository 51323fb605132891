"""The window before there is anything in it: painted at once, and nothing done to it is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.engine.messages import EngineState
from studio.pages.runs.page import RunsPage
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.widgets.navigation import RailItem
from studio.window.main_window import MainWindow

HEAVY = (
    "pydantic",
    "numpy",
    "pyqtgraph",
    "sqlalchemy",
    "torch",
    "studio.state",
    "studio.pages",
    "studio.engine.child",
    "subprocess",
    "socket",
)


def frame(qtbot: QtBot, settings: SettingsStore) -> MainWindow:
    """A window on the screen, not furnished."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    with qtbot.waitSignal(window.painted):
        window.show()
    return window


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    code = (
        "import sys, studio.app\n"
        "from PySide6.QtCore import QTimer\n"
        "from studio.window.main_window import MainWindow\n"
        "def look(window):\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules], flush=True)\n"
        "    QTimer.singleShot(0, window.close)\n"
        "make = MainWindow.__init__\n"
        "def made(window, settings):\n"
        "    make(window, settings)\n"
        "    window.painted.connect(lambda: look(window))\n"
        "MainWindow.__init__ = made\n"
        "studio.app.make_link = lambda choice: sys.exit('the engine was started before the frame was looked at')\n"
        "sys.modules['studio.launch'] = None\n"
        "MainWindow.isVisible = lambda window: False  # so nothing is begun behind the frame\n"
        "sys.exit(studio.app.main([]))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (answer.returncode, answer.stdout.strip()) == (0, "[]"), answer.stderr


def test_what_the_finder_opens_is_told() -> None:
    code = (
        "from PySide6.QtCore import QUrl; from PySide6.QtGui import QFileOpenEvent\n"
        "from studio.window.application import make_application\n"
        "app = make_application()\n"
        "app.sendEvent(app, QFileOpenEvent(QUrl.fromLocalFile('/runs/a b.toml')))\n"
        "app.listen(print)\n"
        "app.sendEvent(app, QFileOpenEvent(QUrl.fromLocalFile('/runs/c.toml')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert answer.stdout.split("\n") == ["/runs/a b.toml", "/runs/c.toml", ""], answer.stderr


def test_every_system_gets_the_same_style() -> None:
    code = "from studio.window.application import make_application; print(make_application().style().objectName())"
    asked = {**os.environ, "QT_STYLE_OVERRIDE": "Windows"}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=asked)
    assert (answer.returncode, answer.stdout.strip().lower()) == (0, "fusion"), answer.stderr


def test_the_first_frame_has_a_rail_an_outline_and_a_word_about_the_engine(qtbot: QtBot, isolated_home: Path) -> None:
    window = frame(qtbot, SettingsStore(isolated_home / "settings.json", AppSettings(page="runs")))
    assert window.rail.current() == "runs"
    assert window.status.text.text() == "Starting PyTorch …"
    image = window.grab().toImage()
    across = window.stack.mapTo(window, window.stack.rect().center()).x()
    colors = {image.pixel(across, y) for y in range(window.height() - 60)}
    assert len(colors) > 2  # cards on a page, not an empty ground


def test_what_is_clicked_before_the_window_is_furnished_is_done_afterwards(qtbot: QtBot, context: AppContext) -> None:
    window = frame(qtbot, context.settings)
    runs = next(item for item in window.findChildren(RailItem) if item.text() == "Runs")
    qtbot.mouseClick(runs, Qt.MouseButton.LeftButton)
    window.theme_choice.set_current("dark")
    assert window.findChildren(RunsPage) == []
    window.furnish(context)
    assert isinstance(window.stack.currentWidget(), RunsPage)
    assert context.settings.get().theme == "dark"
    assert window.menu_button.menu().actions()
    qtbot.waitUntil(lambda: context.engine.state is EngineState.READY)
    assert window.status.text.text().startswith("Ready · ")


def test_a_window_that_is_closed_before_it_is_furnished_is_gone(qtbot: QtBot, isolated_home: Path) -> None:
    window = frame(qtbot, SettingsStore(isolated_home / "settings.json", AppSettings()))
    with qtbot.waitSignal(window.closed):
        window.close()
    assert not window.isVisible()
