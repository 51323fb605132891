"""A filter's text, parsed by hand: ``or``, ``and``, ``not``, comparisons, ``in``; nothing of it is ever run.

any       = all {"or" all}            all  = one {"and" one}           one = "not" one | "(" any ")" | condition
condition = TEXT | TEXT ["not"] "in" value | operand SIGN operand {SIGN operand} | value ["not"] "in" "(" literals ")" | value
operand   = value | NUMBER | TEXT     value = NAME | "best" "(" NAME ")" | "last" "(" NAME ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NoReturn

from training.runs.query.conditions import (
    MIRRORED,
    SIGNS,
    All,
    Any_,
    Compare,
    Condition,
    Contains,
    Find,
    Has,
    Not,
    Test,
    Values,
    make_test,
    names_in,
)
from training.runs.query.names import Name, Names, Unknown, best_key, collect_names
from training.runs.query.tokens import LONGEST, FilterError, Token, split

_DEEPEST = 40
_SEARCH = re.compile(r"[\w\s./:@#+-]+")
_LOGIC = frozenset({"and", "or", "not", "in"})
_Operand = Name | float | str


@dataclass(frozen=True)
class Query:
    """What ``text`` asks for."""

    text: str
    condition: Condition

    @cached_property
    def names(self) -> frozenset[str]:
        """The keys of all values that decide it; ``created`` for the age."""
        return frozenset(names_in(self.condition))

    @cached_property
    def _test(self) -> Test:
        return make_test(self.condition)

    def matches(self, values: Values) -> bool:
        """Whether a run of these values is wanted."""
        return self._test(values)


def parse(text: str, names: Names | None = None) -> Query:
    """What ``text`` asks for. Text of words alone is searched: each of them has to occur. Raises FilterError, an InputError, naming
    the place and the nearest name."""
    if len(text) > LONGEST:
        raise FilterError(f"a filter has at most {LONGEST:,} characters; shorten it.", text, LONGEST, LONGEST)
    names = names or collect_names()
    words = _search_words(text)
    if words:
        _refuse_colons(text, names)
        return Query(text, All(tuple(Find(word) for word in words)))
    return Query(text, _Parser(text, names).parse())


def complete(text: str, cursor: int, names: Names | None = None) -> tuple[int, int, list[str]]:
    """What may stand where the cursor is: where the name that is being typed begins and ends, and the names it may become."""
    before, after = text[:cursor], text[cursor:]
    if before.count('"') % 2 or before.count("'") % 2:
        return cursor, cursor, []
    begun = re.search(r"(?:[^\W\d][\w./]*)?$", before)
    rest = re.match(r"[\w./]*", after)
    start = begun.start() if begun else cursor
    end = cursor + (rest.end() if rest else 0)
    typed = text[start:cursor]
    return start, end, (names or collect_names()).begin_with(typed) if typed else []


def asks_for_archived(text: str) -> bool:
    """Whether a filter speaks of archived runs, which are hidden otherwise."""
    return re.search(r"\barchived?\b", text, re.IGNORECASE) is not None


def _search_words(text: str) -> list[str]:
    """The words of a text that is a search: of nothing but words, none of which is a name that stands alone, or "and"."""
    if not _SEARCH.fullmatch(text):
        return []
    words = text.split()
    alone = {word.lower() for word in words}
    return [] if alone & _LOGIC or alone <= {"star", "starred", "archived", "archive"} else words


def _refuse_colons(text: str, names: Names) -> None:
    """Say how a condition is written that is typed as other programs have it, ``tag:blue``. Raises FilterError."""
    for found in re.finditer(r"([^\s:]+):(\S+)", text):
        try:
            name = names.find(found[1])
        except Unknown:
            continue
        meant = f'"{found[2]}" in tags' if name.form == "tags" else f'{found[1]} == "{found[2]}"'
        if re.fullmatch(r"[-+.\w]*\d", found[2]) and name.form != "text":
            meant = f"{found[1]} == {found[2]}"
        why = f'a condition is written otherwise: {meant}. To search for these letters, write "{found[0]}".'
        raise FilterError(why, text, found.start(), found.end())


class _Parser:
    def __init__(self, text: str, names: Names) -> None:
        self._text = text
        self._names = names
        self._tokens = split(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._parse_any()
        token = self._next
        if token.kind != "end":
            self._refuse("expected and, or, or the end; a text stands in quotation marks.", token)
        return condition

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, kind: str, *values: str) -> Token | None:
        """The next piece, where it is of this kind and, if any are named, one of these."""
        token = self._next
        if token.kind != kind or (values and token.value not in values):
            return None
        self._at += 1
        return token

    def _refuse(self, why: str, token: Token) -> NoReturn:
        raise FilterError(why, self._text, token.start, token.end)

    def _expect(self, sign: str) -> None:
        if not self._take("sign", sign):
            self._refuse(f"expected {sign} here.", self._next)

    def _parse_any(self) -> Condition:
        return self._join("or", self._parse_all, Any_)

    def _parse_all(self) -> Condition:
        return self._join("and", self._parse_one, All)

    def _join(
        self, word: str, parse_part: Callable[[], Condition], join: Callable[[tuple[Condition, ...]], Condition]
    ) -> Condition:
        parts = [parse_part()]
        while self._take("word", word):
            parts.append(parse_part())
        return parts[0] if len(parts) == 1 else join(tuple(parts))

    def _parse_one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"more than {_DEEPEST} levels of brackets and not are too many.", self._next)
        try:
            if self._take("word", "not"):
                return Not(self._parse_one())
            if self._take("sign", "("):
                inner = self._parse_any()
                self._expect(")")
                return inner
            return self._parse_condition()
        finally:
            self._depth -= 1

    def _parse_condition(self) -> Condition:
        first = self._next
        left = self._parse_operand()
        if self._next.kind == "sign" and self._next.value in SIGNS:
            return self._parse_comparisons(first, left)
        opposite = bool(self._take("word", "not"))
        if self._take("word", "in"):
            found = self._parse_in(first, left)
            return Not(found) if opposite else found
        if opposite:
            self._refuse("expected in after not.", self._next)
        if isinstance(left, Name):
            return Has(left)
        if isinstance(left, float):
            self._refuse("a number alone says nothing; compare it, such as epoch > 3.", first)
        return Find(left)

    def _parse_comparisons(self, first: Token, left: _Operand) -> Condition:
        """One, or a chain such as ``1e-4 < lr < 1e-2``."""
        parts: list[Condition] = []
        while self._next.kind == "sign" and self._next.value in SIGNS:
            sign = str(self._next.value)
            self._at += 1
            token = self._next
            right = self._parse_operand()
            parts.append(self._compare(first, left, sign, token, right))
            first, left = token, right
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _compare(self, first: Token, left: _Operand, sign: str, second: Token, right: _Operand) -> Condition:
        if not isinstance(left, Name):
            if not isinstance(right, Name):
                self._refuse("one side of a comparison has to be a name, such as val/accuracy.", second)
            return self._compare(second, right, MIRRORED[sign], first, left)
        if left.form == "tags" and (sign not in ("==", "!=") or not isinstance(right, str)):
            self._refuse('tags are compared with a text by == or !=, or by in: "paper" in tags.', first)
        if left.form == "time" and isinstance(right, str):
            right = self._read_time(right, second)
        if left.form in ("number", "duration", "time") and isinstance(right, str):
            self._refuse("this is compared with a number.", second)
        if left.form in ("text", "yes") and isinstance(right, float):
            self._refuse(
                "this is compared with a text in quotation marks." if left.form == "text" else "this is true or false.",
                second,
            )
        return Compare(left, sign, right)

    def _read_time(self, text: str, token: Token) -> float:
        try:
            return datetime.fromisoformat(text).timestamp()  # of this machine's zone
        except (ValueError, OverflowError, OSError):
            self._refuse('this is no date; write it as "2026-11-26" or "2026-11-26 18:30".', token)

    def _parse_in(self, first: Token, left: _Operand) -> Condition:
        if isinstance(left, Name):
            if not self._take("sign", "("):
                self._refuse('expected the values in brackets, such as status in ("failed", "stopped").', self._next)
            parts = [self._compare_literal(first, left)]
            while self._take("sign", ","):
                parts.append(self._compare_literal(first, left))
            self._expect(")")
            return Any_(tuple(parts))
        if not isinstance(left, str):
            self._refuse('before in stands a text in quotation marks, such as "cosine" in schedule.kind.', first)
        token = self._next
        name = self._parse_operand()
        if not isinstance(name, Name) or name.form not in ("text", "tags", "any"):
            self._refuse("after in stands the name of a text, such as schedule.kind, or tags.", token)
        return Contains(name, left)

    def _compare_literal(self, first: Token, left: Name) -> Condition:
        token = self._next
        value = self._parse_operand()
        if isinstance(value, Name):
            self._refuse("expected a number or a text in quotation marks.", token)
        return self._compare(first, left, "==", token, value)

    def _parse_operand(self) -> _Operand:
        token = self._next
        if token.kind in ("number", "text"):
            self._at += 1
            return token.value
        if token.kind == "word" and token.value in ("true", "false"):
            self._at += 1
            return str(token.value)
        if token.kind != "name":
            expected = (
                "a filter has something to say" if len(self._tokens) == 1 else "expected a name, a number or a text"
            )
            self._refuse(f"{expected}, such as val/accuracy > 0.9.", token)
        self._at += 1
        if token.value in ("best", "last") and self._take("sign", "("):
            return self._parse_measured(str(token.value))
        return self._find(token, lambda text: self._names.find(text))

    def _parse_measured(self, which: str) -> Name:
        token = self._next
        if not self._take("name"):
            self._refuse(f"expected a metric, such as {which}(val/accuracy).", token)
        found = self._find(token, lambda text: Name(self._names.find_metric(text), "number"))
        self._expect(")")
        return Name(best_key(found.key), "number") if which == "best" else found

    def _find(self, token: Token, look: Callable[[str], Name]) -> Name:
        try:
            return look(str(token.value))
        except Unknown as error:
            why = str(error)
            before = self._tokens[max(self._at - 2, 0)]
            if before.kind == "sign" and before.value in SIGNS:
                why = f'{why} A text stands in quotation marks: "{token.value}".'
            raise FilterError(why, self._text, token.start, token.end) from None
