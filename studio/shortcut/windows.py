"""The menu entry on Windows: a shortcut in the person's own start menu that carries the program's AppUserModelID."""

import subprocess
from pathlib import Path, PureWindowsPath

from studio.identity import APP_ID, APP_NAME, ICONS, SUMMARY
from studio.shortcut.lnk import shortcut
from studio.shortcut.program import ShortcutError


def install(program: list[str], start_menu: Path) -> list[Path]:
    """Write Trainwright.lnk; returns its path. Raises ShortcutError for a program outside a lettered drive."""
    target = PureWindowsPath(program[0])
    if not target.drive.endswith(":"):
        raise ShortcutError(
            f"A start menu entry needs a program on a lettered drive, and this one is at {target}. "
            "Copy Trainwright to a local drive, or give the network folder a letter, and install the shortcut again."
        )
    path = start_menu / f"{APP_NAME}.lnk"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        shortcut(
            target=target,
            arguments=subprocess.list2cmdline(program[1:]),
            description=SUMMARY,
            icon=ICONS / "app.ico",
            app_id=APP_ID,
        )
    )
    return [path]


def remove(start_menu: Path) -> list[Path]:
    """Delete Trainwright.lnk; returns what was there."""
    path = start_menu / f"{APP_NAME}.lnk"
    if not path.is_file():
        return []
    path.unlink()
    return [path]
