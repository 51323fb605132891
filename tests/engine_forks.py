"""Engines as forks of one process that has imported what they need: imports are most of what an engine of a test costs.

``EngineForks`` takes the place of ``studio.engine.child.start_process``; this file as a program is the process that is forked.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import studio.engine.background_run  # noqa: F401  # it takes start_process as it is now: what it starts is no engine
from studio.engine.child import start_process
from training.system.interpreter import engine_environment

_LONGEST = 1 << 20  # bytes of a request: it holds an environment


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
            with suppress(ProcessLookupError):  # it has ended, and nobody has asked yet
                os.kill(self.pid, number)


class EngineForks:
    """Starts the process that is forked, which imports ``modules``, and ends it. On Linux: elsewhere each engine is a process that imports
    them itself."""

    def __init__(self, *modules: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform != "linux":
            return
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine_forks", str(theirs.fileno()), *modules],
            pass_fds=[theirs.fileno()],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process of several threads is not to be forked
        )
        theirs.close()

    def start_process(self, command: list[str], pipes: int, stderr: IO[bytes]) -> Any:
        """Like its namesake; what is no module for this Python is started as it would be."""
        if self._process is None or command[:2] != [sys.executable, "-m"]:
            return start_process(command, pipes, stderr)
        their_in, stdin = os.pipe()
        stdout, their_out = os.pipe()
        end, their_end = os.pipe()
        request = {"words": command[2:], "environment": engine_environment(os.environ), "folder": str(Path.home())}
        given = [their_in, their_out, stderr.fileno(), their_end]
        socket.send_fds(self._requests, [json.dumps(request).encode()], given)
        for each in (their_in, their_out, their_end):
            os.close(each)
        pid = int(self._requests.recv(100))
        return ForkedEngine(pid, os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(end, "rb"))

    def close(self) -> None:
        """End the process; engines that still work go on."""
        if self._process is not None:
            self._requests.close()
            self._process.wait()


class _Nursery:
    """The process that is forked."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ends: dict[int, int] = {}  # by process id: where its exit code is waited for
        self._woken, self._wakes = socket.socketpair()
        self._ready = selectors.DefaultSelector()
        for each in (requests, self._woken):
            self._ready.register(each, selectors.EVENT_READ)
        self._wakes.setblocking(False)
        signal.set_wakeup_fd(self._wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def work(self) -> list[str]:
        """Fork for each request. Returns, in the fork, what it is to run, and nothing when nobody can ask any more."""
        while True:
            ready = [key.fileobj for key, _ in self._ready.select()]
            if self._woken in ready:
                self._woken.recv(1000)
                self._tell_ends()
            if self._requests in ready:
                request, given, _, _ = socket.recv_fds(self._requests, _LONGEST, 4)
                if not request:
                    return []
                *streams, end = given
                pid = os.fork()
                if pid == 0:
                    self._prepare(json.loads(request), streams, end)
                    return list(json.loads(request)["words"])
                for each in streams:
                    os.close(each)
                self._ends[pid] = end
                self._requests.send(str(pid).encode())

    def _tell_ends(self) -> None:
        while self._ends:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with os.fdopen(self._ends.pop(pid), "wb") as end:
                end.write(str(os.waitstatus_to_exitcode(status)).encode())

    def _prepare(self, request: dict[str, Any], streams: list[int], end: int) -> None:
        """What ``start_process`` does for an engine."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for each in (self._requests, self._woken, self._wakes, self._ready):
            each.close()
        for number in (*self._ends.values(), end):
            os.close(number)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin, sys.stdout, sys.stderr = (  # others than those of files, which could be sought in
            os.fdopen(number, mode, buffering=1, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
        )
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    words = _Nursery(socket.socket(fileno=int(sys.argv[1]))).work()
    if words:
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
