"""A process that measures: requests as JSON, a line each on standard input, answered by a line each on standard output.

It ends with its input, and so with who asked. What a request does is a function in another module, loaded when it is first asked for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, Final, Self

from training.errors import InputError, TrainingError
from training.laboratory.child import Interrupt
from training.system.interpreter import engine_environment, engine_program

Answer = dict[str, Any]
QUESTIONS: Final[Mapping[str, str]] = {
    "cost": "training.studies.cost:measure_cost",
    "open-steps": "training.studies.timing:open_steps",
    "time-steps": "training.studies.timing:time_steps",
    "close-steps": "training.studies.timing:close_steps",
    "memory": "training.studies.batch.memory:try_batch",
    "noise-scale": "training.studies.batch.noise_scale:measure_noise_scale",
    "try-folds": "training.studies.cross_validation.folds:try_folds",
    "folds": "training.studies.cross_validation.folds:write_folds",
    "out-of-fold": "training.studies.cross_validation.out_of_fold:evaluate_folds",
}
"""What can be asked, and the function of the request that answers."""
SCRATCH: Final = "TRAINWRIGHT_SCRATCH"
"""Names the folder for what a measuring process writes beside its answers. Who asks removes it: the process is killed at its end."""
_LOOK_SECONDS = 0.05


class WorkerDied(TrainingError):
    """Its process ended without an answer: for want of memory, mostly."""


@dataclass
class Worker:
    """Such a process, for as long as it is open."""

    interrupt: Interrupt

    def __enter__(self) -> Self:
        self._scratch = TemporaryDirectory(prefix="trainwright-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [*engine_program(), "study", "--measure"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**engine_environment(os.environ), SCRATCH: self._scratch.name},
            start_new_session=os.name == "posix",  # Ctrl+C is ours to act on
        )
        self._words: list[str] = []
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=_collect, args=(self._process.stderr, self._words), daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join(timeout=10)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._scratch.cleanup()

    def ask(self, what: str, **request: object) -> Answer:
        """The answer. Raises what the question raises, as a TrainingError or InputError; WorkerDied where none comes, and Interrupted where an end is asked
        for meanwhile."""
        from training.studies.trainer import Interrupted

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lines: list[str] = []
        reader = threading.Thread(target=_read_line, args=(self._process.stdout, lines), daemon=True)
        try:
            self._process.stdin.write(json.dumps({"what": what, **request}) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, which the missing answer tells
        reader.start()
        while reader.is_alive():
            reader.join(_LOOK_SECONDS)
            if self.interrupt.asked:
                self._process.kill()
                raise Interrupted
        if not lines or not lines[0].strip():
            code = self._process.wait()
            self._listener.join(timeout=10)
            last = self._words[-1] if self._words else "it said nothing"
            raise WorkerDied(f"The measuring process ended with code {code}: {last}")
        answer: Answer = json.loads(lines[0])
        if "error" in answer:
            kind = InputError if answer.get("is_input") else TrainingError
            raise kind(answer["error"], answer.get("advice", ""))
        return answer


def _read_line(stream: IO[str], lines: list[str]) -> None:
    lines.append(stream.readline())


def _collect(stream: IO[str], words: list[str]) -> None:
    with stream:
        for line in stream:
            if line.strip():
                words.append(line.strip())


def serve() -> int:
    """Answer until the input ends; returns the exit code. What a person's own code prints goes elsewhere."""
    answers = sys.stdout
    with redirect_stdout(sys.stderr):
        for line in sys.stdin:
            request = json.loads(line)
            module, _, name = QUESTIONS[request.pop("what")].partition(":")
            answer: Callable[..., Answer] = getattr(import_module(module), name)
            try:
                told = answer(**request)
            except TrainingError as error:
                told = {"error": error.message, "advice": error.advice, "is_input": isinstance(error, InputError)}
            answers.write(json.dumps(told) + "\n")
            answers.flush()
    if scratch := os.environ.get(SCRATCH):  # the input ended: who asked was killed
        shutil.rmtree(scratch, ignore_errors=True)
    return 0
