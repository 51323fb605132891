"""``python packaging/linux/try_appdir.py ROOT APPDIR.tar.zst ENGINE.deb``: start the folder that runs from anywhere in a bare Debian. As root.

ROOT is made by debootstrap (or taken as it is). There the folder is unpacked below a path with spaces and other letters, and started
without any Python or engine; then the engine's package is installed, the sample trained, the folder moved and started again, and
trained once more in portable mode, after which nothing may lie in the home. Nothing but the installations has a network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from try_packages import RecipeError, forget_files, prepare_root, run_inside, run_offline  # noqa: E402

sys.path.insert(0, str(HERE.parents[1]))

from studio.preflight import LIBRARIES  # noqa: E402
from training.system.places import BESIDE  # noqa: E402

ENGINE = "/usr/lib/trainwright/engines/cpu/bin/python"
FIRST, SECOND = "opt/Bücher и программы 日本", "srv/a stick"
HOME_PLACES = ("Documents", ".config", ".local", ".cache")


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code: 0 where everything was as promised."""
    parser = argparse.ArgumentParser(prog="try_appdir.py", description="Try the folder that runs from anywhere.")
    parser.add_argument("root", type=Path, help="where the system lies, or is made by debootstrap")
    parser.add_argument("packed", type=Path, metavar="APPDIR.tar.zst")
    parser.add_argument("engine", type=Path, metavar="ENGINE.deb")
    options = parser.parse_args(argv)
    root = prepare_root(options.root)
    libraries = sorted({each.debian for each in LIBRARIES})
    install = ["apt-get", "-qq", "install", "--yes", "--no-install-recommends"]
    run_inside(root, *install, *libraries)
    first, second = root.path / FIRST, root.path / SECOND
    for place in (first, second):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    subprocess.run(["tar", "--zstd", "-xf", options.packed, "-C", first], check=True)
    (folder,) = first.iterdir()
    forget_files(root.path)
    forget_files(folder)
    program = f"/{FIRST}/{folder.name}/AppRun"
    for words in (["start", "cold"], ["start", "warm", "measure"]):
        run_offline(root, *words, PROGRAM=program)
    shutil.copyfile(options.engine, root.path / "tmp" / options.engine.name)
    run_inside(root, *install, f"/tmp/{options.engine.name}")
    run_offline(root, "train", PROGRAM=program, TRAINWRIGHT_ENGINE=ENGINE)
    shutil.move(folder, second)
    moved = second / folder.name
    program = f"/{SECOND}/{folder.name}/AppRun"
    run_offline(root, "start", "moved", PROGRAM=program)
    home = root.path / "root"
    for name in HOME_PLACES:
        shutil.rmtree(home / name, ignore_errors=True)
    data = moved / BESIDE
    data.mkdir()
    runs = f"/{SECOND}/{folder.name}/{BESIDE}/workspace/runs"
    run_offline(root, "train", PROGRAM=program, TRAINWRIGHT_ENGINE=ENGINE, RUNS=runs)
    strewn = sorted(str(path.relative_to(home)) for name in HOME_PLACES for path in (home / name).rglob("*"))
    print(
        f"portable: {', '.join(sorted(path.name for path in data.iterdir()))}; in the home: {', '.join(strewn) or 'nothing'}"
    )
    return int(bool(strewn))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("try_appdir.py has to mount and chroot: run it as root, on a machine of your own.")
    try:
        sys.exit(main())
    except (RecipeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
