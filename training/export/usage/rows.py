"""Make samples of a table's rows the way the training data was read: needs numpy alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def read_rows(facts: dict[str, Any], rows: Iterable[Mapping[str, Any]]) -> Any:
    """float32 (n, features) of rows that give each column's value by its name, None where it is not known. A number that is
    not known becomes NaN, a category that training did not see 0: the model takes both. A feature that marks gaps follows by
    itself. Raises KeyError for a row without one of the columns, ValueError for text where a number belongs."""
    features = facts["input"]["features"]
    return np.array([[_value(feature, row) for feature in features] for row in rows], np.float32)


def _value(feature: dict[str, Any], row: Mapping[str, Any]) -> float:
    if feature["marks"] is not None:
        return float(_is_missing(row[feature["marks"]]))
    name = feature["name"]
    if name not in row:
        raise KeyError(f"a row has no {name!r}; give None where it is not known")
    given = row[name]
    if feature["categories"] is None:
        try:
            return float("nan") if _is_missing(given) else float(given)
        except (TypeError, ValueError):
            raise ValueError(f"{name!r} is {given!r}, which is no number; give None where it is not known") from None
    known = {text: number for number, text in enumerate(feature["categories"], 1)}
    return float(known.get(_text(given), 0))


def _is_missing(given: Any) -> bool:
    return given is None or given == "" or given != given


def _text(given: Any) -> str:
    """As the training data's texts: stripped; true and false in small letters; a whole number without its point."""
    if isinstance(given, bool | np.bool_):
        return "true" if given else "false"
    if isinstance(given, float | np.floating) and float(given).is_integer():
        return str(int(given))
    return str(given).strip()
