"""A query's items in the predicted order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from training.predictions import Evaluation


class RankedItem(NamedTuple):
    """``item`` counts from 1 in the order of the data; by its true ``rank`` it belongs at the places ``first`` to ``last``.
    ``is_behind``: an item of a lower true rank stands before it."""

    item: int
    score: float
    rank: float
    first: int
    last: int
    is_behind: bool


def rank_items(evaluation: Evaluation, row: int) -> list[RankedItem]:
    """The items of the query in ``row`` of ``evaluation``, by falling score; of equal scores in the order of the data."""
    scores, ranks = (np.asarray(evaluation.column(name)[row], np.float64) for name in ("scores", "target"))
    there = np.flatnonzero(~np.isnan(ranks))
    order = there[np.argsort(-scores[there], kind="stable")]
    known = ranks[there]
    lowest = np.minimum.accumulate(np.append(np.inf, ranks[order]))[: len(order)]
    return [
        RankedItem(
            item + 1,
            float(scores[item]),
            float(ranks[item]),
            int((known > ranks[item]).sum()) + 1,
            int((known >= ranks[item]).sum()),
            bool(lowest[place] < ranks[item]),
        )
        for place, item in enumerate(order.tolist())
    ]
