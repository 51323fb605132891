"""Several targets of each row, of which each is classes or values by itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data.source import Source
from training.data.tables.columns import dense_codes, number_rows, target_kind
from training.data.tables.targets import require_trained_classes
from training.errors import InputError
from training.system.untrusted import escape_unprintable

Classes = tuple[tuple[str, ...], ...]


def read_tasks(
    frame: pl.DataFrame, targets: tuple[str, ...], numeric: tuple[str, ...], rows: NDArray[np.int64] | None = None
) -> tuple[Classes, Tensor]:
    """The classes of each target, none of one that is a value, and the targets float32 (rows, targets): values, and numbers of
    classes. A column is what it would be alone (``target_kind``), but those of ``numeric`` are values. ``rows`` are the
    file's (from 0) that ``frame`` has; None: all. Raises InputError for a column that can be neither."""
    if len(targets) < 2:
        raise InputError(
            "dataset.targets: multi-task needs two target columns at least; name them, or set dataset.task to auto.",
            fix={"dataset.task": "auto"},
        )
    foreign = [name for name in numeric if name not in targets]
    if foreign:
        raise InputError(
            f"dataset.numeric_targets: '{escape_unprintable(foreign[0], 60)}' is none of the columns that dataset.targets names; take "
            "it out, or name it there."
        )
    classes: list[tuple[str, ...]] = []
    columns: list[Tensor] = []
    for name in targets:
        asked = "values" if name in numeric else "auto"
        if target_kind(frame, (name,), asked, rows) == "class":
            codes, known = dense_codes(frame.get_column(name))
            classes.append(known)
            columns.append((codes - 1).float())
        else:
            classes.append(())
            columns.append(number_rows(frame, (name,))[:, 0])
    return tuple(classes), torch.stack(columns, 1)


def require_trained_tasks(source: Source, train: Tensor) -> None:
    """``require_trained_classes`` of each target that is classes."""
    for name, classes, numbers in zip(source.classes, source.target_classes, source.targets.unbind(1), strict=True):
        try:
            if classes:
                require_trained_classes(classes, numbers.long(), train)
        except InputError as error:
            raise InputError(
                f"dataset.targets: '{escape_unprintable(name, 60)}': {error.message}", error.advice
            ) from error
