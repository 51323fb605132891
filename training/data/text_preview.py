"""A look at a text as the model gets it: some windows, token by token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.core import counter_rng
from training.data.sources.text import Text
from training.data.targets import source_facts
from training.data.vocabulary import vocabulary_of

_WINDOWS = 3
_TOKENS_SHOWN = 128
_COUNTED = 2000
_FREQUENT = 10


def preview_text(source: Text, train: Tensor) -> dict[str, Any]:
    """As JSON can hold it: "texts", some training windows in any order, each {"name", "tokens"} with the texts of its first
    tokens; "vocabulary"; "token_counts" of each part, as far as it was read; "frequent", the tokens seen most often in up to
    2,000 training windows, each {"name", "share"}."""
    vocabulary = vocabulary_of(source_facts(source))
    # Of a large text a preview has read the beginning only.
    here = train[train < source.held_windows]
    shuffled = here[counter_rng.permutation(0, 0, len(here), stream="texts")]
    texts = [
        {"name": source.name(index), "tokens": [vocabulary.show(token) for token in window[:_TOKENS_SHOWN]]}
        for index, window in zip(shuffled[:_WINDOWS].tolist(), source.read(shuffled[:_WINDOWS]).tolist(), strict=True)
    ]
    some = here[torch.arange(min(len(here), _COUNTED)) * len(here) // min(len(here), _COUNTED)]
    counts = torch.bincount(source.read(some)[:, 1:].reshape(-1).long(), minlength=len(source.classes))
    total = int(counts.sum())
    order = torch.sort(counts, descending=True, stable=True).indices[:_FREQUENT].tolist()
    frequent = [
        {"name": vocabulary.show(token), "share": int(counts[token]) / total} for token in order if counts[token]
    ]
    return {
        "texts": texts,
        "vocabulary": source.vocabulary,
        "token_counts": source.token_counts,
        "frequent": frequent,
    }
