"""A text made on the spot, and data that is opened from it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from training.config.sections.data.text import TextDataset
from training.data.source import Opening
from training.data.sources.text import Text, open_text

WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "cat",
    "sits",
    "under",
    "old",
    "oak",
)


def sentences(lines: int, start: int = 0) -> str:
    """That many lines of words in an order that never repeats."""
    return "".join(
        " ".join(WORDS[(number * number + 7 * place * (number + 1)) % len(WORDS)] for place in range(6)) + ".\n"
        for number in range(start, start + lines)
    )


def write_text(folder: Path, lines: int = 200) -> Path:
    """A file of ``sentences``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "text.txt"
    path.write_text(sentences(lines), encoding="utf-8")
    return path


def opened(path: Path, check: bool = True, **settings: Any) -> Text:
    """``path`` as a source; contexts of 16 tokens unless ``settings`` say otherwise."""
    return open_text(TextDataset(**{"path": str(path), "context": 16, **settings}), Opening(check=check))


def digest(path: Path) -> str:
    """Of the byte pairs found in ``path`` and of the tokens they give."""
    source = opened(path, vocabulary="bpe", vocabulary_size=600)
    content = repr((source.classes, source.merges, source.fingerprint)).encode()
    return hashlib.sha256(content + source.read_all().numpy().tobytes()).hexdigest()
