"""Fake engines as forks of one process that has imported what they need: half a second less for each of hundreds.

``EngineForks`` is what tests ask for an engine; this file as a program is the process that is forked.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from studio.engine.child import engine_environment

_LONGEST = 1 << 20  # bytes of an environment


class ForkedEngine:
    """What ``ChildLink`` uses of ``subprocess.Popen``."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], end: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._end = end
        self._code: int | None = None

    def wait(self) -> int:
        """Its exit code, once it has one; the negative number of the signal that killed it."""
        if self._code is None:
            with self._end:
                self._code = int(self._end.read())
        return self._code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self._code is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return  # it has ended, which nobody has asked yet


class EngineForks:
    """Starts the process that is forked, and ends it."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.studio.engine_forks", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=root,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process of several threads is not to be forked
        )
        theirs.close()

    def start(self, stderr: IO[bytes]) -> ForkedEngine:
        """An engine that writes its errors to ``stderr``."""
        their_in, stdin = os.pipe()
        stdout, their_out = os.pipe()
        end, their_end = os.pipe()
        given = [their_in, their_out, stderr.fileno(), their_end]
        about = json.dumps({"environment": engine_environment(os.environ), "folder": str(Path.home())})
        socket.send_fds(self._requests, [about.encode()], given)
        for each in (their_in, their_out, their_end):
            os.close(each)
        pid = int(self._requests.recv(100))
        return ForkedEngine(pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(end, "rb"))

    def close(self) -> None:
        """End the process; engines that still work go on."""
        self._requests.close()
        self._process.wait()


class _Nursery:
    """The process that is forked."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ends: dict[int, int] = {}  # pid -> where its exit code is waited for
        self._chosen = selectors.DefaultSelector()
        self._woken, wakes = socket.socketpair()
        for each in (self._woken, wakes):
            each.setblocking(False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._chosen.register(requests, selectors.EVENT_READ)
        self._chosen.register(self._woken, selectors.EVENT_READ)

    def work(self) -> None:
        """Until nobody can ask any more."""
        while True:
            ready = [key.fileobj for key, _ in self._chosen.select()]
            if self._woken in ready:
                self._woken.recv(1000)
                self._tell_ends()
            if self._requests in ready:
                about, given, _, _ = socket.recv_fds(self._requests, _LONGEST, 4)
                if not about:
                    return
                self._fork(json.loads(about), given)

    def _tell_ends(self) -> None:
        while self._ends:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            end = self._ends.pop(pid)
            os.write(end, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(end)

    def _fork(self, about: Mapping[str, object], given: list[int]) -> None:
        *streams, end = given
        pid = os.fork()
        if pid == 0:
            self._become_engine(about, streams, end)
        for each in streams:
            os.close(each)
        self._ends[pid] = end
        self._requests.send(str(pid).encode())

    def _become_engine(self, about: Mapping[str, object], streams: list[int], end: int) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for each in (self._requests, self._woken, self._wakes, self._chosen):
                each.close()
            for number in (*self._ends.values(), end):
                os.close(number)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            os.environ.clear()
            os.environ.update(about["environment"])  # type: ignore[call-overload]
            os.chdir(str(about["folder"]))
            from tests.studio.fake_engine import main

            main()
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(code)


if __name__ == "__main__":
    for module in ("tests.evaluations", "tests.reports", "tests.studio.fake_engine", "training.predictions.writing"):
        importlib.import_module(module)
    _Nursery(socket.socket(fileno=int(sys.argv[1]))).work()
