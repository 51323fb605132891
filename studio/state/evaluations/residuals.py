"""How far predictions of values lie from what is true, and what may be behind it: the columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.predictions import Evaluation, EvaluationRecord

if TYPE_CHECKING:
    import polars

Floats = NDArray[np.float64]
_MOST_CATEGORIES = 20
_OTHERS = "others"
_MISSING = "missing"


class ColumnValues(NamedTuple):
    """A number for each row, NaN where there is none; with ``categories`` the place of its category among these."""

    values: Floats
    categories: Sequence[str] = ()


def list_targets(record: EvaluationRecord) -> list[int]:
    """Which of the names are values, and no classes."""
    if record.target == "values":
        return list(range(len(record.names)))
    return [at for at, classes in enumerate(record.target_classes) if not classes] if record.target == "tasks" else []


def read_values(evaluation: Evaluation, column: str, target: int) -> Floats:
    """The ``column`` "target" or "prediction" of one of the names, (n,)."""
    return np.asarray(evaluation.column(column)[:, target], np.float64)


def find_residuals(evaluation: Evaluation, target: int) -> Floats:
    """Prediction less truth, (n,): above 0 where too much was predicted."""
    return read_values(evaluation, "prediction", target) - read_values(evaluation, "target", target)


def read_column(rows: polars.DataFrame, name: str) -> ColumnValues:
    """A column of the table: numbers and times as they are, everything else as categories, the most frequent ones first."""
    import polars

    series = rows[name]
    if series.dtype.is_numeric():
        return ColumnValues(series.cast(polars.Float64).fill_null(float("nan")).to_numpy())
    texts = series.cast(polars.String).fill_null(_MISSING)
    counts = texts.value_counts(sort=True)
    names = counts[name].to_list()
    known = names if len(names) <= _MOST_CATEGORIES else [*names[: _MOST_CATEGORIES - 1], _OTHERS]
    places = {each: min(at, len(known) - 1) for at, each in enumerate(names)}
    return ColumnValues(texts.replace_strict(places, return_dtype=polars.Float64).to_numpy(), known)
