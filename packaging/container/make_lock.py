"""``python packaging/container/make_lock.py``: write requirements.lock from pyproject.toml, by uv (``pip install uv``).

It holds what the engine needs, for each system and processor that its packages are made for, in the versions that are
installed beside the Python that runs this: those the tests passed with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
PYTHON = "3.11"  # that of the recipe's base

sys.path.insert(0, str(CHECKOUT))
from training.system.installed import list_packages  # noqa: E402


def main() -> int:
    """Returns the exit code."""
    if find_spec("uv") is None:
        print(f"uv is not installed beside {sys.executable}: pip install uv", file=sys.stderr)
        return 2
    lock = HERE / "requirements.lock"
    with tempfile.TemporaryDirectory() as folder:
        constraints, made = Path(folder) / "constraints.txt", Path(folder) / lock.name
        known = [package for package in list_packages() if package.origin == "index" and "+" not in package.version]
        constraints.write_text("".join(f"{package.name}=={package.version}\n" for package in known))
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        command += ["--python-version", PYTHON, "--constraint", str(constraints), "--output-file", str(made)]
        command += ["--custom-compile-command", "python packaging/container/make_lock.py", "--no-annotate"]
        done = subprocess.run([*command, "--extra", "engine", "pyproject.toml"], cwd=CHECKOUT, check=False)
        if done.returncode:
            return done.returncode
        unfinished = lock.with_suffix(".unfinished")
        unfinished.write_bytes(made.read_bytes())
        os.replace(unfinished, lock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
