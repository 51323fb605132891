"""Processes without torch that answer questions, and others in their place when they die."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from training.data.batching.processes import MOST_DEATHS, deaf_to_the_terminal, end_with
from training.streams import prepare_streams
from training.system.process import birth

logger = logging.getLogger(__name__)

T = TypeVar("T")
Question = Callable[[], T]

_START = f"import sys; engine, born, *sys.path = sys.argv[1:]; from {__name__} import serve; serve(int(engine), born)"
"""Not by ``multiprocessing``: what it starts runs the main script once more, which may import torch, and its fork server, of which
a process has one, holds torch for those that read samples."""


class ProcessDied(Exception):
    """It ended before it had answered."""


@dataclass
class _Raised:
    """What a question raised, told in place of its answer."""

    words: str


def ask(
    questions: Iterable[Question[T]], count: int, ahead: int, replaced: Callable[[], None]
) -> Generator[T, None, None]:
    """The answers of ``count`` processes, in the order of the questions, of which at most ``ahead`` are under way.

    A question is a function without arguments that can be pickled, and so can its answer, in which arrays are handed over as they
    lie in memory. One that dies is replaced, and the question asked once more: ``replaced`` hears of it once. Raises ProcessDied
    when the third one in a row has died of a question. Who closes the iterator ends the processes.
    """
    processes = [_Process() for _ in range(count)]
    idle = processes[:]

    def ask_one(question: Question[T]) -> T:
        process = idle.pop()  # there are as many threads
        try:
            answer: T = process.ask(question)
        finally:
            idle.append(process)
        return answer

    threads = ThreadPoolExecutor(count, "ask a process")
    rest = iter(questions)
    asked: deque[tuple[Question[T], Future[T]]] = deque()
    deaths, told = 0, False
    try:
        while True:
            asked += [(each, threads.submit(ask_one, each)) for each in islice(rest, ahead - len(asked))]
            if not asked:
                return
            question, answer = asked.popleft()
            try:
                found = answer.result()
            except ProcessDied as error:
                deaths += 1
                logger.warning("A process ended before it had answered: %s", error)
                if deaths == MOST_DEATHS:
                    raise
                if not told:
                    replaced()
                told = True
                asked.appendleft((question, threads.submit(ask_one, question)))
                continue
            deaths = 0
            yield found
    finally:
        for process in processes:
            process.kill()
        threads.shutdown(cancel_futures=True)
        for process in processes:
            process.end()


class _Process:
    """One of them: started when it is asked, once more after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._killed = False

    def ask(self, question: Question[Any]) -> Any:
        """Its answer. Raises ProcessDied, and RuntimeError with all that Python tells of what the question raised."""
        try:
            process = self._ensure_process()
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, pickle.dumps(question))  # unpickled where what that raises is told
            answer = _receive(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            code = self.end()
            raise ProcessDied(str(error) if code is None else f"exit code {code}") from error
        if isinstance(answer, _Raised):
            raise RuntimeError(answer.words)
        return answer

    def kill(self) -> None:
        """For good, from another thread than that which asks it."""
        with self._starting:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def end(self) -> int | None:
        """Take down what is left of it; its exit code, None where there was no process."""
        with self._starting:
            process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # the rest of a question that nobody reads
                if stream is not None:
                    stream.close()
        return process.wait()

    def _ensure_process(self) -> subprocess.Popen[bytes]:
        with self._starting:
            if self._killed:
                raise EOFError("no more questions are asked")
            if self._process is None:
                self._process = _start()
            return self._process


def _start() -> subprocess.Popen[bytes]:
    engine = os.getpid()
    words = [_START, str(engine), birth(engine) or "", *(place for place in sys.path if isinstance(place, str))]
    with deaf_to_the_terminal():
        return subprocess.Popen(
            [sys.executable, "-X", f"utf8={sys.flags.utf8_mode}", "-c", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # NumPy would start a thread for each core, in each of them
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )


def serve(engine: int, born: str) -> None:
    """Such a process: answer the questions from standard input on standard output, until the ``engine`` that asks is gone."""
    prepare_streams()
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library that prints must not garble the answers
    end_with(engine, born or None, 0)
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            _send(answers, _answer(_receive(questions)))
    os._exit(0)


def _answer(question: bytes) -> Any:
    try:
        return pickle.loads(question)()
    except Exception:  # noqa: BLE001 - whatever it is, it is raised where it was asked
        return _Raised(traceback.format_exc())


def _send(stream: Any, message: object) -> None:
    """Arrays follow the rest, straight from where they lie."""
    arrays: list[pickle.PickleBuffer] = []
    content = pickle.dumps(message, 5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    pickle.dump((content, [view.nbytes for view in views]), stream)
    for view in views:
        stream.write(view)
    stream.flush()


def _receive(stream: Any) -> Any:
    """What was sent. Raises EOFError or UnpicklingError where that is cut short."""
    content, sizes = pickle.load(stream)
    buffers = [np.empty(size, np.uint8) for size in sizes]
    for buffer in buffers:
        if stream.readinto(buffer) < buffer.size:
            raise EOFError("the rest of an array is missing")
    return pickle.loads(content, buffers=buffers)
