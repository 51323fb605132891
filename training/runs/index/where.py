"""A filter of runs as SQL: the same runs as ``Query.matches`` finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Float, String, and_, case, exists, false, func, literal, not_, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from training.runs.index.tables import FinalRow, RunRow, SettingRow, TagRow
from training.runs.query.conditions import (
    SEARCHED,
    SIGNS,
    All,
    Any_,
    Compare,
    Condition,
    Contains,
    Find,
    Has,
    Not,
    fold,
)
from training.runs.query.names import Name, is_measured, metric_of

_Column = ColumnElement[Any]
_TEXTS: dict[str, Any] = {
    "name": RunRow.title,
    "run": RunRow.id,
    "status": RunRow.status,
    "dataset": RunRow.dataset,
    "model": RunRow.model,
    "parent": RunRow.parent,
    "data": RunRow.data,
    "notes": RunRow.notes,
}
_SWITCHES: dict[str, Any] = {"star": RunRow.star, "archived": RunRow.archived}
_NUMBERS: dict[str, Any] = {
    "step": RunRow.step,
    "epoch": RunRow.epoch,
    "created": RunRow.created,
    "duration": RunRow.duration,
}


class _Folded(FunctionElement[str]):
    """A text in lower case, which sorts by its characters' numbers."""

    type = String()
    inherit_cache = True


@compiles(_Folded)
def _fold_by_database(element: _Folded, compiler: Any, **options: Any) -> str:
    return f"lower({compiler.process(element.clauses, **options)})"


@compiles(_Folded, "postgresql")
def _fold_by_postgresql(element: _Folded, compiler: Any, **options: Any) -> str:
    return f'(lower({compiler.process(element.clauses, **options)}) COLLATE "C")'


@compiles(_Folded, "sqlite")
def _fold_by_sqlite(element: _Folded, compiler: Any, **options: Any) -> str:
    return f"fold({compiler.process(element.clauses, **options)})"  # ``index.database`` brings it along


def make_clause(condition: Condition) -> _Column:
    """``condition`` of a row of ``run_records``: true or false, never NULL."""
    return _MAKERS[type(condition)](condition)


def _decide(condition: _Column) -> _Column:
    return func.coalesce(condition, false())


def _values(name: Name) -> tuple[_Column | None, _Column | None]:
    """As a number, and as a text; None where it is never one."""
    key = name.key
    if key == "age":
        return literal(time.time()) - RunRow.created, None
    if key in _NUMBERS:
        return _NUMBERS[key], None
    if key in _TEXTS:
        return None, _Folded(func.nullif(_TEXTS[key], ""))
    if key in _SWITCHES:
        return None, case((_SWITCHES[key], "true"), else_="false")
    if is_measured(key):
        metric, best = metric_of(key)
        column = FinalRow.best if best else FinalRow.last
        return select(column).where(FinalRow.run == RunRow.id, FinalRow.name == metric).scalar_subquery(), None
    where = (SettingRow.run == RunRow.id, SettingRow.name == key)
    number, text = (select(column).where(*where).scalar_subquery() for column in (SettingRow.number, SettingRow.text))
    return number, _Folded(text)


def _has_tag(condition: Callable[[_Column], _Column]) -> _Column:
    return exists().where(TagRow.run == RunRow.id, condition(_Folded(TagRow.tag)))


def _make_compare(condition: Compare) -> _Column:
    compare: Callable[[Any, Any], Any] = SIGNS[condition.sign]
    other = condition.right
    if condition.left.form == "tags":
        wanted = fold(str(other))
        tagged = _has_tag(lambda tag: tag == wanted)
        return not_(tagged) if condition.sign == "!=" else tagged
    number, text = _values(condition.left)
    if isinstance(other, Name):
        pairs = zip((number, text), _values(other), strict=True)
        found = [_decide(compare(one, two)) for one, two in pairs if one is not None and two is not None]
        return or_(false(), *found)
    if isinstance(other, str):
        return false() if text is None else _decide(compare(text, fold(other)))
    return false() if number is None else _decide(compare(number, literal(other, Float)))


def _make_contains(condition: Contains) -> _Column:
    wanted = fold(condition.text)
    if condition.name.form == "tags":
        return _has_tag(lambda tag: tag == wanted)
    text = _values(condition.name)[1]
    return false() if text is None else _decide(text.contains(wanted, autoescape=True))


def _make_has(condition: Has) -> _Column:
    text = _values(condition.name)[1]
    return false() if text is None else _decide(text == "true")


def _make_find(condition: Find) -> _Column:
    word = fold(condition.word)
    texts = (_decide(_Folded(_TEXTS[key]).contains(word, autoescape=True)) for key in SEARCHED)
    return or_(*texts, _has_tag(lambda tag: tag.contains(word, autoescape=True)))


_MAKERS: dict[type, Callable[[Any], _Column]] = {
    Compare: _make_compare,
    Contains: _make_contains,
    Has: _make_has,
    Find: _make_find,
    Not: lambda condition: not_(make_clause(condition.inner)),
    All: lambda condition: and_(*map(make_clause, condition.parts)),
    Any_: lambda condition: or_(*map(make_clause, condition.parts)),
}
