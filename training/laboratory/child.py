"""One run as a process of its own: started, listened to, killed or asked to stop, waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from training.errors import TrainingError
from training.laboratory.record import Kill
from training.laboratory.steps import CRASH_EPOCH
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.series import STEP_ROW, count_rows
from training.system.interpreter import engine_environment, engine_program
from training.system.untrusted import escape_unprintable

_LOOK_SECONDS = 0.05
_AIM_SECONDS = 0.002  # while the moment of the kill is near
_LAST_WORDS = 12
BUSY = 75
"""The exit code of ``resume --made`` where another process has the run (EX_TEMPFAIL): nothing is wrong with it, so look again."""

Say = Callable[[str], None]


class Interrupt:
    """Whether the person wants an end. Asked once: the run stops and keeps everything. Asked twice: it ends at once."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, *_signal: object) -> None:
        """Take note; made to be a signal's handler."""
        self.asked += 1


@contextmanager
def count_signals(interrupt: Interrupt) -> Iterator[None]:
    """Meanwhile signals that ask for an end are counted instead of obeyed at once. A terminal that is closed is none under
    ``nohup``; SIGINT is one in the background of a shell, too, as for a run."""
    names: Sequence[str] = ("SIGINT", "SIGTERM", "SIGHUP")
    wanted = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in wanted}
    for number in wanted:
        if before[number] is not signal.SIG_IGN or number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt.ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class NoEngine(TrainingError):
    """The Python that was to train cannot be started."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, the last lines it wrote, and the kill where there was one."""

    code: int
    words: str
    kill: Kill | None = None


def train(
    run: RunFolder,
    say: Say,
    interrupt: Interrupt,
    kill_it: bool = False,
    look: Callable[[], None] = lambda: None,
    options: Sequence[str] = (),
    python: str = "",
) -> Ended:
    """Begin ``run``, or go on with it, in a process of its own, until that ends; ``look`` is called all the while, ``options`` are of ``resume``, ``python`` is the engine's ("": our own).
    Raises NoEngine where that cannot be started.

    ``kill_it`` kills the process (SIGKILL) in the middle of epoch ``CRASH_EPOCH``; where it was too fast for that, it
    has ended and there is no kill.
    """
    of_run = ("--workspace", str(run.path.parent.parent), "--json", "--while-held")
    program = engine_program(python)
    try:
        process = subprocess.Popen(
            [*program, "resume", str(run.path), *of_run, *options],
            stdin=subprocess.PIPE,  # nothing is ever written: it ends with this process, however that ends, and so does the run
            stdout=subprocess.DEVNULL,  # what the record says is in the run's folder
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=engine_environment(os.environ, python),
            start_new_session=os.name == "posix",  # Ctrl+C is ours to pass on, once
        )
    except OSError as error:
        raise NoEngine(f"The engine {program[0]} cannot be started ({error.strerror or error})") from error
    assert process.stdin is not None
    assert process.stderr is not None
    words: list[str] = []
    listener = threading.Thread(target=_listen, args=(process.stderr, words, say), daemon=True)
    listener.start()
    aim = _Aim(run) if kill_it else None
    kill, asked = None, 0
    try:
        while process.poll() is None:
            if interrupt.asked > asked:
                asked = interrupt.asked
                process.terminate() if asked == 1 else process.kill()
            look()
            if aim is not None and kill is None and aim.is_due():
                process.kill()
                process.wait()
                kill = aim.read_kill()
            time.sleep(_AIM_SECONDS if aim is not None and aim.near else _LOOK_SECONDS)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
    listener.join(timeout=10)
    return Ended(process.returncode, "\n".join(words[-_LAST_WORDS:]), kill)


class _Aim:
    """Waits for the middle of the epoch in which a run is to be killed: half as long after its beginning as the epoch
    before it took. By the clock, since the steps of the last tenth of a second are not on the disk yet."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._history = History(run.events_file)
        self._due: float | None = None
        self.near = False

    def is_due(self) -> bool:
        """Whether the moment has come."""
        self._history.poll()
        ends = [epoch.time for epoch in self._history.epochs]
        self.near = len(ends) >= CRASH_EPOCH - 2
        if self._due is None and len(ends) == CRASH_EPOCH - 1:
            # The third epoch's steps begin at once; its validation, at its end, is mostly the shorter part.
            self._due = ends[-1] + (ends[-1] - ends[-2]) / 2
        return self._due is not None and time.time() >= self._due

    def read_kill(self) -> Kill | None:
        """What was on the disk when the process was gone; None when that was not in the epoch meant."""
        self._history.poll()
        epochs = len(self._history.epochs)
        if epochs != CRASH_EPOCH - 1 or self._history.final is not None:
            return None
        return Kill(count_rows(self._run.series_file, STEP_ROW), epochs, time.time())


def _listen(stream: IO[str], words: list[str], say: Say) -> None:
    with stream:
        for line in stream:
            text = escape_unprintable(line.rstrip())
            words.append(text)
            say(f"      {text}")
