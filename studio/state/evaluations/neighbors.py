"""Which samples a network puts closest to one, and which far from their class."""

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


def measure_misplacement(evaluation: Evaluation) -> NDArray[np.float64]:
    """By how much the center of another class is nearer to each sample than that of its own, which is of the other samples of the class;
    (n,), NaN of a sample that has no class, or is alone in it or in having one. Rousseeuw's silhouette (1987) compares the same two, as
    mean distances."""
    embedding, target = evaluation.column("embedding"), np.asarray(evaluation.column("target"))
    known = np.flatnonzero(target >= 0)
    _, number, counts = np.unique(target[known], return_inverse=True, return_counts=True)
    found = np.full(len(target), np.nan)
    if len(counts) < 2:
        return found
    by_class = embedding[known[np.argsort(number, kind="stable")]]
    centers = np.add.reduceat(by_class, np.cumsum(counts) - counts, axis=0, dtype=np.float64) / counts[:, None]
    for start in range(0, len(known), step := max(1, _AT_ONCE // max(len(counts), embedding.shape[1]))):
        rows, own = known[start : start + step], number[start : start + step]
        points = np.asarray(embedding[rows], np.float64)
        # Less the square of the point itself: which center is nearest does not depend on it.
        squares = np.square(centers).sum(1) - 2.0 * (points @ centers.T)
        here, size = np.arange(len(rows)), counts[own].astype(np.float64)
        # The center without the sample itself is farther away by this factor.
        alone = np.divide(size, size - 1.0, out=np.full(len(rows), np.nan), where=size > 1)
        to_own = squares[here, own]
        squares[here, own] = np.inf
        both = np.stack([to_own, squares.min(1)]) + np.square(points).sum(1)
        to_own, to_other = np.sqrt(np.maximum(both, 0.0))
        found[rows] = to_own * alone - to_other
    return found
