"""``evaluation.json``: what a run's best validation, and its test, tell beyond single numbers: which class was taken for which,
and the metrics of each class, label or value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text

Part = Literal["validation", "test"]
PARTS: tuple[Part, ...] = ("validation", "test")

_MOST_NAMES = 1000  # beyond that nobody reads a table


class Evaluation(BaseModel):
    """One pass. ``step`` is where the weights stood that were measured: the best checkpoint's, as long as the run was not
    taken back since. ``each`` has a number for each of ``names`` by the name of the metric, None where it is not known.
    ``confusion`` has a row for each true class and a column for each answer; () where there are too many."""

    model_config = ConfigDict(frozen=True)

    step: int
    names: tuple[str, ...]
    each: dict[str, tuple[float | None, ...]] = {}
    confusion: tuple[tuple[int, ...], ...] = ()


def note_evaluation(folder: RunFolder, part: Part, step: int, names: Sequence[str], tables: Mapping[str, Any]) -> None:
    """Keep what ``objectives.MetricSet`` gave for ``part`` at ``step``, beside what is known of the other part. Nothing is
    kept where there is nothing to tell or far too much. Raises OSError."""
    if not tables or len(names) > _MOST_NAMES:
        return
    each = {name: [_plain(number) for number in numbers] for name, numbers in tables.items() if name != "confusion"}
    record = {"step": step, "names": list(names), "each": each, "confusion": tables.get("confusion", [])}
    known = read_json(folder.evaluation_file)
    write_text(folder.evaluation_file, json.dumps({**known, part: record}) + "\n", durable=False)


def read_evaluation(folder: RunFolder, part: Part) -> Evaluation | None:
    """What was kept for ``part``; None when nothing was, or the file is damaged."""
    try:
        return Evaluation.model_validate(read_json(folder.evaluation_file).get(part))
    except ValidationError:
        return None


def _plain(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
