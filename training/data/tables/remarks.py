"""What there is to tell of new rows before a model answers them: they may hold what no training row did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from training.core.readers.cell_reading import find_category, is_missing, parse_moment, parse_number
from training.facts import DataFacts, Derivation, lies_outside, show_number, show_span
from training.system.untrusted import escape_unprintable

Row = Mapping[str, object]


class Remark(NamedTuple):
    """``row`` counts from 0; None: all of them. ``refused``: there is no answer without mending it."""

    row: int | None
    column: str
    text: str
    refused: bool


def list_remarks(rows: Sequence[Row], facts: DataFacts, marks: Sequence[str]) -> list[Remark]:
    """What of ``rows`` (values by the names of the table's columns, texts as they stand in a file) a model of ``facts`` was not
    trained on: columns that are missing, texts where a number belongs, categories that no training row has, dates that cannot be
    read, numbers and dates outside of what the training rows hold. ``marks`` stand for a missing value. In the order of the columns, then of the rows."""
    remarks: list[Remark] = []
    seen: set[str] = set()
    for place, name in enumerate(facts.columns):
        derived = facts.derivation(place)
        column = derived.column if derived is not None else name
        if column in seen or name.removesuffix(" missing") in facts.columns[:place]:
            continue
        seen.add(column)
        absent = [number for number, row in enumerate(rows) if column not in row]
        if len(absent) == len(rows):
            said = f"there is no column '{_show(column)}', which the model was trained on; add it, empty where nothing is known"
            remarks.append(Remark(None, column, said, refused=True))
            continue
        remarks += [Remark(number, column, f"has no '{_show(column)}'", refused=True) for number in absent]
        remarks += _judge_column(rows, column, facts, place, derived, marks)
    return remarks


def _judge_column(
    rows: Sequence[Row], column: str, facts: DataFacts, place: int, derived: Derivation | None, marks: Sequence[str]
) -> Iterator[Remark]:
    coded = bool(facts.categories) and facts.categories[place] > 0
    for number, row in enumerate(rows):
        value = row.get(column)
        if is_missing(value, marks) or (derived is not None and derived.part == "hash"):
            continue
        cell = f"'{_show(value)}' in {_show(column)}"
        if derived is not None:
            why = _judge_moment(value, derived)
        elif coded:
            unseen = not find_category(value, facts.codes[place])
            why = "was not in the training data and counts as unknown" if unseen else ""
        else:
            form = facts.table
            known = parse_number(value, form.thousands if form else "", form.decimal if form else ".")
            if known is None:
                yield Remark(number, column, f"{cell} is no number; write one, or leave it empty", refused=True)
                continue
            why = _judge_number(known, facts.ranges[place] if facts.ranges else None)
            cell = f"{_show(column)} {show_number(known)}"
        if why:
            yield Remark(number, column, f"{cell} {why}", refused=False)


def _judge_number(number: float, span: tuple[float, float] | None) -> str:
    return f"lies outside what was trained on ({show_span(span)})" if span and lies_outside(number, span) else ""


def _judge_moment(value: object, derived: Derivation) -> str:
    moment = parse_moment(value, derived.form)
    if moment is None:
        return "is no date as in the training rows and counts as missing"
    if not derived.low:
        return ""
    low, high = datetime.fromisoformat(derived.low), datetime.fromisoformat(derived.high)
    if low <= moment <= high:
        return ""
    side = "before" if moment < low else "after"
    return f"lies {side} the training rows, which are from {_show_moment(low)} to {_show_moment(high)}"


def _show_moment(moment: datetime) -> str:
    return moment.isoformat(" ").removesuffix(" 00:00:00")


def _show(value: object) -> str:
    return escape_unprintable(str(value), 60)
