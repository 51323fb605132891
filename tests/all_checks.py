"""``python -m tests.all_checks``: lint, format, types, import contracts and pytest; ``python3 run.py test`` sets up and comes here."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def run_all(arguments: list[str], python: str = sys.executable) -> int:
    """All checks, also after a failed one: a person sees every problem at once. Returns the first failure's code.

    Types are checked beside all others: on one core, and for a minute the first time.
    """
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of the many processes would compile all of this again
    lint_imports = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    steps = [
        ("system libraries", ["-m", "studio.preflight", "--offscreen", "--install"]),
        ("lint", ["-m", "ruff", "check", "."]),
        ("format", ["-m", "ruff", "format", "--check", "--output-format", "concise", "."]),
        ("import contracts", ["-c", lint_imports]),
        # Three at a time on two cores: many tests wait for processes. Neighbors share what is made once for a file.
        ("tests", ["-m", "pytest", "-n", "3", "--dist", "worksteal", *arguments]),
    ]
    if "--run-servers" in arguments:
        steps.insert(1, ("servers", ["-m", "tests.servers.debian"]))
    failed: list[tuple[str, int]] = []
    types = subprocess.Popen(
        [python, "-m", "mypy"], cwd=CHECKOUT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )

    def check_types() -> None:
        found = types.communicate()[0]
        say(f"\n--- types\n{found.rstrip()}")
        if types.returncode != 0:
            failed.append(("types", types.returncode))

    beside = threading.Thread(target=check_types)
    beside.start()
    for name, command in steps:
        say(f"\n--- {name}")
        try:
            code = subprocess.run([python, *command], cwd=CHECKOUT, env=environ, check=False).returncode
        except KeyboardInterrupt:
            types.kill()
            say(f"\nInterrupted during: {name}")
            return 130
        if code != 0:
            failed.append((name, code))
    beside.join()
    if not failed:
        return 0  # pytest's closing line is the last one, unless it was quicker than the types
    say(f"\nFAILED: {', '.join(name for name, _ in failed)} (see above)")
    return failed[0][1]


def say(text: str) -> None:
    """On stderr, between what the tools say on both."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run_all(sys.argv[1:]))
