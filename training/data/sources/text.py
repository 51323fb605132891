"""``text``: a text as windows of tokens, each token to be predicted from those before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.text import TextDataset
from training.core.readers.text_reading import count_trained
from training.data.source import Opening, ReportProgress, Source, number_parts
from training.data.texts.text_files import TextFiles, find_text, split_pieces
from training.data.texts.vocabulary import (
    Characters,
    Vocabulary,
    all_bytes,
    find_byte_pairs,
)
from training.errors import InputError, format_bytes
from training.facts import Layout, Target
from training.system.untrusted import escape_unprintable

_PREVIEW = 4 * 10**6
"""Bytes of the text that a preview reads."""
_CODE_POINTS = 0x110000
_NEVER = np.iinfo(np.int64).max
_NAMED = 5
"""How many unknown characters are named."""


@dataclass(frozen=True)
class Part:
    """One part of the text: where its tokens lie, and how far apart its windows begin."""

    name: str
    first: int
    tokens: int
    stride: int
    windows: int


@dataclass(kw_only=True, eq=False)
class Text(Source):
    """Windows of ``context`` + 1 tokens: the last is only predicted, the first only seen. Training windows begin ``stride``
    tokens apart, those to judge by ``context``, so that each token there is predicted once. No window reaches from one part
    into the other.

    The parts come from the places in the text, so they are known before the vocabulary, which is that of the training part.
    """

    layout: Layout = "tokens"
    target: Target = "tokens"
    in_order: bool = True
    tokens: Tensor
    sections: tuple[Part, ...]

    @property
    def token_counts(self) -> dict[str, int]:
        """How many tokens each part has; in a preview about as many."""
        return {part.name: max(part.tokens, part.windows * part.stride) for part in self.sections}

    def find_readable(self, indices: Tensor) -> Tensor:
        """Those of the windows that can be read: all but in a preview."""
        train, judged = (
            min(part.windows, (part.tokens - self.shape[0] - 1) // part.stride + 1) for part in self.sections
        )
        behind = indices - self.sections[0].windows
        return indices[torch.where(behind < 0, indices < train, behind < judged)]

    def read(self, indices: Tensor) -> Tensor:
        """(n, context + 1) whole numbers of the smallest kind that holds all tokens (uint8, int16 or int32)."""
        places = torch.arange(self.shape[0] + 1)
        return self.tokens[self._starts(indices).unsqueeze(1) + places]

    def _starts(self, indices: Tensor) -> Tensor:
        """Where each window begins among all tokens."""
        train, judged = self.sections
        ahead = judged.first + (indices - train.windows) * judged.stride
        return torch.where(indices < train.windows, indices * train.stride, ahead)

    def name(self, index: int) -> str:
        judged = index >= self.sections[0].windows
        start = int(self._starts(torch.tensor(index))) - self.sections[judged].first
        return f"{'validation ' if judged else ''}tokens {start:,} to {start + self.shape[0]:,}"

    def read_all(self) -> Tensor:
        windows = super().read_all()
        self.tokens = self.tokens[:0]
        return windows


def open_text(dataset: TextDataset, opening: Opening) -> Text:
    """Read, cut, and encode the text. Raises InputError in a sentence for what is no text or too short.

    A preview (``opening.check`` false) reads the first 4 MB, and estimates how many windows all of it has.
    """
    most = None if opening.check else _PREVIEW
    files = find_text(Path(dataset.path), dataset.encoding, "dataset.path", most)
    judged = None
    if dataset.validation_path is not None:
        judged = find_text(Path(dataset.validation_path), dataset.encoding, "dataset.validation_path", most)
    return _Reader(dataset, files, judged, opening.report_progress).read()


class _Reader:
    """Goes through the files twice, for byte pairs three times, a megabyte at a time: nothing but the tokens is kept."""

    def __init__(
        self, dataset: TextDataset, files: TextFiles, judged: TextFiles | None, report_progress: ReportProgress
    ) -> None:
        self._dataset = dataset
        self._files = files
        self._judged = judged
        self._report_progress = report_progress
        self._cut = 0
        """Characters of ``files`` that are trained on."""

    def read(self) -> Text:
        characters, first = self._look("reading the text")
        self._cut = characters
        if self._judged is None:
            self._cut = count_trained(characters, self._dataset.validation_fraction)
        vocabulary = self._find_vocabulary(first)
        tokens, train = self._encode(vocabulary)
        parts = self._parts(train, len(tokens) - train)
        return Text(
            tokens=torch.from_numpy(tokens),
            sections=parts,
            vocabulary=vocabulary.kind,
            classes=vocabulary.names,
            merges=vocabulary.merges,
            shape=(self._dataset.context,),
            targets=torch.zeros(sum(part.windows for part in parts), 0),
            parts=number_parts({part.name: part.windows for part in parts}),
            fingerprint=self._fingerprint(vocabulary),
            skipped=tuple(self._files.skipped + (self._judged.skipped if self._judged else [])),
            notes=self._notes(characters, vocabulary, tokens[train:], first, train),
        )

    def _look(self, what: str) -> tuple[int, NDArray[np.int64]]:
        """How many characters there are, and where each comes first."""
        first = np.full(_CODE_POINTS, _NEVER, dtype=np.int64)
        done = 0
        for piece in self._files.pieces(self._progress(what, self._files)):
            points = np.frombuffer(piece.encode("utf-32-le"), np.uint32)
            new = np.flatnonzero(first[points] == _NEVER)
            if len(new):
                found, places = np.unique(points[new], return_index=True)
                first[found] = done + new[places]
            done += len(points)
        return done, first

    def _find_vocabulary(self, first: NDArray[np.int64]) -> Vocabulary:
        kind = self._dataset.vocabulary
        if kind == "bytes":
            return all_bytes()
        if kind == "bpe":
            pieces = (piece for trains, piece in self._pieces("finding the vocabulary") if trains)
            return find_byte_pairs(pieces, self._dataset.vocabulary_size)
        return Characters(map(chr, np.flatnonzero(first < self._cut).tolist()))

    def _pieces(self, what: str) -> Iterator[tuple[bool, str]]:
        """The text of ``path``, each piece with whether it is trained on."""
        return split_pieces(self._files.pieces(self._progress(what, self._files)), self._cut)

    def _encode(self, vocabulary: Vocabulary) -> tuple[NDArray[np.generic], int]:
        """The tokens to train on and behind them those to judge by, and how many the first are."""
        kind = token_kind(len(vocabulary.names))
        trained_on: list[bool] = []

        def pieces() -> Iterator[str]:
            what = "encoding the text"
            for trains, piece in self._pieces(what):
                trained_on.append(trains)
                yield piece
            for piece in self._judged.pieces(self._progress(what, self._judged)) if self._judged else ():
                trained_on.append(False)
                yield piece

        encoded = [tokens.astype(kind) for tokens in vocabulary.encode_all(pieces())]
        train = sum(len(tokens) for tokens, trains in zip(encoded, trained_on, strict=True) if trains)
        return np.concatenate([np.zeros(0, dtype=kind), *encoded]), train

    def _progress(self, what: str, files: TextFiles) -> Callable[[int], None]:
        size = max(1, min(files.size, files.most or files.size))
        done = 0

        def read(count: int) -> None:
            nonlocal done
            done += count
            self._report_progress(what, min(1.0, done / size))

        return read

    def _parts(self, train: int, held: int) -> tuple[Part, Part]:
        context = self._dataset.context
        stride = self._dataset.stride or context
        shares = self._files.read_share, (self._judged or self._files).read_share
        windows = [
            _windows(tokens, context, step, share)
            for tokens, step, share in zip((train, held), (stride, context), shares, strict=True)
        ]
        needed = f"a window needs {context + 1:,}: dataset.context and the one that follows"
        if not windows[0]:
            raise InputError(
                f"dataset.path: the training text has {train:,} tokens, but {needed}.",
                "Shorten the context, or choose a longer text.",
            )
        if not windows[1]:
            where = "validation_path" if self._judged else "validation_fraction"
            raise InputError(
                f"dataset.{where}: the validation text has {held:,} tokens, but {needed}.",
                f"Shorten the context, or {'choose a longer text' if self._judged else 'raise the fraction'}.",
            )
        return Part("train", 0, train, stride, windows[0]), Part("validation", train, held, context, windows[1])

    def _fingerprint(self, vocabulary: Vocabulary) -> str:
        """Of the text and of the tokens it becomes; of a preview, which did not read everything, none."""
        if self._files.most is not None:
            return ""
        content = (
            "text 1", self._files.digest, self._judged.digest if self._judged else "", str(self._cut), self._files.encoding,
            vocabulary.kind, *vocabulary.names, *vocabulary.merges,
        )  # fmt: skip
        return hashlib.sha256("\0".join(content).encode()).hexdigest()

    def _notes(
        self,
        characters: int,
        vocabulary: Vocabulary,
        held: NDArray[np.generic],
        first: NDArray[np.int64],
        train: int,
    ) -> tuple[str, ...]:
        files, dataset = self._files, self._dataset
        notes = []
        if files.read_share < 1.0:
            notes.append(
                f"This preview reads the first {format_bytes(_PREVIEW)}; a run reads all {format_bytes(files.size)}. Numbers of "
                "windows are estimates."
            )
        if len(files.paths) > 1:
            notes.append(f"{len(files.paths):,} files are read in the order of their names.")
        names = len(vocabulary.names)
        if isinstance(vocabulary, Characters):
            notes.append(f"The vocabulary is the {names - 1:,} characters of the training text, and one for any other.")
            notes += self._unknown(held, first)
        elif dataset.vocabulary == "bpe":
            notes.append(
                f"The vocabulary is {names:,} tokens found in the training text, on average {self._cut / max(1, train):.2f} "
                "characters long."
            )
            if names < dataset.vocabulary_size:
                notes.append(
                    f"No more pairs come twice, so there are fewer than the {dataset.vocabulary_size:,} asked for."
                )
        if self._judged is None:
            notes.append(
                f"The last {characters - self._cut:,} of {characters:,} characters are held out for validation."
            )
        return tuple(notes)

    def _unknown(self, held: NDArray[np.generic], first: NDArray[np.int64]) -> list[str]:
        count = int((held == 0).sum())
        if not count:
            return []
        late = np.flatnonzero((first >= self._cut) & (first != _NEVER)).tolist()
        which = ", ".join(f"'{escape_unprintable(chr(point))}'" for point in late[:_NAMED]) + (
            ", ..." if late[_NAMED:] else ""
        )
        return [
            f"{count:,} character{'s' if count > 1 else ''} of the validation text never come{'' if count > 1 else 's'} in the "
            f"training text{f' ({which})' if late else ''}: they count as unknown."
        ]


def token_kind(count: int) -> type[np.uint8 | np.int16 | np.int32]:
    """The smallest kind of number that torch can compute with and that holds ``count`` tokens."""
    return np.uint8 if count <= 1 << 8 else np.int16 if count <= 1 << 15 else np.int32


def _windows(tokens: int, context: int, stride: int, share: float) -> int:
    """How many whole windows there are; in all of the text where only ``share`` of it was read."""
    here = max(0, (tokens - context - 1) // stride + 1)
    return here if share == 1.0 else round(here / share)
