"""A run that several processes share: ``python -m training resume RUN --ranks N``, which this window begins, holds and waits for."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.engine.child import open_log, start_process, tail_of
from studio.engine.command_end import REFUSED, explain_end
from studio.engine.deaths import explain_no_start
from studio.engine.messages import EngineDeath
from training.protocol.messages import Refusal
from training.runs.folder import RunFolder, delete_run
from training.runs.records.forms import StatusRecord
from training.system.held_input import GO_ON, STOP
from training.system.interpreter import engine_program

logger = logging.getLogger(__name__)

_LOOK = 100  # milliseconds


class SharedRun(QObject):
    """One attempt, made by processes of its own.

    Signals:
        begun(): the run's processes have taken it into their hands.
        ended(Refusal | StatusRecord | EngineDeath): once. Nothing was trained, and a new run is gone again; the run's status record; the
            processes ended without a last word of the run. It is about to go then.
    """

    begun, ended = Signal(), Signal(object)

    def __init__(self, python: str, log_folder: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._python, self._log_folder = python, log_folder
        self._log = Path(os.devnull)
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = RunFolder(Path())
        self._has_begun, self._told_before = False, 0
        self._timer = QTimer(self, interval=_LOOK)
        self._timer.timeout.connect(self._look)

    def begin(self, folder: RunFolder, words: Sequence[str], count: int, *, keep_training: bool) -> None:
        """Train the run of ``folder``, which was made for that or has been trained before (``words`` say which), in ``count`` processes.
        ``keep_training``: it goes on where this process vanishes, instead of being stopped and kept."""
        self.folder = folder
        self._told_before = self._count_told()
        options = ("--workspace", str(folder.path.parent.parent), "--ranks", str(count), "--while-held")
        stderr = open_log(self._log_folder)
        self._log = Path(stderr.name)
        try:
            command = [*engine_program(self._python), "resume", *words, *options]
            self._process = start_process(command, subprocess.PIPE, stderr, subprocess.DEVNULL)
        except OSError as error:
            death = explain_no_start(self._python, error)
            QTimer.singleShot(0, self, lambda: self._refuse(death.sentence, death.advice))
            return
        finally:
            stderr.close()
        self.tell_if_window_dies(keep_training)
        self._timer.start()

    @property
    def at_work(self) -> bool:
        """Whether its processes are there, and ours to wait for."""
        return self._timer.isActive()

    def tell_if_window_dies(self, keep_training: bool) -> None:
        """What becomes of the run when this process vanishes."""
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            return
        try:
            self._process.stdin.write(GO_ON if keep_training else STOP)
            self._process.stdin.flush()
        except OSError as error:
            logger.info("The processes of a run ended before they were told something: %s", error)

    def let_go(self) -> None:
        """The run goes on without this process; no signal follows, and it is about to go."""
        self.deleteLater()
        self.tell_if_window_dies(keep_training=True)
        self._timer.stop()
        self._close_input()
        if self._process is not None:
            # Our child as long as we live: somebody has to take its exit code.
            threading.Thread(target=self._process.wait, name="background run", daemon=True).start()

    def stop(self) -> None:
        """Stop the run and keep it; ``ended`` follows."""
        self.tell_if_window_dies(keep_training=False)
        self._close_input()

    def kill(self) -> None:
        """End all its processes at once."""
        if self._process is None or not self.at_work:
            return
        try:
            command = psutil.Process(self._process.pid)
            processes = [*command.children(recursive=True), command]
        except psutil.NoSuchProcess:
            return
        for each in processes:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue

    def _close_input(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError as error:
                logger.info("The processes of a run were gone before they were let go: %s", error)

    @Slot()
    def _look(self) -> None:
        assert self._process is not None
        code = self._process.poll()
        if not self._has_begun and self._count_told() != self._told_before:
            self._has_begun = True
            self.begun.emit()
        if code is None:
            return
        self._timer.stop()
        self._close_input()
        death = explain_end(code, tail_of(self._log), self._python)
        record = self.folder.status()
        if code in REFUSED or not self._has_begun:
            self._refuse(death.sentence, death.advice)
        elif record.status in ("completed", "stopped", "failed"):
            self._end(record)
        else:
            self._end(death)

    def _count_told(self) -> int:
        """Bytes of the run's events: an attempt that begins adds to them."""
        try:
            return self.folder.events_file.stat().st_size
        except OSError:
            return 0

    def _refuse(self, sentence: str, advice: str) -> None:
        if self.folder.path.exists() and not self.folder.events_file.exists():
            delete_run(self.folder)
        self._end(Refusal(message=sentence, advice=advice))

    def _end(self, end: Refusal | StatusRecord | EngineDeath) -> None:
        self.deleteLater()
        self.ended.emit(end)
