"""Which samples a network puts closest to one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.predictions import Evaluation

_AT_ONCE = 1 << 22
"""Numbers of embeddings that are looked at together."""


def find_neighbors(evaluation: Evaluation, row: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The rows of the ``most`` samples nearest to that in ``row``, itself left out, and how far they are (Euclidean, of the
    embeddings as they are kept), the nearest first."""
    embedding = evaluation.column("embedding")
    here = np.asarray(embedding[row], np.float32)
    step = max(1, _AT_ONCE // max(embedding.shape[1], 1))
    parts = [
        np.square(embedding[start : start + step] - here).sum(1, dtype=np.float64)
        for start in range(0, len(embedding), step)
    ]
    distances = np.concatenate(parts)
    distances[row] = np.inf
    count = min(most, len(distances) - 1)
    nearest = np.argpartition(distances, max(count - 1, 0))[:count]
    nearest = nearest[np.argsort(distances[nearest], kind="stable")]
    return nearest, np.sqrt(distances[nearest])


def find_around(evaluation: Evaluation, *, row: int, most: int) -> NDArray[np.bool_]:
    """That sample and its neighbors, (n,)."""
    mask = np.zeros(evaluation.record.samples, np.bool_)
    mask[row] = True
    mask[find_neighbors(evaluation, row, most)[0]] = True
    return mask
