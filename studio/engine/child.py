"""The engine as a child process: ``python -m training serve``, JSON lines both ways. No Qt here, so that it can be
started before Qt is imported (torch then loads while the window is being built)."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from studio.engine.deaths import explain_exit, explain_no_start
from studio.engine.link import EngineLink
from studio.engine.messages import EngineDeath
from training.system.interpreter import engine_environment, engine_program, own_interpreter
from training.system.process import yield_processor

if TYPE_CHECKING:
    from training.protocol.messages import Reply, Request

logger = logging.getLogger(__name__)

_LOG_TAIL = 6000  # bytes of the technical record shown after a death
_STACKS = 64 * 1024
"""A crash in native code writes the stacks of all threads: as far back as its first line is looked for."""
_FATAL = b"Fatal Python error: "


def engine_command(python: str) -> list[str]:
    """The command line of an engine on the interpreter ``python`` ("" for our own)."""
    return [*engine_program(python), "serve"]


def start_process(
    command: list[str], pipes: int, stderr: IO[bytes], stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """An engine whose standard input and output (``stdout``, where that is another one) are ``pipes`` (``PIPE`` or ``DEVNULL``). Raises
    OSError."""
    return subprocess.Popen(
        command,
        stdin=pipes,
        stdout=pipes if stdout is None else stdout,
        stderr=stderr,
        env=engine_environment(os.environ, command[0]),
        cwd=Path.home() if Path.home().is_dir() else None,
        # A Ctrl+C in the terminal, or its end, is the window's to handle; the engine may outlive both.
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


class ChildLink(EngineLink):
    """A link to an engine in a process of its own, started by the constructor.

    Its standard error goes to a file: a pipe would need a reader, and would break under a run kept in the background.
    """

    def __init__(self, python: str = "", log_folder: Path | None = None, command: list[str] | None = None) -> None:
        self._python = python
        self._closed = False
        self._detached = False
        self._detach_id: int | None = None
        self._write_lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._no_start: EngineDeath | None = None
        stderr = open_log(log_folder)
        self._log = Path(stderr.name)
        try:
            self._process = start_process(command or engine_command(python), subprocess.PIPE, stderr)
        except OSError as error:
            self._no_start = explain_no_start(python or own_interpreter(), error)
        finally:
            stderr.close()

    @property
    def pid(self) -> int | None:
        """The process id; None when the process never started."""
        return self._process.pid if self._process else None

    def run(self, on_reply: Callable[[Reply], None]) -> EngineDeath | None:
        """Deliver replies until the process closes its standard output."""
        from training.protocol.messages import (
            parse_reply,  # with pydantic, which the start of the process need not wait for
        )

        if self._process is None:
            return self._no_start
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reply = parse_reply(line)
            if reply is None:
                logger.info("The engine printed: %s", line.decode("utf-8", "replace").rstrip())
                continue
            # Noted here, not when the GUI thread hears of it: the end of the stream follows at once.
            self._detached |= reply.id == self._detach_id
            on_reply(reply)
        self._process.stdout.close()
        if self._detached:
            # Left to itself, but still our child: somebody has to take its exit code, or it would look alive for ever.
            threading.Thread(target=self._process.wait, name="background run", daemon=True).start()
            return None
        code = self._process.wait()
        return None if self._closed else explain_exit(code, tail_of(self._log), self._python or own_interpreter())

    def send(self, request: Request) -> None:
        """Write one request; a broken pipe means the process is gone, which ``run`` reports."""
        from training.protocol.messages import format_line

        if self._process is None or self._process.stdin is None:
            return
        if request.action == "detach":
            self._detach_id = request.id
        try:
            with self._write_lock:
                self._process.stdin.write(format_line(request))
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            logger.info("A request did not reach the engine: %s", error)

    def preempt(self) -> None:
        """The threads it is going to have take the niceness over from the one it has."""
        if self._process is not None:
            with suppress(psutil.Error):  # it has ended already, which ``run`` tells
                yield_processor(psutil.Process(self._process.pid))

    def close(self) -> None:
        """The orderly end: the engine is told, or it would take the end of its input for the window's death."""
        from training.protocol.messages import Quit

        self.send(Quit())
        self.detach()

    def detach(self) -> None:
        """End the requests. After agreeing to go on alone the engine closes its standard output, which ends ``run``."""
        self._closed = True
        if self._process is not None and self._process.stdin is not None:
            try:
                with self._write_lock:
                    self._process.stdin.close()
            except OSError as error:
                logger.info("The engine was gone before it was told to end: %s", error)

    def terminate(self) -> None:
        """SIGTERM: the engine stops its run, keeps it, and ends."""
        if self._process is not None and not self._detached:
            self._process.terminate()

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None and not self._detached:
            self._process.kill()


def tail_of(log: Path) -> str:
    """The end of an engine's technical record; all that a crash in native code wrote."""
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - _STACKS))
        end = stream.read()
    fatal = end.rfind(_FATAL)
    start = min(fatal if fatal >= 0 else len(end), max(0, len(end) - _LOG_TAIL))
    return end[start:].decode("utf-8", "replace").strip()


def open_log(folder: Path | None) -> IO[bytes]:
    """A new file for an engine's standard error; the oldest of ten goes."""
    folder = folder or Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob("engine-*.log"), key=lambda path: path.stat().st_mtime)[:-9]:
            old.unlink(missing_ok=True)
    except OSError as error:
        logger.info("Old engine logs stay: %s", error)
        folder = Path(tempfile.gettempdir())
    return tempfile.NamedTemporaryFile(prefix="engine-", suffix=".log", dir=folder, delete=False)
