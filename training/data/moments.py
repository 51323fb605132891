"""``Moments``: when each sample is from, for holding out the newest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.errors import pluralize
from training.runs.step_profile import format_percent
from training.system.untrusted import escape_unprintable

_DOES = {"train": "train", "validation": "validate", "test": "test"}


@dataclass(frozen=True, eq=False)
class Moments:
    """``ranks`` are int64 (N,): the place, from 1, of each sample's moment among the sorted different ``values`` of the
    ``column``."""

    column: str
    ranks: Tensor
    values: NDArray[Any]

    def select(self, samples: Tensor) -> Moments:
        """Those of some samples (int64 or bool)."""
        return Moments(self.column, self.ranks[samples], self.values)

    def show(self, rank: int) -> str:
        """A moment as a person writes it: 2024-05-31, 2024-05-31 08:15:00, 17."""
        value = self.values[rank - 1]
        if not isinstance(value, np.datetime64):
            return f"{value:.10g}" if isinstance(value, float) else escape_unprintable(str(value), 60)
        day = value.astype("datetime64[D]")
        if (self.values == self.values.astype("datetime64[D]")).all():
            return str(day)
        whole = value == value.astype("datetime64[s]")
        return str(value.astype("datetime64[s]" if whole else "datetime64[us]")).replace("T", " ")


def describe_periods(moments: Moments, splits: Mapping[str, Tensor], config: DatasetSection) -> list[str]:
    """From when to when each part is; and where rows of one moment were kept together, how much is held out by that."""
    parts = []
    for part, samples in splits.items():
        if len(samples):  # all may have been copies of what is trained on
            ranks = moments.ranks[samples]
            first, last = (moments.show(int(end)) for end in (ranks.min(), ranks.max()))
            period = f"of {first}" if first == last else f"from {first} to {last}"
            parts.append(f"{pluralize(len(samples), 'sample')} {period} {_DOES[part]}")
    said = [f"split by time, column '{escape_unprintable(moments.column, 60)}': {'; '.join(parts)}"]
    total, train = len(moments.ranks), len(splits["train"])
    asked = config.validation_fraction + config.test_fraction
    if abs((total - train) - asked * total) >= 1.0:
        said.append(
            f"samples of one moment are never parted, so {format_percent((total - train) / total)} are held out instead of "
            f"{format_percent(asked)}"
        )
    return said
