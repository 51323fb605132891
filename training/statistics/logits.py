"""Logits as probabilities, and a probability as a logit."""

from __future__ import annotations

import math

import numpy as np

from training.statistics.intervals import Floats


def apply_softmax(logits: Floats, multiplicity: Floats | None = None) -> Floats:
    """Probabilities of (n, columns); of each of the equal logits that a column stands for."""
    weights = np.exp(logits - logits.max(1, keepdims=True))
    total = weights.sum(1) if multiplicity is None else weights @ multiplicity
    return np.asarray(weights / total[:, None])


def squash(logits: Floats | float) -> Floats:
    """The logistic function."""
    logits = np.asarray(logits)
    small = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits >= 0, 1.0, small) / (1.0 + small))


def find_cutoff(threshold: float) -> float:
    """The logit of a probability."""
    return math.log(threshold) - math.log1p(-threshold)
