"""A command of the terminal that the window has done beside it, by the engine's interpreter: what it needs is installed there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, QProcess, QProcessEnvironment

from training.system.interpreter import NO_ENGINE, NO_ENGINE_ADVICE, engine_environment, engine_program


class Answer(NamedTuple):
    """``code`` is the exit code, negative for a process that did not start or was killed, which ``was_killed`` tells apart; ``out`` and
    ``error`` are what it printed."""

    code: int
    out: str
    error: str
    was_killed: bool = False


class SideCommand(QObject):
    """``python -m training WORDS``, begun by the constructor. ``told`` hears its ``Answer``, unless it was given up before, and then it is
    gone; ``text`` is its standard input. ``hold``: its standard input stays open for as long as this process lives, which it can watch
    (``--while-held``)."""

    def __init__(
        self,
        parent: QObject,
        python: str,
        words: Sequence[str],
        told: Callable[[Answer], object],
        text: str = "",
        hold: bool = False,
    ) -> None:
        super().__init__(parent)
        self._told: Callable[[Answer], object] | None = told
        self._process = process = QProcess(self)
        environment = QProcessEnvironment()
        program = engine_program(python)
        for name, value in engine_environment(os.environ, program[0]).items():
            environment.insert(name, value)
        process.setProcessEnvironment(environment)
        process.setProgram(program[0])
        process.setArguments([*program[1:], *words])
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        if application := QCoreApplication.instance():
            application.aboutToQuit.connect(self.give_up)
        process.start()
        process.write(text.encode())
        if not hold:
            process.closeWriteChannel()

    @property
    def pid(self) -> int:
        """Of its process; 0 before it has begun."""
        return self._process.processId()

    def stop(self) -> None:
        """Ask it for an end, which its answer tells; at once where a system has no such question."""
        if os.name == "posix":
            self._process.terminate()
        else:
            self._process.kill()

    def kill(self) -> None:
        """End it at once, which its answer tells."""
        self._process.kill()

    def give_up(self) -> None:
        """Nobody wants the answer any more."""
        self._told = None
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(3000)

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        was_killed = status is QProcess.ExitStatus.CrashExit
        self._answer(-1 if was_killed else code, was_killed)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._answer(-1)

    def _answer(self, code: int, was_killed: bool = False) -> None:
        out, error = (
            bytes(read().data()).decode("utf-8", "replace")
            for read in (self._process.readAllStandardOutput, self._process.readAllStandardError)
        )
        if code < 0 and not error:
            error = self._process.errorString() if self._process.program() else f"{NO_ENGINE}. {NO_ENGINE_ADVICE}"
        told, self._told = self._told, None
        self.deleteLater()
        if told is not None:
            told(Answer(code, out, error.strip(), was_killed))
