"""A run that goes on in a process without a window: ``python -m training resume``, begun from the step it was kept at."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.engine.child import open_log, start_process, tail_of
from studio.engine.command_end import explain_end
from studio.engine.deaths import explain_no_start
from training.runs.folder import RunFolder, owner_of
from training.system.interpreter import engine_program, own_interpreter

_LOOK = 100  # milliseconds


class BackgroundRun(QObject):
    """Starts the process and waits until it has the run in its hands.

    Signals:
        taken_over(): this process may end now, the run goes on.
        failed(EngineDeath): it does not; the run is what it was.
    """

    taken_over = Signal()
    failed = Signal(object)

    def __init__(self, python: str, folder: RunFolder, log_folder: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._python = python or own_interpreter()
        self._folder = folder
        self._log_folder = log_folder
        self._log = Path(os.devnull)
        self._process: subprocess.Popen[bytes] | None = None
        self._timer = QTimer(self, interval=_LOOK)
        self._timer.timeout.connect(self._look)

    def start(self) -> None:
        """Begin; one of the signals follows."""
        stderr = open_log(self._log_folder)
        self._log = Path(stderr.name)
        try:
            command = [*engine_program(self._python), "resume", str(self._folder.path)]
            self._process = start_process(command, subprocess.DEVNULL, stderr)
        except OSError as error:
            self.failed.emit(explain_no_start(self._python, error))
            return
        finally:
            stderr.close()
        self._timer.start()

    @Slot()
    def _look(self) -> None:
        assert self._process is not None
        owner, code = owner_of(self._folder.path), self._process.poll()
        if code not in (None, 0):
            self._timer.stop()
            self.failed.emit(explain_end(code, tail_of(self._log), self._python))
        elif code == 0 or (owner is not None and owner.pid != os.getpid()):
            self._timer.stop()
            # Left to itself, but our child as long as we live: somebody has to take its exit code.
            threading.Thread(target=self._process.wait, name="background run", daemon=True).start()
            self.taken_over.emit()
