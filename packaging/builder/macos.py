"""The window as an application for macOS, on a disk image to drag it from."""

from __future__ import annotations

import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builder.checkout import BUILD, BuildError, run, version
from builder.frozen import APP, frozen_window

_OLDEST = "13.0"
"""That Qt 6.11 runs on."""


def make_image(tree: Path, out: Path) -> list[Path]:
    """``Trainwright-VERSION-macos-MACHINE.dmg``. It is signed for this machine alone: a developer's certificate is needed for others
    to open it without being warned."""
    app = frozen_window(tree, BUILD / "frozen", "darwin")
    if not (app / "Contents" / "Info.plist").is_file():
        raise BuildError(f"{app}: is no application for macOS.")
    out.mkdir(parents=True, exist_ok=True)
    image = out / f"Trainwright-{version()}-macos-{platform.machine()}.dmg"
    with TemporaryDirectory(prefix="trainwright-dmg-") as folder:
        run(["ditto", app, Path(folder) / APP])
        (Path(folder) / "Applications").symlink_to("/Applications")
        words = ["hdiutil", "create", "-volname", f"Trainwright {version()}", "-srcfolder", folder, "-format", "ULFO"]
        run([*words, "-ov", image])
    return [image]


def describe_app(app_id: str) -> dict[str, Any]:
    """What Info.plist says beside what PyInstaller puts there; window.spec reads it."""
    kinds = {
        f"{app_id}.configuration": ("Trainwright configuration", "trainwright.toml"),
        f"{app_id}.run": ("Trainwright run", "trainwright"),
    }
    return {
        "CFBundleIdentifier": app_id,
        "CFBundleName": "Trainwright",
        "CFBundleDisplayName": "Trainwright",
        "CFBundlePackageType": "APPL",
        "CFBundleVersion": version(),
        "CFBundleShortVersionString": version(),
        "LSMinimumSystemVersion": _OLDEST,
        "LSApplicationCategoryType": "public.app-category.developer-tools",
        "NSHumanReadableCopyright": "The Trainwright developers, Apache License 2.0",
        "NSHighResolutionCapable": True,
        "NSRequiresAquaSystemAppearance": False,  # dark where the system is dark
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": kind,
                "UTTypeDescription": title,
                "UTTypeConformsTo": ["public.text"],
                "UTTypeTagSpecification": {"public.filename-extension": [extension]},
            }
            for kind, (title, extension) in kinds.items()
        ],
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": title,
                "CFBundleTypeRole": "Editor",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [kind],
            }
            for kind, (title, _extension) in kinds.items()
        ],
    }
