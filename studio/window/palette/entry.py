"""What can be found, and how well it fits what was typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from studio.state.search import rank_title, split_query

_MOST = 60  # entries that are offered: nobody reads more


@dataclass(slots=True, eq=False)  # not frozen, which would take thrice as long to make for ten thousand runs
class Entry:
    """``key`` names it from one start to the next; ``title`` and ``kind`` are shown, ``more`` is only looked through; ``act`` carries it
    out, unless ``problem`` says why it cannot be used now."""

    key: str
    title: str
    kind: str
    act: Callable[[], object]
    icon: str = ""
    hint: str = ""  # its keys, or where it is
    more: str = ""
    problem: str = ""
    is_elsewhere: bool = False  # it belongs to what is not chosen
    _text: str = field(default="", init=False, repr=False)  # made when something is typed: most are only listed

    @property
    def lowered(self) -> str:
        """The title in lower case."""
        return self.title.casefold()

    @property
    def text(self) -> str:
        """All that is looked through."""
        if not self._text:
            self._text = f"{self.title} {self.kind} {self.more}".casefold()
        return self._text


def find(entries: Iterable[Entry], query: str, recent: Sequence[str] = ()) -> list[Entry]:
    """The entries that fit ``query``, best first, those of ``recent`` (the newest first) before others that fit as well. All words must
    be there, whole or the beginning of a word before the middle of one; a title that holds the letters in their order comes last. What
    cannot be used, or belongs to what is not chosen, stands behind what fits as well."""
    words = split_query(query)
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
    scored = [(rank_title(entry.lowered, words, typed), entry) for entry in fitting]
    if len(scored) < _MOST:
        letters = re.compile(".*?".join(map(re.escape, typed.replace(" ", ""))))
        there = {entry.key for entry in fitting}
        scored += [(4, each) for each in everything if letters.search(each.lowered) and each.key not in there]
    best = nsmallest(_MOST, scored, key=lambda each: _place(each[0], each[1], ranks.get(each[1].key, last)))
    return [entry for _, entry in best]


def _place(rank: int, entry: Entry, used: int) -> tuple[int, bool, int, int]:
    return rank, bool(entry.problem) or entry.is_elsewhere, used, len(entry.title)
