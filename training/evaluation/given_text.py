"""A text given to a language model that was trained on another."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.text import TextDataset
from training.data.source import ReportProgress
from training.data.sources.text import Part, Text, token_kind
from training.data.texts.text_files import find_text
from training.data.texts.vocabulary import Vocabulary, vocabulary_of
from training.errors import InputError, list_first, pluralize
from training.facts import DataFacts
from training.system.untrusted import escape_unprintable

_NAMED = 5


@dataclass(kw_only=True, eq=False)
class GivenText(Text):
    """Windows of the whole text."""

    def name(self, index: int) -> str:
        start = index * self.shape[0]
        return f"tokens {start:,} to {start + self.shape[0]:,}"


def open_given_text(
    dataset: DatasetSection, facts: DataFacts, path: Path, report_progress: ReportProgress
) -> tuple[GivenText, tuple[str, ...]]:
    """In the run's vocabulary, and how many characters that lacks: they count as unknown. Raises InputError for what is no text, or too short."""
    shown, context = escape_unprintable(str(path), 300), facts.shape[0]
    encoding = dataset.encoding if isinstance(dataset, TextDataset) else "auto"
    files = find_text(path, encoding, "--on")
    report_progress("encoding the text", None)
    vocabulary = vocabulary_of(facts)
    foreign: Counter[str] = Counter()
    kind = token_kind(len(vocabulary.names))
    pieces = vocabulary.encode_all(_note_foreign(files.pieces(lambda count: None), vocabulary, foreign))
    tokens = np.concatenate([np.zeros(0, kind), *(piece.astype(kind) for piece in pieces)])
    windows = max(0, (len(tokens) - 1) // context)
    if not windows:
        raise InputError(
            f"--on {shown}: has {len(tokens):,} tokens, but the network reads windows of {context:,} and predicts the one that follows.",
            "Give a longer text.",
        )
    content = hashlib.sha256(f"{files.digest}{vocabulary.names}{vocabulary.merges}{context}".encode()).hexdigest()
    text = GivenText(
        tokens=torch.from_numpy(tokens),
        sections=(Part("train", 0, len(tokens), context, windows), Part("validation", len(tokens), 0, context, 0)),
        vocabulary=facts.vocabulary,
        classes=facts.names,
        merges=facts.merges,
        shape=(context,),
        targets=torch.zeros(windows, 0),
        parts={"train": torch.arange(windows)},
        fingerprint=content,
    )
    return text, _describe_foreign(foreign)


def _note_foreign(pieces: Iterator[str], vocabulary: Vocabulary, foreign: Counter[str]) -> Iterator[str]:
    """``pieces``; their characters that the vocabulary lacks are counted on the way."""
    known = frozenset(vocabulary.names)
    for piece in pieces:
        if vocabulary.kind == "characters" and not known.issuperset(found := Counter(piece)):
            foreign.update({each: count for each, count in found.items() if each not in known})
        yield piece


def _describe_foreign(foreign: Counter[str]) -> tuple[str, ...]:
    if not foreign:
        return ()
    count, first = foreign.total(), [f"'{escape_unprintable(each)}'" for each in list(foreign)[:_NAMED]]
    said = f"{'is' if count == 1 else 'are'} not in the vocabulary and {'counts' if count == 1 else 'count'} as unknown"
    return (f"{pluralize(count, 'character')} of the text {said}: {list_first(first, len(foreign))}.",)
