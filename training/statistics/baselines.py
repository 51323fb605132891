"""What a model has to beat: predictions that look at no input, made of what was counted in the training part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import Floats


def predict_majority(counts: NDArray[np.integer], samples: int) -> NDArray[np.int64]:
    """(samples,): the class with the largest of the training counts (classes,), the first of equal ones."""
    return np.full(samples, int(np.argmax(counts)))


def predict_shares(counts: NDArray[np.integer], samples: int) -> Floats:
    """(samples, classes): each class as likely as its share of the training part; of labels see ``predict_mean``."""
    return np.tile(np.asarray(counts, np.float64) / np.sum(counts), (samples, 1))


def predict_mean(values: NDArray[np.floating], samples: int) -> Floats:
    """(samples, values): the mean of the training part's targets (n, values), or (values,) where it is that already."""
    values = np.asarray(values, np.float64)
    return np.tile(values if values.ndim == 1 else values.mean(0), (samples, 1))


class Bigram(NamedTuple):
    """How often each token (tokens,), and each pair of tokens that was there, follows: ``pairs`` are the codes of both, upward, and
    ``counts`` theirs; ``starts`` (tokens,) how often a token is followed, ``kinds`` (tokens,) by how many different ones."""

    unigram: NDArray[np.int64]
    pairs: NDArray[np.int64]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    kinds: NDArray[np.int64]


def count_bigrams(tokens: NDArray[np.integer], vocabulary: int) -> Bigram:
    """Of the training part's tokens (n,) in their order, numbers below ``vocabulary``."""
    tokens = np.asarray(tokens).astype(np.int64)
    pairs, counts = np.unique(tokens[:-1] * vocabulary + tokens[1:], return_counts=True)
    first = pairs // vocabulary
    starts = np.bincount(first, counts, minlength=vocabulary).astype(np.int64)
    return Bigram(
        np.bincount(tokens, minlength=vocabulary), pairs, counts, starts, np.bincount(first, minlength=vocabulary)
    )


def bigram_loss(bigram: Bigram, previous: NDArray[np.integer], targets: NDArray[np.integer]) -> Floats:
    """The negative logarithm of each target's probability after the token before it, float64 of their shape; NaN for negative
    targets, which do not count.

    Pairs that were not there take their share from how often a token follows anything, by Witten and Bell (1991): after
    a token, something new is as likely as it has been so far. A token that never was is counted once."""
    vocabulary = len(bigram.unigram)
    counted = np.asarray(targets) >= 0
    before, after = np.asarray(previous)[counted].astype(np.int64), np.asarray(targets)[counted].astype(np.int64)
    codes = before * vocabulary + after
    place = np.minimum(np.searchsorted(bigram.pairs, codes), max(len(bigram.pairs) - 1, 0))
    seen = (
        np.where(bigram.pairs[place] == codes, bigram.counts[place], 0) if len(bigram.pairs) else np.zeros(len(codes))
    )
    common = (bigram.unigram + 1.0) / (bigram.unigram.sum() + vocabulary)
    kinds = np.maximum(bigram.kinds[before], 1)
    chances = (seen + kinds * common[after]) / (bigram.starts[before] + kinds)
    losses = np.full(counted.shape, np.nan)
    losses[counted] = -np.log(chances)
    return losses
