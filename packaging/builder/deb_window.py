"""Debian's package of the window. Built on the oldest Debian that it is for: it needs the builder's glibc and libraries."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from builder.checkout import BUILD, load_module
from builder.deb import finish_package, override
from builder.frozen import COPIED, make_window
from builder.inventory import BILL, LICENSES, owner_of
from builder.linux_files import LIBRARY, lay_out

_BUNDLED = "a program that brings its own Python, as it was built and tested with"
_OVERRIDES = {
    "embedded-library *": f"{_BUNDLED}: libraries lie inside the wheels of NumPy, Pillow and PySide6",
    "unstripped-binary-or-object *": "those of wheels that patchelf has touched break when they are stripped",
    "custom-library-search-path *": "libraries of wheels find each other by $ORIGIN",
    "package-installs-python-bytecode *": "the frozen program's own modules, for its own Python",
    "library-not-linked-against-libc *": "libraries of wheels that only pass data or symbols on",
}


def make_window_deb(tree: Path, out: Path) -> list[Path]:
    """The package, of a window that is built for it."""
    (window,) = make_window(tree, BUILD / "frozen")
    with TemporaryDirectory(prefix="trainwright-deb-") as folder:
        root = Path(folder) / "root"
        lay_out(tree, window, root)
        documents = root / "usr/share/doc/trainwright"
        documents.mkdir(parents=True)
        for name in (BILL, LICENSES):
            (root / LIBRARY / name).rename(documents / name)
        owners = set()
        for source in json.loads((window / COPIED).read_text()):  # Debian has them, and mends their faults
            copy = root / LIBRARY / "_internal" / Path(source).name
            if owner := owner_of(Path(source)).partition(":")[0]:
                owners.add(owner)
                copy.unlink(missing_ok=True)
        (root / LIBRARY / COPIED).unlink()
        override(root, "trainwright", _OVERRIDES)
        fields = {
            "Depends": ", ".join(
                ["libc6 (>= 2.34)", "libstdc++6 (>= 12)", "libgcc-s1", *_qt_packages(tree), *sorted(owners)]
            ),
            "Recommends": "trainwright-engine-cpu",
            "Suggests": "libnotify-bin",
            "Description": "train PyTorch models and watch them learn\n"
            " A desktop studio that trains PyTorch models: choose data, model, optimizer\n"
            " and schedule in forms, watch the curves, stop and resume whenever you like,\n"
            " export the best model.\n .\n"
            " The window alone: it trains by an engine, a Python that has PyTorch, such as\n"
            " that of trainwright-engine-cpu or one that it makes.",
        }
        return [finish_package(root, "trainwright", fields, out, ("-Zxz", "-z9", "--threads-max=1"))]


def _qt_packages(tree: Path) -> list[str]:
    """Those of the libraries that the window's start looks for, by both names where Debian has renamed one."""
    names = {each.debian for each in load_module(tree, "studio.preflight").LIBRARIES}
    return sorted(f"{name}t64 | {name}" if name == "libglib2.0-0" else name for name in names)
