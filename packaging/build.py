"""Build what people install: python packaging/build.py TARGET [TARGET ...] [--out FOLDER]

Each target is built from what is committed, into dist/ beside this checkout. What a target needs is told where it is missing:
pip install '.[packaging]' brings all that Python has. packaging/README.md says what was built, installed and tried, and where.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from builder.checkout import CHECKOUT, BuildError, clean_tree

TARGETS = {
    "wheel": ("wheels:make_wheel", "the wheel of both parts, and the one that goes into engines"),
    "sdist": ("wheels:make_sdist", "the sources"),
    "window": ("frozen:make_window", "the window with its Python as a folder, which the next ones wrap"),
    "appdir": ("appdir:make_appdir", "the window as a folder that runs from anywhere (.tar.zst)"),
    "deb": ("deb_window:make_window_deb", "Debian's package of the window"),
    "deb-engine": ("deb_engine:make_engine_deb", "Debian's package of an engine for the CPU"),
    "windows": ("windows:make_installer", "the installer for Windows"),
    "macos": ("macos:make_image", "the disk image for macOS"),
}


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="build.py", description="Build what people install.")
    told = "; ".join(f"{name}: {words}" for name, (_, words) in TARGETS.items())
    parser.add_argument("targets", nargs="+", choices=TARGETS, metavar="TARGET", help=told)
    parser.add_argument("--out", type=Path, default=CHECKOUT / "dist", metavar="FOLDER", help="where it goes: dist/")
    changes = "build what is changed and not committed, too: for trying things, nobody could build the same"
    parser.add_argument("--dirty", action="store_true", help=changes)
    options = parser.parse_args(argv)
    try:
        with clean_tree(options.dirty) as tree:
            for name in options.targets:
                module, _, function = TARGETS[name][0].partition(":")
                make: Callable[[Path, Path], list[Path]] = getattr(import_module(f"builder.{module}"), function)
                for path in make(tree, options.out):
                    size = f" ({path.stat().st_size / 1e6:.1f} MB)" if path.is_file() else ""
                    print(f"{name}: {path}{size}")
    except ModuleNotFoundError as error:
        print(f"{error.name} is missing: pip install '.[packaging]'", file=sys.stderr)
        return 1
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
