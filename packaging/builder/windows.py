"""The window as an installer for Windows, by NSIS: for one person, without an administrator's rights."""

from __future__ import annotations

import re
from pathlib import Path

from builder.checkout import BUILD, BuildError, load_module, run, version
from builder.frozen import COPIED, NAME, frozen_window

PROGRAM = f"{NAME}.exe"


def make_installer(tree: Path, out: Path) -> list[Path]:
    """``Trainwright-VERSION-windows.exe``. NSIS runs on Linux, too, around a window that was frozen on Windows."""
    window = frozen_window(tree, BUILD / "frozen", "win32")
    if not (window / PROGRAM).is_file():
        raise BuildError(f"{window}: holds no {PROGRAM}, so it is no window that was frozen on Windows.")
    (window / COPIED).unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    installer = out.resolve() / f"Trainwright-{version()}-windows.exe"
    values = {
        "VERSION": version(),
        "NUMBER": ".".join([*re.findall(r"\d+", version()), "0", "0", "0"][:4]),
        "SOURCE": window.resolve(),
        "ICON": tree / "resources" / "icons" / "app.ico",
        "LICENSE": tree / "LICENSE",
        "TARGET": installer,
        "KILOBYTES": sum(path.stat().st_size for path in window.rglob("*") if path.is_file()) // 1024,
        "APP_ID": load_module(tree, "studio.identity").APP_ID,
    }
    defined = [f"-D{name}={value}" for name, value in values.items()]
    run(["makensis", "-WX", "-INPUTCHARSET", "UTF8", *defined, tree / "packaging" / "windows" / "installer.nsi"])
    return [installer]
