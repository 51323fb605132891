"""Requests to a running engine: stop, stop now, pause, continue, save now, validate now, profile.

A request is one JSON line appended to ``commands.jsonl`` in the run folder (of a stop with its ``reason``, where no person asks), so the window, the command line or a later
start of the window can all steer a run, wherever it works. The engine looks at the file's size a few times a second.
"""

from __future__ import annotations

import json
import os
import threading
import time
from enum import StrEnum
from pathlib import Path

from training.errors import InputError, TrainingError
from training.system.held_input import call_at_its_end
from training.system.untrusted import escape_unprintable

COMMANDS_FILE = "commands.jsonl"
POLL_SECONDS = 0.1

WINDOW_GONE = "The window that showed the run ended unexpectedly, so the run was stopped and kept."
SYSTEM_ENDS = "The system asked the engine to end, so the run was stopped and kept."
LEFT_ALONE = "The program that had begun the run ended unexpectedly, so the run was stopped and kept."
TERM_REASON = "TRAINWRIGHT_TERM_REASON"
"""The variable in which who starts an engine may say why it will have stopped, should it be told to end by SIGTERM."""
_MOST_REASON = 300
UNASKED = frozenset({WINDOW_GONE, SYSTEM_ENDS, LEFT_ALONE})
"""Why a run stopped that no person stopped: the next window offers to go on."""


class Command(StrEnum):
    """What can be asked of a running engine."""

    STOP = "stop"  # finish this step, save, end as "stopped"
    STOP_NOW = "stop_now"  # finish this step, do not save, end as "stopped"
    PAUSE = "pause"
    CONTINUE = "continue"
    SAVE = "save"
    VALIDATE = "validate"
    PROFILE = "profile"  # measure where the time of the next steps goes


def send(run_folder: Path, command: Command) -> None:
    """Ask the engine working in ``run_folder`` for ``command``; raises InputError when the folder is gone."""
    line = (json.dumps({"command": str(command)}) + "\n").encode()
    try:
        # Neither a link to another place is followed, nor a pipe waited for.
        careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(run_folder / COMMANDS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | careful, 0o644)
    except OSError as error:
        raise InputError(f"The run folder {run_folder} cannot be written: {error.strerror}.") from error
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


class StopRequested(Exception):
    """The person asked for a stop while nothing was trained yet."""


class Control:
    """The engine's side: flags read once per step, set by the commands file, a signal handler or another thread."""

    def __init__(self) -> None:
        self.stop = False
        self.discard = False  # stop without saving
        self.reason = ""  # why it stops, when not because a person said so
        self.fault: TrainingError | None = None  # why it cannot go on
        self.save = False
        self.validate = False
        self.profile = False
        self.paused = threading.Event()
        self._file: Path | None = None
        self._inode = self._offset = 0
        self._polled = time.perf_counter()

    def watch(self, run_folder: Path) -> None:
        """Follow the run's commands from now on; what was asked of an earlier attempt is not obeyed again."""
        self._file = run_folder / COMMANDS_FILE
        try:
            status = os.stat(self._file)
            self._inode, self._offset = status.st_ino, status.st_size
        except OSError:
            self._inode, self._offset = 0, 0

    def request_stop(self, reason: str = "") -> None:
        """Stop after the current step and keep everything (also what SIGINT and SIGTERM mean).

        ``reason`` is a sentence for the run's record, for a stop that nobody at the run asked for.
        """
        self.reason = reason
        self.stop = True
        self.paused.clear()

    def give_up(self, fault: TrainingError) -> None:
        """End after the current step as failed, without saving: the folder is gone, or another process's."""
        self.fault = fault
        self.discard = True
        self.request_stop()

    def refuse_stop(self) -> None:
        """Look at what is asked while nothing is trained yet: raises StopRequested, or the fault that ends the run."""
        self.poll()
        if self.fault is not None:
            raise self.fault
        if self.stop:
            raise StopRequested

    def is_due(self) -> bool:
        """Whether it is time for the next ``poll``."""
        return time.perf_counter() - self._polled >= POLL_SECONDS

    def poll(self) -> None:
        """Read commands that came since the last look; costs one ``stat`` when there are none."""
        self._polled = time.perf_counter()
        if self._file is None:
            return
        try:
            status = os.stat(self._file)
            if status.st_ino != self._inode:  # deleted, and begun again by who had something to ask
                self._inode, self._offset = status.st_ino, 0
            if status.st_size <= self._offset:
                self._offset = status.st_size
                return
            with self._file.open("rb") as stream:
                stream.seek(self._offset)
                chunk = stream.read()
        except OSError:
            return  # not there, or nothing that can be read: steering must never end a run
        for line in chunk.split(b"\n")[:-1]:  # a line without its end is still being written
            self._offset += len(line) + 1
            self._obey(line)

    def _obey(self, line: bytes) -> None:
        try:
            asked = json.loads(line)
            command, reason = Command(asked["command"]), asked.get("reason")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return  # a foreign or future command: steering must never end a run
        if command in (Command.STOP, Command.STOP_NOW):
            self.discard = command is Command.STOP_NOW
            self.request_stop(escape_unprintable(reason, _MOST_REASON) if isinstance(reason, str) else "")
        elif command is Command.PAUSE:
            self.paused.set()
        elif command is Command.CONTINUE:
            self.paused.clear()
        elif command is Command.SAVE:
            self.save = True
        elif command is Command.PROFILE:
            self.profile = True
        else:
            self.validate = True


def stop_with_input(control: Control) -> None:
    """Stop and keep the run once standard input ends: whoever held its other end has gone."""
    call_at_its_end(lambda: control.request_stop(LEFT_ALONE))
