"""``python packaging/linux/try_packages.py ROOT WINDOW.deb ENGINE.deb``: install both in a bare Debian, start, train, remove. As root.

ROOT is made by debootstrap (or taken as it is), without Python. The window is started from its menu entry under Xvfb, cold (its files
taken out of the system's cache) and warm; the sample is trained in it; then both packages are removed, and the runs looked for. Nothing
after the installation has a network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "container"))

from try_recipe import RecipeError, Root  # noqa: E402

BASE = "debian:bookworm"
TOOLS = ["xvfb", "xdotool", "x11-apps", "libglib2.0-bin"]
"""A display, who finds a window on it and takes its picture, and ``gio launch``, which starts a menu entry."""
LIBRARY, RUNS = "usr/lib/trainwright", "root/Documents/Trainwright/runs"
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "DEBIAN_FRONTEND": "noninteractive",
}


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code: 0 where everything was as promised."""
    parser = argparse.ArgumentParser(prog="try_packages.py", description="Try the packages for Debian in a bare root.")
    parser.add_argument("root", type=Path, help="where the system lies, or is made by debootstrap")
    parser.add_argument("packages", nargs="+", type=Path, metavar="PACKAGE.deb", help="the window's and the engine's")
    options = parser.parse_args(argv)
    root = prepare_root(options.root)
    for file in options.packages:
        shutil.copyfile(file, root.path / "tmp" / file.name)
    places = [f"/tmp/{path.name}" for path in options.packages]
    names = [path.name.partition("_")[0] for path in options.packages]
    print(f"Python before: {'there' if (root.path / 'usr/bin/python3.11').exists() else 'none'}", flush=True)
    start = time.monotonic()
    run_inside(root, "apt-get", "-qq", "install", "--yes", "--no-install-recommends", *places)
    print(f"installed in {time.monotonic() - start:.0f} s: {', '.join(names)}", flush=True)
    for words in (["start", "cold", "answer"], ["start", "cold"]):
        forget_files(root.path)
        run_offline(root, *words)
    for words in (["start", "warm", "answer"], ["start", "warm"], ["start", "warm again", "measure"], ["train"]):
        run_offline(root, *words)
    kept = sorted(path.name for path in (root.path / RUNS).iterdir())
    run_inside(root, "apt-get", "-qq", "purge", "--yes", *names)
    left = (root.path / LIBRARY).exists()
    stay = kept == sorted(path.name for path in (root.path / RUNS).iterdir())
    print(
        f"removed; the program {'is still there' if left else 'is gone'}, {len(kept)} runs {'stay' if stay else 'are lost'}"
    )
    return int(left or not stay or not kept)


def prepare_root(path: Path) -> Root:
    """The bare Debian in ``path``, made there where there is none, with what looks at a window."""
    root = Root(path.resolve(), [], {})
    if not (root.path / "bin").exists():
        root.make(BASE)
    shutil.copyfile("/etc/resolv.conf", root.path / "etc/resolv.conf")
    shutil.copyfile(HERE / "try_packages.sh", root.path / "tmp" / "try_packages.sh")
    run_inside(root, "apt-get", "-qq", "update")
    run_inside(root, "apt-get", "-qq", "install", "--yes", "--no-install-recommends", *TOOLS)
    return root


def run_offline(root: Root, *words: str, **variables: str) -> None:
    """What try_packages.sh does by these words."""
    run_inside(root, "unshare", "--net", "/bin/sh", "/tmp/try_packages.sh", *words, **variables)


def forget_files(root: Path) -> None:
    """Have the system read these files from the disk again."""
    os.sync()
    for folder, _, names in os.walk(root / "usr"):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_inside(root: Root, *words: str, **variables: str) -> None:
    code = root.run(list(words), "root", "/", _ENVIRONMENT | variables)
    if code:
        raise RecipeError(f"{' '.join(words)}: failed with code {code}.")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("try_packages.py has to mount and chroot: run it as root, on a machine of your own.")
    try:
        sys.exit(main())
    except (RecipeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
