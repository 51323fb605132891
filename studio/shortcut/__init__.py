"""Put Trainwright into the person's own start menu, and take it out again: Linux, Windows, macOS. No administrator."""

import os
import sys
from pathlib import Path

from studio.shortcut import linux, macos, windows
from studio.shortcut.program import ShortcutError, program, prove

__all__ = ["ShortcutError", "install", "remove"]


def install() -> list[Path]:
    """Write the menu entry and its icons, replacing an earlier one; returns what was written.

    Raises ShortcutError where the entry could not start the program, OSError where a file cannot be written.
    """
    command = program()
    prove(command)
    if sys.platform == "win32":
        return windows.install(command, start_menu())
    if sys.platform == "darwin":
        return macos.install(command, applications())
    return linux.install(command, data_home())


def remove() -> list[Path]:
    """Delete what `install` wrote; returns what was there. A second call finds nothing and is no error."""
    if sys.platform == "win32":
        return windows.remove(start_menu())
    if sys.platform == "darwin":
        return macos.remove(applications())
    return linux.remove(data_home())


def data_home() -> Path:
    """Where this person's desktop entries and icons lie on Linux (XDG base directory specification)."""
    folder = os.environ.get("XDG_DATA_HOME", "")
    # The specification: a relative path is to be ignored.
    return Path(folder) if folder.startswith("/") else Path.home() / ".local" / "share"


def start_menu() -> Path:
    """This person's part of the Windows start menu."""
    roaming = os.environ.get("APPDATA")
    folder = Path(roaming) if roaming else Path.home() / "AppData" / "Roaming"
    return folder / "Microsoft" / "Windows" / "Start Menu" / "Programs"


def applications() -> Path:
    """This person's own Applications folder on macOS; Launchpad and Spotlight look there too."""
    return Path.home() / "Applications"
