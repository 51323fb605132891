"""What commands print."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from training.reading import visible


def print_json(record: dict[str, Any]) -> None:
    """The one JSON object that ends standard output."""
    sys.stdout.write(json.dumps(_strict(record), allow_nan=False) + "\n")
    sys.stdout.flush()


def _strict(value: Any) -> Any:
    """``value`` without infinities and NaN, which JSON does not know: null stands for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    return [_strict(item) for item in value] if isinstance(value, list | tuple) else value


def show_path(path: Any) -> str:
    """A path in one short line, whatever it holds."""
    return visible(str(path), 100)
