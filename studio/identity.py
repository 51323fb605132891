"""Who the program says it is, to the desktop and to the person: one id everywhere.

The desktop file, the icon, `QGuiApplication.setDesktopFileName()`, the window class (`QApplication([APP_ID])`, because
with sys.argv Qt would call the window "__main__.py"), the Windows AppUserModelID and the macOS bundle id must be the
same text, or taskbars show a second, nameless button beside the one that was pinned.
"""

import sys

from training import __version__
from training.system.resources import find_resources

APP_ID = "io.github.trainwright.Trainwright"
APP_NAME = "Trainwright"
ORGANIZATION = "Trainwright"
SUMMARY = "Train PyTorch models and watch them learn"
VERSION = __version__
LICENSE = "Apache License 2.0"

ICONS = find_resources("studio", "icons")
APP_ICON = ICONS / "app.svg"


def claim_taskbar_button() -> None:
    """Tell Windows which shortcut this process belongs to. Must run before the first window; does nothing elsewhere."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.shell32.SetCurrentProcessExplicitAppUserModelID(APP_ID)
