"""What goes into the frozen window, and what it takes from the system. Standard library only: PyInstaller's own Python reads it."""

from __future__ import annotations

import ast
import py_compile
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from builder import icu_data

_PYTHON_BRINGS = re.compile(r"lib(python3|ssl|crypto|sqlite3|ffi|bz2|lzma|uuid|z|expat|mpdec)\b")
"""Libraries of the building machine that Python's own modules need, in just that version."""
_SYSTEM = re.compile(r"^(/usr)?/lib(64)?/")
UNASKED = [
    "tkinter", "curses", "readline", "lib2to3", "pydoc_data", "ensurepip", "setuptools", "pip", "pytest", "pdb", "doctest", "xmlrpc",
    "matplotlib", "pandas", "IPython", "pygments", "markdown_it", "scipy",
    "PySide6.QtNetwork", "PySide6.QtTest", "PySide6.QtOpenGL",
    "sqlalchemy.dialects.mssql", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.oracle",
    "pyqtgraph.opengl", "pyqtgraph.examples", "pyqtgraph.flowchart", "pydantic.v1",
    "numpy.f2py", "numpy.distutils", "numpy.testing", "PIL._avif", "PIL.ImageCms", "PIL._imagingcms",
]  # fmt: skip
"""Modules that libraries would use if they were there, or that the window uses nothing of. scipy is for two of optuna's
choices, which an engine has; for QtOpenGL, start_window.py has a stand-in."""
_HEAVY = {"torch", "torchvision", "safetensors"}
_READ_AS_FILE = {"migrations", "trial_script.py"}
"""By Alembic, and by the Python of an engine that is tried."""
_WITH_SYMBOLS = re.compile(
    r"(^|/)(libpython3[^/]*|_polars_runtime[^/]*)\.so|^(sqlalchemy|yaml|PIL|numpy/_core)/|python3\.\d+/lib-dynload/"
)
"""Large for what only debuggers read. Not all: the libraries beside NumPy and Pillow, which their wheels have patched, break when they
are stripped."""
_DESCRIBED = re.compile(r"^training/config/sections/.*\.pyc$")
"""Their docstrings are what the window says of each kind of data, network, optimizer and so on."""
_UNUSED = re.compile(
    r"PySide6/Qt/(translations|qml)/|PySide6/Qt/plugins/(platformthemes/libqgtk3|virtualkeyboard|generic|egldeviceintegrations)"
    r"|PySide6/Qt/plugins/(platforms/libq(eglfs|linuxfb|vkkhrdisplay|minimal|vnc)|networkinformation|tls|xcbglintegrations)"
    r"|PySide6/Qt/plugins/imageformats/libq(tiff|tga|icns|wbmp)"
    r"|libQt6(Pdf|Quick|Qml|VirtualKeyboard|EglFS|EglFs|ShaderTools|Network\b|VncServer|Test\b)"
    r"|/(tests?|testing)/|sqlalchemy/dialects/(mssql|mysql|oracle)"
    r"|\.pyi$|(^|/)py\.typed$|pyqtgraph/(examples|icons/peegee)"
)
"""Parts of libraries that the window never asks for."""


def package_files(site: Path, packages: tuple[str, ...]) -> tuple[list[str], list[tuple[str, str]]]:
    """The modules of ``packages`` by name, and their other files, each with the folder that it goes to. Modules that load PyTorch
    are left out: an engine has its own. Some are read as files, too."""
    modules: dict[str, Path] = {}
    files: list[tuple[str, str]] = []
    for path in sorted(each for package in packages for each in (site / package).rglob("*")):
        place = path.relative_to(site)
        if path.is_dir() or "__pycache__" in place.parts:
            continue
        if path.suffix == ".py" and "migrations" not in place.parts:
            modules[".".join(place.with_suffix("").parts).removesuffix(".__init__")] = path
        if path.suffix not in (".py", ".pyi", ".typed") or _READ_AS_FILE & set(place.parts):
            files.append((str(path), str(place.parent)))
    heavy = _find_heavy({name: _imports(path) for name, path in modules.items()})
    return [name for name in modules if name not in heavy], files


def _imports(path: Path) -> set[str]:
    """What a module loads as soon as it is loaded."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def _find_heavy(imports: dict[str, set[str]]) -> set[str]:
    heavy = {name for name, loaded in imports.items() if {each.partition(".")[0] for each in loaded} & _HEAVY}
    while more := {name for name, loaded in imports.items() if name not in heavy and loaded & heavy}:
        heavy |= more
    return heavy


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


def make_smaller(entries: list[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """``entries`` with copies in ``folder`` in place of what is large for its symbols alone, or for data that Qt never asks for."""
    kept = []
    for name, source, kind in entries:
        copy = folder / "smaller" / name
        if kind == "SYMLINK":
            kept.append((name, source, kind))
        elif icu_data.LIBRARY.search(name):
            icu_data.cut_library(Path(source), copy)
            kept.append((name, str(copy), kind))
        elif _WITH_SYMBOLS.search(name):
            copy.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "--strip-unneeded", "-o", copy, source], check=True)
            kept.append((name, str(copy), kind))
        else:
            kept.append((name, source, kind))
    return kept


def keep_docstrings(entries: Iterable[tuple[str, str, str]], site: Path) -> None:
    """Compile again, with docstrings, the modules among ``entries`` (place, compiled file, kind) that the window reads them of."""
    for place, compiled, _ in entries:
        name = place.replace("\\", "/")
        if _DESCRIBED.search(name):
            py_compile.compile(str(site / name[:-1]), compiled, name[:-1], doraise=True, optimize=1)
