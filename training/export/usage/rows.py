"""Make samples of a table's rows the way the training data was read: needs numpy alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def read_rows(facts: dict[str, Any], rows: Iterable[Mapping[str, Any]]) -> Any:
    """float32 (n, features) of rows that give each column's value by its name. A number that is missing or None becomes NaN,
    a category that training did not see becomes 0: the model takes both."""
    features = facts["input"]["features"]
    return np.array([[_value(feature, row.get(feature["name"])) for feature in features] for row in rows], np.float32)


def _value(feature: dict[str, Any], given: Any) -> float:
    if feature["categories"] is None:
        return float("nan") if given is None else float(given)
    known = {text: number for number, text in enumerate(feature["categories"], 1)}
    return float(known.get(str(given), 0))
