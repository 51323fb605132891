"""From vectors on the device to a file of columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.engine.watches.watch import Watch
from training.runs.pyramid.kept import PyramidWriter
from training.runs.records.columns import ColumnsWriter
from training.runs.storage import explain_disk_errors


class ColumnLog:
    """Keeps what was measured of steps until it is fetched, in one copy, and appended."""

    def __init__(self, watch: Watch, folder: Path, step: int) -> None:
        """``watch`` measures. What its file in ``folder`` holds beyond ``step`` is cut: it is done again."""
        self._watch, self._path = watch, folder / watch.file
        self._pending: list[tuple[int, Tensor]] = []
        with explain_disk_errors(self._path):
            self._writer = ColumnsWriter(self._path, watch.columns)
            try:
                self._writer.cut(step)
                self._pyramid = PyramidWriter(self._writer, len(watch.columns.names))
            except BaseException:
                self._writer.close()
                raise

    def add(self, step: int) -> None:
        """Note what was measured of ``step``, which was just attempted."""
        if (values := self._watch.take()) is not None:
            self._pending.append((step, values))

    def flush(self, last: int) -> None:
        """Write what is pending up to the step ``last``; the rest never counts."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        steps, values = zip(*pending, strict=True)
        rows = np.zeros(len(steps), self._watch.columns.row)
        rows["step"] = steps
        rows["values"] = self._watch.fold(torch.stack(values).float().cpu().numpy())
        with explain_disk_errors(self._path):
            self._writer.append(rows[rows["step"] <= last])
        self._pyramid.grow()

    def discard(self) -> None:
        """Drop what is not written yet."""
        self._pending.clear()

    def rewind(self, step: int) -> None:
        """Drop whatever lies behind ``step``."""
        self.discard()
        self._writer.cut(step)
        self._pyramid.cut()

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""
        self._writer.sync()

    def close(self) -> None:
        """Close the file."""
        self._pyramid.close()
        self._writer.close()
