"""How text becomes tokens and tokens become text again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from training.core.readers.text_reading import encode_characters
from training.facts import DataFacts
from training.system.token_text import UNKNOWN, byte_letters, make_decoder, show_bytes, spell_bytes

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TOGETHER = 8
"""Pieces of text that are encoded at a time, on all cores."""


class Characters:
    """Each character of the training text is a token, in the order of their numbers in Unicode; token 0 is any other.

    Tokens are whole numbers from 0 on. ``names`` are those of all tokens, ``merges`` the rules of byte pairs.
    """

    kind = "characters"
    merges: tuple[str, ...] = ()

    def __init__(self, characters: Iterable[str]) -> None:
        self.names = (UNKNOWN, *characters)

    def encode(self, text: str) -> NDArray[np.int32]:
        """The tokens of ``text``."""
        return encode_characters(text, self.names[1:])

    def encode_all(self, pieces: Iterable[str]) -> Iterator[NDArray[np.int32]]:
        """``encode`` of each."""
        return map(self.encode, pieces)

    def decode(self, tokens: Sequence[int]) -> str:
        """Their text, as ``make_decoder`` says."""
        return make_decoder(self.names)(tokens)

    def show(self, token: int) -> str:
        """One token as a person reads it: its text, or in hexadecimal the bytes that are none by themselves."""
        return self.names[token]

    def tokenizer_json(self) -> str:
        """The same as a file of the tokenizers library, which others read."""
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

        tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(self.names)}, UNKNOWN))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        tokenizer.decoder = decoders.Fuse()
        return str(tokenizer.to_str(pretty=True))


class BytePairs:
    """UTF-8 bytes, joined by ``merges`` in their order: byte-level byte-pair encoding (Radford et al. 2019).

    ``names`` spell bytes as GPT-2 does, one visible character for each. Without merges each byte is a token, the one of
    its own value.
    """

    def __init__(self, names: Iterable[str], merges: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        self.merges = tuple(merges)
        self.kind = "bpe" if self.merges else "bytes"

    @cached_property
    def tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        left_right = [(left, right) for left, _, right in (merge.partition(" ") for merge in self.merges)]
        tokenizer = Tokenizer(models.BPE({name: number for number, name in enumerate(self.names)}, left_right))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer

    @cached_property
    def _bytes(self) -> tuple[bytes, ...]:
        return spell_bytes(self.names)

    @cached_property
    def _decode(self) -> Callable[[Sequence[int]], str]:
        return make_decoder(self.names)

    def encode(self, text: str) -> NDArray[np.int32]:
        return next(self.encode_all([text]))

    def encode_all(self, pieces: Iterable[str]) -> Iterator[NDArray[np.int32]]:
        if not self.merges:
            for piece in pieces:
                yield np.frombuffer(piece.encode(), np.uint8).astype(np.int32)
            return
        for some in _groups(pieces, _TOGETHER):
            for encoding in self.tokenizer.encode_batch_fast(some):
                yield np.array(encoding.ids, dtype=np.int32)

    def decode(self, tokens: Sequence[int]) -> str:
        return self._decode(tokens)

    def show(self, token: int) -> str:
        return show_bytes(self._bytes[token])

    def tokenizer_json(self) -> str:
        return str(self.tokenizer.to_str(pretty=True))


Vocabulary = Characters | BytePairs


def all_bytes() -> BytePairs:
    """The vocabulary of the 256 bytes."""
    return BytePairs(byte_letters())


def find_byte_pairs(pieces: Iterable[str], size: int) -> BytePairs:
    """The vocabulary that ``train_byte_pairs`` finds in ``pieces``."""
    from training.core.readers.byte_pairs import train_byte_pairs

    found = json.loads(train_byte_pairs(pieces, size).to_str())["model"]
    names = sorted(found["vocab"], key=found["vocab"].__getitem__)
    merges = [" ".join(pair) for pair in found["merges"]]
    return BytePairs(names, merges) if merges else all_bytes()


def vocabulary_of(facts: DataFacts) -> Vocabulary:
    """The vocabulary that a checkpoint's facts tell of. Raises ValueError for one that no training made: a checkpoint may come
    from anybody."""
    names = set(facts.names)
    if facts.vocabulary == "characters":
        if facts.names[:1] != (UNKNOWN,) or any(len(name) != 1 for name in facts.names[1:]):
            raise ValueError("its characters are none")
        return Characters(facts.names[1:])
    if facts.vocabulary not in ("bytes", "bpe"):
        raise ValueError("it is of no known kind")
    if not isinstance(facts.merges, tuple) or not all(isinstance(merge, str) for merge in facts.merges):
        raise ValueError("its pairs are no texts")
    letters = set(byte_letters())
    joined = [merge.partition(" ") for merge in facts.merges]
    if (
        not letters <= names
        or any(not set(name) <= letters for name in names)
        or (not joined and list(facts.names) != byte_letters())
    ):
        raise ValueError("its tokens are no bytes")
    if any(not {left, right, left + right} <= names for left, _, right in joined):
        raise ValueError("its pairs join no tokens")
    return BytePairs(facts.names, facts.merges)


def _groups(pieces: Iterable[str], size: int) -> Iterator[list[str]]:
    group: list[str] = []
    for piece in pieces:
        group.append(piece)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
