"""``python -m tests.servers.debian``: install the servers that the tests marked ``server`` start, where Debian has them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from studio.preflight import install_as_root

PACKAGES = ("postgresql",)


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's own programs, of the newest version there is; Debian keeps them out of the search path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return Path(elsewhere).resolve().parent if elsewhere else None


def main() -> int:
    """Install what is missing; returns the exit code."""
    if find_postgres() is not None:
        return 0
    try:
        if install_as_root(PACKAGES, "Servers for the tests"):
            return 0
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error.stderr.strip()}\n")
    sys.stderr.write(
        f"Servers for the tests are missing; on Debian and Ubuntu: sudo apt install {' '.join(PACKAGES)}\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
