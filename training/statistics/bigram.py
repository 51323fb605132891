"""What a language model has to beat: the next token by how often it followed the one before in the training part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import Floats


class Bigram(NamedTuple):
    """Pairs of tokens that were there, int64 (pairs,) ``first`` * tokens + second, upward, and how often; and of each token, (tokens,),
    how often it followed any, how often it was followed, and by how many different ones."""

    pairs: NDArray[np.int64]
    counts: NDArray[np.int64]
    follows: NDArray[np.int64]
    starts: NDArray[np.int64]
    kinds: NDArray[np.int64]

    @property
    def common(self) -> Floats:
        """(tokens,): how likely each token is, whatever is before it; one that never was is counted once."""
        return (self.follows + 1.0) / (self.follows.sum() + len(self.follows))


def count_bigrams(previous: NDArray[np.integer], following: NDArray[np.integer], tokens: int) -> Bigram:
    """Of the training part: tokens and those that follow them, of one shape, whole numbers below ``tokens``; pairs with a negative
    number do not count."""
    counted = (np.asarray(previous) >= 0) & (np.asarray(following) >= 0)
    codes = np.asarray(previous)[counted].astype(np.int64) * tokens + np.asarray(following)[counted]
    pairs, counts = np.unique(codes, return_counts=True)
    first, second = np.divmod(pairs, tokens)
    starts, follows = (np.bincount(each, counts, minlength=tokens).astype(np.int64) for each in (first, second))
    return Bigram(pairs, counts, follows, starts, np.bincount(first, minlength=tokens))


def bigram_loss(bigram: Bigram, previous: NDArray[np.integer], following: NDArray[np.integer]) -> Floats:
    """The negative logarithm of each following token's probability, float64 of their shape; NaN where it is negative.

    Pairs that never were take their share from how often a token follows any, by Witten and Bell (1991): after a token,
    something new is as likely as it has been so far."""
    losses = np.full(np.shape(following), np.nan)
    counted = np.asarray(following) >= 0
    before, after = np.asarray(previous)[counted].astype(np.int64), np.asarray(following)[counted].astype(np.int64)
    kinds = np.maximum(bigram.kinds[before], 1)
    chances = (look_up(bigram, before, after) + kinds * bigram.common[after]) / (bigram.starts[before] + kinds)
    losses[counted] = -np.log(chances)
    return losses


def look_up(bigram: Bigram, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each pair was there."""
    if not len(bigram.pairs):
        return np.zeros(len(before), np.int64)
    codes = before * len(bigram.follows) + after
    place = np.minimum(np.searchsorted(bigram.pairs, codes), len(bigram.pairs) - 1)
    return np.where(bigram.pairs[place] == codes, bigram.counts[place], 0)


def likeliest_next(bigram: Bigram) -> NDArray[np.int64]:
    """(tokens,): what follows each token most often, the commoner where several do; the commonest of all after one that was never
    followed."""
    tokens = len(bigram.follows)
    first, second = np.divmod(bigram.pairs, tokens)
    order = np.lexsort((bigram.follows[second], bigram.counts))
    found = np.full(tokens, int(bigram.follows.argmax()), np.int64)
    found[first[order]] = second[order]  # the last of a token's pairs stays
    return found
