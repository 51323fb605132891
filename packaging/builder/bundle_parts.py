"""What goes into the frozen window, and what it takes from the system. Standard library only: PyInstaller's own Python reads it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_PYTHON_BRINGS = re.compile(r"lib(python3|ssl|crypto|sqlite3|ffi|bz2|lzma|uuid|z|expat|mpdec)\b")
"""Libraries of the building machine that Python's own modules need, in just that version."""
_SYSTEM = re.compile(r"^(/usr)?/lib(64)?/")
UNASKED = [
    *("tkinter", "curses", "readline", "lib2to3", "pydoc_data", "ensurepip", "setuptools", "pip", "pytest"),
    *("matplotlib", "pandas", "IPython", "pygments", "markdown_it"),
    "scipy",  # for two of optuna's choices, which an engine has
    *(f"PySide6.Qt{name}" for name in ("OpenGL", "OpenGLWidgets", "Network", "Test", "DBus")),
    *("pyqtgraph.opengl", "pyqtgraph.examples", "numpy.f2py", "numpy.distutils", "numpy.testing", "PIL._avif"),
]
"""Modules that libraries would use if they were there, or that we use nothing of."""
_WITH_SYMBOLS = re.compile(r"(^|/)(libpython3[^/]*|_polars_runtime[^/]*)\.so|python3\.\d+/lib-dynload/")
"""Large for what only debuggers read. Not all libraries: those that wheels have patched break when they are stripped."""
_UNUSED = re.compile(
    r"PySide6/Qt/(translations|qml)/|PySide6/Qt/plugins/(platformthemes/libqgtk3|virtualkeyboard|generic|egldeviceintegrations)"
    r"|PySide6/Qt/plugins/(platforms/libq(eglfs|linuxfb|vkkhrdisplay|minimal|vnc)|networkinformation|tls)"
    r"|libQt6(Pdf|Quick|Qml|VirtualKeyboard|EglFS|EglFs|ShaderTools|Network\b|VncServer|Test\b)"
    r"|/(tests?|testing)/|\.pyi$|(^|/)py\.typed$|pyqtgraph/(examples|icons/peegee)"
)
"""Parts of libraries that the window never asks for."""


def package_files(site: Path, packages: tuple[str, ...]) -> tuple[list[str], list[tuple[str, str]]]:
    """The modules of ``packages`` by name, and their other files, each with the folder that it goes to. Migrations are read as
    files by Alembic, so they are both."""
    modules: list[str] = []
    files: list[tuple[str, str]] = []
    for path in sorted(each for package in packages for each in (site / package).rglob("*")):
        place = path.relative_to(site)
        if path.is_dir() or "__pycache__" in place.parts:
            continue
        migration = "migrations" in place.parts
        if path.suffix == ".py" and not migration:
            name = ".".join(place.with_suffix("").parts)
            modules.append(name.removesuffix(".__init__"))
        elif path.suffix not in (".pyi", ".typed"):
            files.append((str(path), str(place.parent)))
    return modules, files


def is_of_the_system(source: str) -> bool:
    """Whether a file is a library of this Linux."""
    return sys.platform == "linux" and bool(_SYSTEM.match(source))


def is_ours_to_bring(name: str, source: str) -> bool:
    """Whether a file belongs into the bundle: not what the window never uses, and nothing that has to be the system's own (its
    display, its fonts, its C++), whose packages ``studio/preflight.py`` names."""
    if _UNUSED.search(name.replace("\\", "/")):
        return False
    if is_of_the_system(source):
        return bool(_PYTHON_BRINGS.search(Path(source).name))
    return not (sys.platform == "linux" and re.match(r"lib(stdc\+\+|gcc_s)\.so", Path(name).name))


def strip_symbols(entries: list[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """``entries`` with copies in ``folder`` in place of what is large for its symbols alone."""
    kept = []
    for name, source, kind in entries:
        if _WITH_SYMBOLS.search(name) and kind != "SYMLINK":
            copy = folder / "stripped" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "--strip-unneeded", "-o", copy, source], check=True)
            source = str(copy)
        kept.append((name, source, kind))
    return kept
