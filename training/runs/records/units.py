"""Shares of dead and of saturated units as columns: what they are called, and what is read from them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.runs.records.columns import Columns
from training.runs.records.layers import columns_by_layer, find_layers, take_quantity
from training.runs.records.series import Rows

SHARES: Final = ("dead", "saturated")
"""What is recorded of each layer's units, in the order of the columns."""

ACTIVE: Final = 0.01
"""A unit is dead whose activation passes a gradient in less than this share of the samples and places looked at."""
SLOPE: Final = 0.1
"""A unit of tanh or sigmoid is saturated where its mean slope is less than this share of the activation's steepest."""


def unit_columns(layers: tuple[str, ...]) -> Columns:
    """The columns of a file of such shares."""
    return columns_by_layer(SHARES, layers)


def unit_layers(columns: Columns) -> tuple[str, ...]:
    """The layers that ``columns`` tell of, from the input to the output; empty where they are other columns."""
    return find_layers(columns, SHARES)


def unit_shares(rows: Rows, share: str) -> NDArray[np.float32]:
    """(rows, layers) of ``share``, one of SHARES; NaN of a layer whose activation cannot die, or cannot saturate."""
    return take_quantity(rows, SHARES, share)
