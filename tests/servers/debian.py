"""``python -m tests.servers.debian``: install the servers that the tests marked ``server`` start, where Debian has them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from studio.preflight import install_as_root
from tests.servers import slurm

SCREEN_READER = {"Xvfb": "xvfb", "dbus-daemon": "dbus", "/usr/libexec/at-spi-bus-launcher": "at-spi2-core"}
"""What the program is read aloud by, a program each, and its package."""


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's own programs, of the newest version there is; Debian keeps them out of the search path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return Path(elsewhere).resolve().parent if elsewhere else None


def list_missing() -> list[str]:
    """The packages that are not here."""
    readers = [package for program, package in SCREEN_READER.items() if shutil.which(program) is None]
    cluster = [package for program, package in slurm.PROGRAMS.items() if slurm.find_program(program) is None]
    return [*([] if find_postgres() else ["postgresql"]), *readers, *cluster]


def main() -> int:
    """Install what is missing; returns the exit code."""
    missing = list_missing()
    if not missing:
        return 0
    try:
        if install_as_root(missing, "Servers for the tests"):
            return 0
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error.stderr.strip()}\n")
    sys.stderr.write(f"Servers for the tests are missing; on Debian and Ubuntu: sudo apt install {' '.join(missing)}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
