"""A bigram of the training part: what a language model has to beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.engine.session import Session
from training.evaluation.baselines import Arrays
from training.evaluation.scores import Columns
from training.statistics.bigram import bigram_loss, count_bigrams, likeliest_next

_MOST_COUNTED = 1 << 24
"""Tokens of the training part, from its beginning: more of them hardly change a bigram, and take memory."""


def answer_by_bigram(session: Session, part: str, columns: Columns) -> tuple[str, Arrays] | None:
    """Its name, and its columns of the windows of ``part``. None for data that is no text, and for a text given as a path, which has
    no training part."""
    data = session.data
    if data.facts.target != "tokens" or (part != "train" and data.splits["train"].equal(data.splits[part])):
        return None
    previous, following, counted = [], [], 0
    for before, after in _read(session, "train"):
        previous.append(before.ravel())
        following.append(after.ravel())
        counted += before.size
        if counted >= _MOST_COUNTED:
            break
    bigram = count_bigrams(np.concatenate(previous), np.concatenate(following), len(data.facts.names))
    likeliest = likeliest_next(bigram)
    losses, predictions = [], []
    for before, after in _read(session, part):
        losses.append(np.nan_to_num(bigram_loss(bigram, before, after)).astype(np.float32))
        predictions.append(likeliest[before].astype(np.int32))
    answer = {"token_loss": np.concatenate(losses), "prediction": np.concatenate(predictions)}
    return "bigram", {"target": columns["target"], **answer}


def _read(session: Session, part: str) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """int32 (n, T) each: the tokens of some windows, and those that follow them."""
    for batch in session.data.evaluation_batches(part):
        yield batch.inputs.cpu().numpy().astype(np.int32), batch.targets.cpu().numpy().astype(np.int32)
