"""What a menu entry starts."""

import subprocess
import sys
from pathlib import Path


class ShortcutError(Exception):
    """The menu entry cannot be made; the text says why and what to do."""


def program() -> list[str]:
    """The command that starts this very installation from anywhere: its own interpreter, or the frozen program.

    -P keeps the folder a menu starts in (the home folder) off the module path, where a person's own `studio` or
    `training` folder would be taken for ours.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable]
    interpreter = Path(sys.executable)
    windowless = interpreter.with_name("pythonw.exe")
    if sys.platform == "win32" and windowless.is_file():
        interpreter = windowless  # python.exe would open a console beside the window
    return [str(interpreter), "-P", "-m", "studio"]


def prove(command: list[str]) -> None:
    """Ask the command for its version, from a folder that is not ours, as a menu would start it.

    Raises ShortcutError when it does not answer: a dead menu entry would say nothing at all.
    """
    try:
        answer = subprocess.run(
            [*command, "--version"],
            cwd=Path.home(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise ShortcutError(f"The program for the start menu cannot be started: {error}.") from error
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise ShortcutError(
            f"A start menu could not start Trainwright from here ({said}). "
            "Install the shortcut with: python3 run.py --install-shortcut"
        )
