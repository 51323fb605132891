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
    return columns_by_layer(MEASURED, layers)


def layers_of(columns: Columns) -> tuple[str, ...]:
    """The layers that ``columns`` tell of, from the input to the output; empty where they are other columns."""
    return find_layers(columns, MEASURED)


def layer_norms(rows: Rows, quantity: str) -> NDArray[np.float32]:
    """(rows, layers) of ``quantity``, one of MEASURED or "ratio", what a step changed of the weights' norm; NaN where that
    is 0."""
    if quantity in MEASURED:
        return take_quantity(rows, MEASURED, quantity)
    weight, update = (take_quantity(rows, MEASURED, each) for each in ("weight", "update"))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = update / weight
    return np.where(weight > 0, ratio, np.nan).astype(np.float32)


def columns_by_layer(quantities: tuple[str, ...], layers: tuple[str, ...]) -> Columns:
    """A column for each of ``layers``, quantity by quantity."""
    return Columns(tuple(f"{quantity}/{layer}" for quantity in quantities for layer in layers))


def find_layers(columns: Columns, quantities: tuple[str, ...]) -> tuple[str, ...]:
    """The layers of such ``columns``; empty where they are other columns."""
    layers = tuple(name.partition("/")[2] for name in columns.names[: len(columns.names) // len(quantities)])
    return layers if columns_by_layer(quantities, layers) == columns else ()


def take_quantity(rows: Rows, quantities: tuple[str, ...], quantity: str) -> NDArray[np.float32]:
    """(rows, layers) of one of ``quantities``."""
    measured = rows["values"].reshape(len(rows), len(quantities), -1)
    return np.asarray(measured[:, quantities.index(quantity)], np.float32)
