"""Where a window opens that was left on a screen which is not there any more, or is another one now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

LARGE = (0, 0, 1920, 1080)
BESIDE = (1920, 0, 1920, 1080)
_PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QPoint, QSize
from PySide6.QtGui import QGuiApplication
from studio.services.settings import SettingsStore
from studio.window.application import make_application
from studio.window.main_window import MainWindow

app = make_application()
store = SettingsStore(Path(sys.argv[1]))
window = MainWindow(store)
place, way = json.loads(sys.argv[2]), sys.argv[3]
if place:
    window.move(QPoint(*place[:2]))
    window.resize(QSize(*place[2:]))
window.showMaximized() if way == "maximized" else window.show()
for _ in range(10):
    app.processEvents()
if place:
    store.update(geometry=bytes(window.saveGeometry().toBase64().data()).decode(), maximized=window.isMaximized())
frame, normal = window.frameGeometry(), window.normalGeometry()
screen = QGuiApplication.screenAt(frame.center())
print(json.dumps([frame.getRect(), normal.getRect(), window.isMaximized(), screen.availableGeometry().getRect() if screen else None]))
"""

Rect = tuple[int, int, int, int]


class Seen(NamedTuple):
    """A window with its frame, as it would be if it were not maximized, and what its screen has room for."""

    frame: Rect
    normal: Rect
    is_maximized: bool
    screen: Rect | None

    @property
    def fits(self) -> bool:
        """Whether all of it is on its screen, its title above all."""
        return self.screen is not None and _is_inside(self.normal, self.screen) and self.frame[1] >= self.screen[1]


def _is_inside(inner: Rect, outer: Rect) -> bool:
    return all(outer[at] <= inner[at] and inner[at] + inner[at + 2] <= outer[at] + outer[at + 2] for at in (0, 1))


class Desk:
    """A person's screens and settings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, *screens: Rect, place: Rect | None = None, way: str = "") -> Seen:
        """Open a window on these screens; with ``place`` it is moved there, and left."""
        described = [
            {"name": f"screen {number}", "x": x, "y": y, "width": width, "height": height}
            for number, (x, y, width, height) in enumerate(screens)
        ]
        (self._folder / "screens.json").write_text(json.dumps({"screens": described}))
        answer = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(self._folder / "settings.json"), json.dumps(place), way],
            env=os.environ | {"QT_QPA_PLATFORM": f"offscreen:configfile={self._folder / 'screens.json'}"},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )  # fmt: skip
        frame, normal, is_maximized, screen = json.loads(answer.stdout.splitlines()[-1])
        return Seen(tuple(frame), tuple(normal), is_maximized, tuple(screen) if screen else None)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.slow
def test_a_window_opens_on_the_screen_where_it_was_left(desk: Desk) -> None:
    left = desk.open(LARGE, BESIDE, place=(2200, 100, 1200, 800))
    assert left.screen == BESIDE
    assert desk.open(LARGE, BESIDE).normal == left.normal
    gone = desk.open(LARGE)
    assert gone.screen == LARGE
    assert gone.fits
    assert gone.normal[2:] == (1200, 800)


@pytest.mark.slow
@pytest.mark.parametrize("screen", [(0, 0, 1600, 900), (0, 0, 1366, 768), (0, 0, 1290, 840), (0, 0, 1024, 640)])
def test_a_window_fits_a_screen_that_is_smaller_than_the_one_before(desk: Desk, screen: Rect) -> None:
    desk.open((0, 0, 2560, 1440), place=(300, 200, 2200, 1200))
    assert desk.open(screen).fits


@pytest.mark.slow
def test_a_window_that_was_never_open_fits_the_screen(desk: Desk) -> None:
    for screen in ((0, 0, 1024, 640), (0, 0, 1366, 768), LARGE):
        assert desk.open(screen).fits


@pytest.mark.slow
def test_a_maximized_window_is_maximized_on_the_screen_that_is_there(desk: Desk) -> None:
    desk.open(LARGE, BESIDE, place=(2200, 100, 1200, 800), way="maximized")
    again = desk.open(LARGE, BESIDE)
    assert again.is_maximized
    assert again.screen == BESIDE
    gone = desk.open(LARGE)
    assert gone.is_maximized
    assert gone.screen == LARGE
    other = desk.open((0, 0, 1366, 768))
    assert other.is_maximized
