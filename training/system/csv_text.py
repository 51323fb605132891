"""Tables as text for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

Cell = int | float | str


def format_csv(rows: Iterable[Sequence[Cell]]) -> str:
    """Floats are written as Python does: the shortest text that is read back as the same number."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
