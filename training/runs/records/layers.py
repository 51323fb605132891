"""Norms of each layer as columns: what they are called, and what is read from them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.runs.records.columns import Columns
from training.runs.records.series import Rows

MOST_LAYERS: Final = 60

MEASURED: Final = ("gradient", "weight", "update")
"""What is recorded of each layer, 2-norms, in the order of the columns."""


def layer_columns(layers: tuple[str, ...]) -> Columns:
    """The columns of a file of such norms."""
    return Columns(tuple(f"{quantity}/{layer}" for quantity in MEASURED for layer in layers))


def layers_of(columns: Columns) -> tuple[str, ...]:
    """The layers that ``columns`` tell of, from the input to the output; empty where they are other columns."""
    layers = tuple(name.partition("/")[2] for name in columns.names[: len(columns.names) // len(MEASURED)])
    return layers if layer_columns(layers) == columns else ()


def layer_norms(rows: Rows, quantity: str) -> NDArray[np.float32]:
    """(rows, layers) of ``quantity``, one of MEASURED or "ratio", what a step changed of the weights' norm; NaN where that
    is 0."""
    measured = rows["values"].reshape(len(rows), len(MEASURED), -1)
    if quantity in MEASURED:
        return np.asarray(measured[:, MEASURED.index(quantity)], np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = measured[:, 2] / measured[:, 1]
    return np.where(measured[:, 1] > 0, ratio, np.nan).astype(np.float32)
