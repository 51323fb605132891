"""A text as numbers of tokens in plain Python, as the tokenizers library would give them: ``tokenizer.json`` says how."""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from training.export.usage.facts import ModelFacts
from training.system.token_text import byte_letters

SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
PIECE = re.compile(r" ?L+| ?N+| ?O+|[ S]+(?![LNO])|[ S]+")


def read_text(facts: ModelFacts, text: str) -> tuple[Any, Any]:
    """int64 (1, places) tokens of the end of a text, as much as the model sees, with 0 behind a short one, and int64 (1,) how many
    are of the text. Raises ValueError for an empty text."""
    places = facts["input"]["shape"][0]
    found = encode_text(text, tuple(facts["classes"]))[-places:]
    if not found:
        raise ValueError("the text is empty: there is nothing to go on with")
    tokens = np.zeros((1, places), np.int64)
    tokens[0, : len(found)] = found
    return tokens, np.array([len(found)], np.int64)


def encode_text(text: str, names: tuple[str, ...]) -> list[int]:
    """The numbers of its tokens, whose names are those of the whole vocabulary."""
    numbers, is_characters, ranks = load_vocabulary(names)
    if is_characters:
        return [numbers.get(letter, 0) for letter in text]
    letters, known = byte_letters(), dict[str, list[int]]()
    found: list[int] = []
    for piece in split_words(text) if ranks else [text]:
        if piece not in known:
            spelled = [letters[value] for value in piece.encode()]
            known[piece] = [numbers[token] for token in join_pairs(spelled, ranks)]
        found += known[piece]
    return found


@lru_cache(maxsize=1)
def load_vocabulary(names: tuple[str, ...]) -> tuple[dict[str, int], bool, dict[tuple[str, str], int]]:
    """The number of each token, whether tokens are characters, and the place of each pair of bytes in the order of joining."""
    model = json.loads(Path(__file__).with_name("tokenizer.json").read_text(encoding="utf-8"))["model"]
    is_characters = model["type"] == "WordLevel"
    pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in model.get("merges", [])]
    return (
        {name: number for number, name in enumerate(names)},
        is_characters,
        {pair: at for at, pair in enumerate(pairs)},
    )


def split_words(text: str) -> Iterator[str]:
    """The pieces that are never joined: words, numbers and other signs, each with one space before it, and white space (GPT-2)."""
    kinds = "".join(map(kind_of, text))
    place = 0
    while place < len(text):
        match = CONTRACTION.match(text, place) or PIECE.match(kinds, place)
        assert match is not None  # every kind begins a piece
        yield text[place : match.end()]
        place = match.end()


def kind_of(letter: str) -> str:
    """L: a letter, N: a number, a space, S: other white space, O: anything else."""
    if letter == " ":
        return letter
    if letter in SPACES:
        return "S"
    kind = unicodedata.category(letter)[0]
    return kind if kind in "LN" else "O"


def join_pairs(tokens: list[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Byte-pair encoding: of all neighbors those that come first in the order are joined, until none are left."""
    while len(tokens) > 1:
        pairs = [ranks.get(pair, len(ranks)) for pair in pairwise(tokens)]
        first = min(pairs)
        if first == len(ranks):
            break
        at = pairs.index(first)
        tokens = [*tokens[:at], tokens[at] + tokens[at + 1], *tokens[at + 2 :]]
    return tokens
