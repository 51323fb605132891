"""What can be found, and how well it fits what was typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

_MOST = 60  # entries that are offered: nobody reads more


@dataclass(frozen=True)
class Entry:
    """``key`` names it from one start to the next; ``title`` and ``kind`` are shown, ``more`` is only looked through; ``act`` carries it
    out."""

    key: str
    title: str
    kind: str
    act: Callable[[], object]
    icon: str = ""
    hint: str = ""  # its keys, or where it is
    more: str = ""
    lowered: str = field(init=False, repr=False)  # the title in lower case
    text: str = field(init=False, repr=False)  # all that is looked through

    def __post_init__(self) -> None:
        lowered = self.title.casefold()
        object.__setattr__(self, "lowered", lowered)
        object.__setattr__(self, "text", f"{lowered} {self.kind.casefold()} {self.more.casefold()}")


def find(entries: Iterable[Entry], query: str, recent: Sequence[str] = ()) -> list[Entry]:
    """The entries that fit ``query``, best first, those of ``recent`` (the newest first) before others that fit as well. All words must
    be there, whole or the beginning of a word before the middle of one; a title that holds the letters in their order comes last."""
    words = query.casefold().split()
    ranks = {key: number for number, key in enumerate(recent)}
    last = len(ranks)
    if not words:
        known = sorted((entry for entry in entries if entry.key in ranks), key=lambda entry: ranks[entry.key])
        others = (entry for entry in entries if entry.key not in ranks)
        return [*known, *(entry for entry, _ in zip(others, range(_MOST), strict=False))][:_MOST]
    typed = " ".join(words)
    fitting: Sequence[Entry] = list(entries)
    everything = fitting
    for word in words:
        fitting = [entry for entry in fitting if word in entry.text]
    scored = [(_rank(entry.lowered, words, typed), entry) for entry in fitting]
    if len(scored) < _MOST:
        letters = re.compile(".*?".join(map(re.escape, typed.replace(" ", ""))))
        there = {entry.key for entry in fitting}
        scored += [(4, each) for each in everything if letters.search(each.lowered) and each.key not in there]
    best = nsmallest(_MOST, scored, key=lambda each: (each[0], ranks.get(each[1].key, last), len(each[1].title)))
    return [entry for _, entry in best]


def _rank(title: str, words: Sequence[str], typed: str) -> int:
    """0 is best."""
    if title.startswith(typed):
        return 0
    if all(title.startswith(word) or f" {word}" in title for word in words):
        return 1
    return 2 if typed in title else 3
