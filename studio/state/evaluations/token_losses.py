"""What each token of a text cost: those that cost most, and the passages in which they stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.predictions import Evaluation

Mask = NDArray[np.bool_]
_AT_ONCE = 1 << 22
"""Tokens that are looked at together."""


class TokenLoss(NamedTuple):
    """A token of the vocabulary: how often it was to be predicted, and what that cost on average, in nats."""

    token: int
    occurrences: int
    loss: float


def find_worst_tokens(evaluation: Evaluation, rows: NDArray[np.int64], most: int) -> list[TokenLoss]:
    """Those of the largest mean loss in the passages ``rows``."""
    target, losses = evaluation.column("target"), evaluation.column("token_loss")
    names = len(evaluation.record.names)
    counts, sums = np.zeros(names, np.int64), np.zeros(names)
    step = max(1, _AT_ONCE // max(target.shape[1], 1))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        tokens, cost = target[part].ravel(), losses[part].ravel().astype(np.float64)
        there = (tokens >= 0) & (tokens < names)
        counts += np.bincount(tokens[there], minlength=names)
        sums += np.bincount(tokens[there], cost[there], minlength=names)
    mean = np.divide(sums, counts, out=np.full(names, -np.inf), where=counts > 0)
    worst = np.argsort(-mean, kind="stable")[:most]
    return [TokenLoss(token, int(counts[token]), float(mean[token])) for token in worst.tolist() if counts[token]]


def find_token(evaluation: Evaluation, *, token: int) -> Mask:
    """The passages in which ``token`` was to be predicted, (n,)."""
    target = evaluation.column("target")
    step = max(1, _AT_ONCE // max(target.shape[1], 1))
    parts = [(target[start : start + step] == token).any(1) for start in range(0, len(target), step)]
    return np.concatenate(parts)
