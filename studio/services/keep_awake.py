"""Keeps the computer from falling asleep while a model trains; the display may go dark."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import sys

logger = logging.getLogger(__name__)

_ES_CONTINUOUS = 0x80000000
_ES_SYSTEM_REQUIRED = 0x00000001


def inhibitor_command(pid: int, platform: str = sys.platform) -> list[str] | None:
    """The system's own program that prevents sleep until process ``pid`` ends; None where there is none.

    Tied to the engine's process, it goes on for a run kept in the background and can never outlive the training.
    """
    if platform == "darwin":
        return ["caffeinate", "-i", "-w", str(pid)]
    if platform.startswith("linux") and shutil.which("systemd-inhibit") and shutil.which("tail"):
        reason = ["--what=idle:sleep", "--who=Trainwright", "--why=A model is being trained", "--mode=block"]
        return ["systemd-inhibit", *reason, "tail", f"--pid={pid}", "-f", os.devnull]
    return None


class KeepAwake:
    """Holds the computer awake between ``hold`` and ``release``."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.held = False  # whether sleep is being prevented

    def hold(self, pid: int) -> None:
        """Prevent sleep while process ``pid`` works."""
        if self.held:
            return
        if sys.platform == "win32":
            ctypes.windll.kernel32.SetThreadExecutionState(_ES_CONTINUOUS | _ES_SYSTEM_REQUIRED)
            self.held = True
            return
        command = inhibitor_command(pid)
        if command is None:
            return
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.held = True
        except OSError as error:
            logger.info("The computer cannot be kept awake: %s", error)

    def release(self) -> None:
        """Let the computer sleep again."""
        if sys.platform == "win32" and self.held:
            ctypes.windll.kernel32.SetThreadExecutionState(_ES_CONTINUOUS)
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        self.held = False
