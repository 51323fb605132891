"""A file of named columns as it grows, read in the background."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from shiboken6 import isValid

from studio.services.background import Background
from training.runs.records.columns import Columns, ColumnsReader
from training.runs.records.series import Rows

logger = logging.getLogger(__name__)


class ColumnFollower(QObject):
    """Reads what is new in one file whenever it is asked to; each row once.

    Signals:
        began(Columns | None): another file, or its rows from the first on: all that was said is void.
        rows_arrived(ndarray of ``Columns.row``)
        looked(): the file was read as far as it goes; of another file for the first time.
    """

    began = Signal(object)
    rows_arrived = Signal(object)
    looked = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._reader: ColumnsReader | None = None
        self._columns: Columns | None = None
        self._reading = self._again = False
        self.has_looked = False
        """Whether what is there was read; until then it is not known to be empty."""

    def follow(self, path: Path | None) -> None:
        """Look at this file, if there is one, from its first row on; of the same one read only what is new."""
        if path != (self._reader.path if self._reader else None):
            self._start(path)
        else:
            self.refresh()

    @Slot()
    def begin_again(self) -> None:
        """Rows that were read are void: the run went back."""
        self._start(self._reader.path if self._reader else None)

    def _start(self, path: Path | None) -> None:
        self._reader = None if path is None else ColumnsReader(path)
        self.has_looked = path is None
        self._tell(None)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read what is new; asked while that is being done, once more after it."""
        reader = self._reader
        if reader is None or self._reading:
            self._again = self._reading
            return
        self._reading = True

        def handle_result(result: tuple[bool, Rows]) -> None:
            if not isValid(self):  # its page was closed meanwhile
                return
            self._reading = False
            if reader is self._reader:
                cut, rows = result
                if cut or reader.columns != self._columns:
                    self._tell(reader.columns)
                if len(rows):
                    self.rows_arrived.emit(rows)
                if not self.has_looked:
                    self.has_looked = True
                    self.looked.emit()
            if self._again or reader is not self._reader:
                self._again = False
                self.refresh()

        def handle_failure(error: Exception) -> None:
            self._reading = self._again = False
            logger.warning("Numbers of a run could not be read: %s", error)

        self._background.submit(reader.read, handle_result, handle_failure)

    def _tell(self, columns: Columns | None) -> None:
        self._columns = columns
        self.began.emit(columns)
