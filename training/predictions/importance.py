"""``importance.json`` in an evaluation's folder: how much worse the answers are without what a column says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from training.metric_names import is_known, is_share, metric
from training.predictions.reading import Evaluation
from training.runs.folder import read_json
from training.runs.records.forms import Count
from training.runs.records.manifest import seal
from training.system.atomic import write_text

FILE: Final = "importance.json"
REPETITIONS: Final = 10
"""How often each column is shuffled."""


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ColumnImportance(_Form):
    """``drop`` is what the metric loses when the values of the column ``name`` are shuffled among the samples, ``low`` to ``high`` its
    interval; None where the metric is not defined."""

    name: str
    drop: float | None
    low: float | None
    high: float | None

    @property
    def matters(self) -> bool:
        """Whether these samples show that the answers get worse without the column."""
        return self.low is not None and self.low > 0.0


class Importance(_Form):
    """Permutation importance (Breiman, "Random forests", 2001) of the columns, the most important first, on ``samples`` of an
    evaluation's samples. ``value`` is the ``metric`` of the answers as they are; of one that is better the lower it is, drops are
    what it rises."""

    format: Literal[1] = 1
    metric: str
    value: float | None
    samples: Annotated[int, Field(ge=1)]
    repetitions: Annotated[int, Field(ge=1)] = REPETITIONS
    seed: Count = 0
    level: float = 0.95
    manifest_sha256: str
    fingerprint: str
    columns: tuple[ColumnImportance, ...]

    @property
    def title(self) -> str:
        """What a person calls the metric."""
        return metric(self.metric).title if is_known(self.metric) else self.metric.replace("_", " ").capitalize()

    @property
    def is_better_high(self) -> bool:
        """Whether a higher number of the metric is a better one."""
        return is_known(self.metric) and metric(self.metric).maximize

    @property
    def is_share(self) -> bool:
        """Whether drops are told in points of a hundred."""
        return is_share(self.metric)

    def describe(self, column: ColumnImportance) -> str:
        """ "12.4 points (10.9 to 13.8)", without points for what is no share."""
        if column.drop is None or column.low is None or column.high is None:
            return "not defined"
        factor = 100.0 if self.is_share else 1.0
        drop, low, high = (each * factor for each in (column.drop, column.low, column.high))
        limits = (limit for each in self.columns for limit in (each.low, each.high) if limit is not None)
        size = max((abs(limit) * factor for limit in limits), default=0.0)
        digits = min(max(0, 2 - math.floor(math.log10(size))), 6) if size > 0.0 else 0  # the same for all columns
        told, least, most = (f"{each + 0.0:,.{digits}f}" for each in (drop, low, high))
        return f"{told}{' points' if self.is_share else ''} ({least} to {most})"


def read_importance(evaluation: Evaluation) -> Importance | None:
    """What was measured of this very evaluation; None where nothing was, or it cannot be read: it is measured again then."""
    data = read_json(evaluation.folder / FILE)
    if not data or data != seal(data):
        return None
    try:
        found = Importance.model_validate(data)
    except ValidationError:
        return None
    record = evaluation.record
    same = (found.manifest_sha256, found.fingerprint) == (record.manifest_sha256, record.fingerprint)
    return found if same and found.samples <= record.samples else None


def write_importance(folder: Path, importance: Importance) -> None:
    """Raises OSError."""
    write_text(folder / FILE, json.dumps(seal(json.loads(importance.model_dump_json())), indent=1) + "\n")
