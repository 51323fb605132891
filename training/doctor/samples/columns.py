"""Columns that never change, and lists that are mostly padding; by what is known of the data already."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig
from training.config.sections.data.tables import RankingDataset, TableDataset
from training.core.splits import pick_evenly
from training.data import Data
from training.doctor.samples.looked import Looked
from training.events import Finding
from training.findings.data import MANY_CONSTANT, MOSTLY_PADDING, PADDING
from training.findings.tables import CONSTANT
from training.system.untrusted import escape_unprintable

_LOOKED_AT = 20_000
_SHOWN = 5
_NEARLY_ALL = 0.95


def column_findings(data: Data, config: RunConfig) -> Iterator[Finding]:
    """Of vectors in memory, and of lists."""
    if data.facts.layout == "vector" and data.facts.ranges and not data.source.runs_own_code:
        yield from _constant(data, config)
    if data.facts.layout == "list":
        yield from _padding(data, config)


def _constant(data: Data, config: RunConfig) -> Iterator[Finding]:
    ranges, columns = data.facts.ranges, data.facts.columns
    same = [place for place, span in enumerate(ranges) if span is not None and span[0] == span[1]]
    if not same:
        return
    held = pick_evenly(data.splits["validation"], _LOOKED_AT)
    rows: NDArray[np.float32] = data.source.read(held).numpy()
    changing = [
        place
        for place in same
        if (span := ranges[place]) is not None and bool(np.nan_to_num(rows[:, place] - np.float32(span[0])).any())
    ]
    many = len(same) >= MANY_CONSTANT * len(ranges)
    names = [
        escape_unprintable(columns[place], 60) if columns and columns[place] else f"column {place + 1}"
        for place in same
    ]
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    title = f"{len(same):,} of {len(ranges):,} columns have the same number in all training samples: {shown}."
    if changing:
        title = (
            f"{title[:-1]}; of these {len(changing):,} have others in validation, which the network never learned of."
        )
    fix = {}
    if isinstance(config.dataset, TableDataset) and columns and len(same) < len(columns):
        dropped = [columns[place] for place in same if data.facts.derivation(place) is None]
        fix = (
            {"dataset.features": [name for name in config.dataset.features if name not in dropped]}
            if config.dataset.features
            else {"dataset.ignored": [*config.dataset.ignored, *dropped]}
        )
    yield CONSTANT.find(
        "warning" if many or changing else "info",
        title,
        "They tell nothing; were they read as they should be?",
        evidence={"constant": len(same), "columns": len(ranges), "others_in_validation": len(changing)},
        fix=fix,
    )


def own_constant_findings(looked: Looked) -> Iterator[Finding]:
    """Of vectors that a person's own Dataset gives: numbers that are the same in all samples that were looked at. 0 is what is padded with."""
    if looked.data.facts.layout != "vector" or not looked.data.source.runs_own_code:
        return
    samples = looked.train.reshape(len(looked.train), -1)
    same = (samples == samples[:1]).all(0) & (samples[0] != 0)
    count, of = int(same.sum()), len(same)
    if count < MANY_CONSTANT * of:
        return
    yield CONSTANT.find(
        "warning",
        f"{count:,} of {of:,} inputs have the same number, other than 0, in all {len(samples):,} training samples that were looked at.",
        "They tell nothing; were they read as they should be?",
        evidence={"constant": count, "columns": of},
    )


def _padding(data: Data, config: RunConfig) -> Iterator[Finding]:
    targets: NDArray[np.float32] = data.source.targets[data.splits["train"]].numpy()
    there = ~np.isnan(targets)
    share = 1.0 - float(there.mean())
    if share <= MOSTLY_PADDING:
        return
    enough = max(2, math.ceil(float(np.quantile(there.sum(1), _NEARLY_ALL))))
    shorter = isinstance(config.dataset, RankingDataset) and enough < config.dataset.max_items
    yield PADDING.find(
        "info",
        f"{share:.0%} of the places in the lists are padding: 95 % of the queries have {enough} items or fewer.",
        "Padding takes time and memory, and is not learned from.",
        evidence={"share": share},
        fix={"dataset.max_items": enough} if shorter else {},
    )
