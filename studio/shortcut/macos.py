"""The menu entry on macOS: a small application bundle that starts this installation."""

import plistlib
import shlex
import shutil
from pathlib import Path

from studio.identity import APP_ID, APP_NAME, ICONS, VERSION

LAUNCHER = "trainwright"


def install(program: list[str], applications: Path) -> list[Path]:
    """Write Trainwright.app into the folder, replacing an earlier one; returns its path."""
    bundle = applications / f"{APP_NAME}.app"
    contents = bundle / "Contents"
    if bundle.exists():
        shutil.rmtree(bundle)
    (contents / "MacOS").mkdir(parents=True)
    (contents / "Resources").mkdir()
    (contents / "Info.plist").write_bytes(
        plistlib.dumps(
            {
                "CFBundleIdentifier": APP_ID,
                "CFBundleName": APP_NAME,
                "CFBundleDisplayName": APP_NAME,
                "CFBundleExecutable": LAUNCHER,
                "CFBundleIconFile": "app.icns",
                "CFBundlePackageType": "APPL",
                "CFBundleShortVersionString": VERSION,
                "CFBundleVersion": VERSION,
                "NSHighResolutionCapable": True,
            }
        )
    )
    shutil.copyfile(ICONS / "app.icns", contents / "Resources" / "app.icns")
    launcher = contents / "MacOS" / LAUNCHER
    launcher.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    return [bundle]


def remove(applications: Path) -> list[Path]:
    """Delete Trainwright.app from the folder; returns what was there."""
    bundle = applications / f"{APP_NAME}.app"
    if not bundle.is_dir():
        return []
    shutil.rmtree(bundle)
    return [bundle]
