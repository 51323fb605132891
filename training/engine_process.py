"""The engine as a child process of the window: requests from standard input, replies to standard output, one line of JSON each."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType

from training.control import SYSTEM_ENDS, WINDOW_GONE
from training.protocol.messages import (
    DetachRequest,
    Done,
    IfWindowDies,
    Interrupt,
    Quit,
    Reply,
    Request,
    format_line,
    parse_request,
)
from training.serve import Server

_FIRST_REST_SECONDS = 0.2
_REST_SECONDS = 15.0
_LAST_WORDS_SECONDS = 2.0  # for a window to read the last replies before the process ends


def serve_standard_streams(_arguments: object) -> int:
    """The child process: requests from stdin, replies to stdout, everything else, a native crash included, to stderr."""
    replies = Replies()
    server = Server(replies.send, keeps_data=True)
    requests: Requests = queue.SimpleQueue()
    signals = _Signals(server, requests)
    threading.Thread(target=_listen, args=(server, replies, requests), name="requests", daemon=True).start()
    server.warm_up()
    for request in _iterate(requests, server.rest):
        if server.ended:
            break
        server.answer(request)
    replies.finish(_LAST_WORDS_SECONDS)
    signals.reraise()
    return 0


def _iterate(requests: Requests, rest: Callable[[], None]) -> Iterator[Request]:
    """The requests as they come; ``rest`` is called when there is none, soon, and then every now and then."""
    patience = _FIRST_REST_SECONDS
    while True:
        try:
            request = requests.get(timeout=patience)
        except queue.Empty:
            rest()
            patience = _REST_SECONDS
            continue
        if request is None:
            return
        yield request
        patience = _FIRST_REST_SECONDS


Requests = queue.SimpleQueue[Request | None]  # a SimpleQueue, because a signal handler puts into it


class Replies:
    """The child's way to the window: standard output, which nobody else may write to any more.

    A thread writes, so that a window that reads nothing (stopped, or hung) never holds up the run.
    """

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._descriptor = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library that prints must not garble the replies
        self._writer = threading.Thread(target=self._write, name="replies", daemon=True)
        self._writer.start()

    def send(self, reply: Reply) -> None:
        """Write one reply soon; without effect once the window has gone, since the run's folder tells the rest."""
        if self._writer.is_alive():
            self._lines.put(format_line(reply))

    def end(self) -> None:
        """Let the window's reader see the end after what was sent; later replies go nowhere."""
        self._lines.put(None)

    def finish(self, seconds: float) -> None:
        """End, and give a window that still reads up to ``seconds`` to take what was sent."""
        self.end()
        self._writer.join(seconds)

    def _write(self) -> None:
        """Straight to the descriptor: a thread that waits inside one of Python's streams aborts the interpreter when
        the main thread ends first."""
        with suppress(OSError):  # nobody will read any more
            while (line := self._lines.get()) is not None:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
        os.close(self._descriptor)


class _Signals:
    """SIGTERM and SIGINT stop the run, keep it and end the process; a second one ends it at once."""

    def __init__(self, server: Server, requests: Requests) -> None:
        self._server = server
        self._requests = requests
        self._received: signal.Signals | None = None
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a run handed to the background outlives its terminal
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._received = signal.Signals(number)
        signal.signal(number, signal.SIG_DFL)
        self._server.end(SYSTEM_ENDS)
        self._requests.put(None)

    def reraise(self) -> None:
        """End as the signal would have ended the process, if one came: who waits for it sees why."""
        if self._received is not None:
            signal.raise_signal(self._received)


def _listen(server: Server, replies: Replies, requests: Requests) -> None:
    """Hear the window, in a thread of its own: "detach" is obeyed, and the window's end noticed, while a run works.

    A window that closes says "quit"; when its pipe ends without, it has died, and "if_window_dies" said what then.
    """
    detached = keep_training = quit_said = False
    for line in _read_lines(sys.stdin.fileno()):
        match parse_request(line):
            case DetachRequest(id=number):
                detached = True
                replies.send(Done(id=number))
                replies.end()
            case IfWindowDies(keep_training=keep_training):
                pass
            case Interrupt(target=number):
                server.interrupt(number)
            case Quit():
                quit_said = True
                break
            case None:
                sys.stderr.write("The engine received a line that is no request and passed over it.\n")
            case request:
                requests.put(request)
    if quit_said and not detached:
        server.end()
    elif not detached and not keep_training:
        server.end(WINDOW_GONE)
    server.end_answers()
    requests.put(None)  # a run that goes on alone is the last thing this process does


def _read_lines(descriptor: int) -> Iterator[bytes]:
    """Whole lines of a pipe, read past Python's buffered stream: a thread that waits inside that aborts the interpreter
    when the main thread ends first, and the reason it ended for would be lost."""
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
