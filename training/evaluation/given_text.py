"""A text given to a language model that was trained on another."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass
class Foreign:
    """Characters that a vocabulary lacks: how many, and in which line of the text each comes first, in that order."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: dict[str, int] = field(default_factory=dict)

    def take(self, piece: str, found: Mapping[str, int], line: int) -> None:
        """Those ``found`` in a piece of the text that begins in ``line``, in the order in which they come."""
        for each in found:
            if each not in self.lines:
                self.lines[each] = line + piece.count("\n", 0, piece.index(each))
        self.counts.update(found)


def open_given_text(
    dataset: DatasetSection, facts: DataFacts, path: Path, report_progress: ReportProgress
) -> tuple[GivenText, tuple[str, ...]]:
    """In the run's vocabulary, and how many characters that lacks: they count as unknown. Raises InputError for what is no text, or too short."""
    shown, context = escape_unprintable(str(path), 300), facts.shape[0]
    encoding = dataset.encoding if isinstance(dataset, TextDataset) else "auto"
    files = find_text(path, encoding, "--on")
    report_progress("encoding the text", None)
    vocabulary = vocabulary_of(facts)
    foreign = Foreign()
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


def _note_foreign(pieces: Iterator[str], vocabulary: Vocabulary, foreign: Foreign) -> Iterator[str]:
    """``pieces``; their characters that the vocabulary lacks are counted on the way."""
    known, line = frozenset(vocabulary.names), 1
    for piece in pieces:
        if vocabulary.kind == "characters":
            if not known.issuperset(found := Counter(piece)):
                foreign.take(piece, {each: count for each, count in found.items() if each not in known}, line)
            line += piece.count("\n")
        yield piece


def _describe_foreign(foreign: Foreign) -> tuple[str, ...]:
    counts, lines = foreign.counts, foreign.lines
    if not counts:
        return ()
    count = counts.total()
    first = [f"'{escape_unprintable(each)}' (first in line {lines[each]:,})" for each in list(lines)[:_NAMED]]
    said = f"{'is' if count == 1 else 'are'} not in the vocabulary and {'counts' if count == 1 else 'count'} as unknown"
    return (f"{pluralize(count, 'character')} of the text {said}: {list_first(first, len(counts))}.",)
