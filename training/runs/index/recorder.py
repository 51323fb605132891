"""Brings a run's rows up to date while the run works, in a thread of its own: nothing in the loop waits for a database."""

from __future__ import annotations

import logging
import threading
import time

from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.index.epochs import EpochRows
from training.runs.index.index import Index, is_on_server, workspace_of

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0
_SHARE = 1000
"""The thread rests this many times as long as it worked: it takes no more than a thousandth of the interpreter."""
_LAST_SECONDS, _LAST_SECONDS_OF_A_SERVER = 15.0, 2.0
_ATTEMPTS = 3


class IndexRecorder:
    """Begun when the run's folder is ours. ``notice`` says that there is news; ``finish`` has the last of it written, and waits
    for that some seconds at most, two where it is a server's: what a database that is away misses, the next look at the list of runs
    catches up."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._news, self._ended = threading.Event(), threading.Event()
        self._dropped, self._complained = False, False
        self._thread = threading.Thread(target=self._work, name="index of runs", daemon=True)
        self._thread.start()

    def notice(self) -> None:
        """There is something new to write; returns at once."""
        self._news.set()

    def finish(self, write: bool) -> None:
        """No more comes; without ``write`` the folder is another process's by now, and nothing is written of it."""
        self._dropped = not write
        self._ended.set()
        self._news.set()
        self._thread.join(_LAST_SECONDS_OF_A_SERVER if is_on_server() else _LAST_SECONDS)
        if self._thread.is_alive() and not self._complained:
            logger.warning("The index of runs does not answer; the next look at the list of runs catches up.")

    def _work(self) -> None:
        workspace = workspace_of(self._folder)
        if workspace is None:
            return
        index = Index(workspace)
        rows = index.epoch_rows(self._folder)
        while not self._ended.is_set():
            self._news.wait()
            self._news.clear()
            if self._ended.is_set():
                break
            began = time.thread_time()
            self._record(index, rows)
            self._ended.wait(max(_PAUSE_SECONDS, _SHARE * (time.thread_time() - began)))
        for attempt in range(0 if self._dropped else _ATTEMPTS):
            if attempt:
                time.sleep(1)
            if self._record(index, rows):
                break
        index.close()

    def _record(self, index: Index, rows: EpochRows) -> bool:
        """False where it has to be tried again: the database is away, or the folder cannot be read just now."""
        try:
            written = index.record_run(self._folder, rows)
        except (OSError, InputError) as error:
            logger.warning("The index misses what the run wrote last: %s", error)
            written = False
        self._complained = not written  # or the index has
        return written
