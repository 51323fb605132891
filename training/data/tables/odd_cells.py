"""Columns of numbers in which some cells hold other text: refused by name, wherever the cell stands, since it would make
categories of all the others."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pydantic import JsonValue

from training.config.sections.data.tables import TableSection
from training.data.tables.table_file import how_written
from training.errors import InputError
from training.system.untrusted import escape_unprintable

MOST_WHOLE_CLASSES = 20
"""Whole numbers of more different values are amounts, unless the settings say otherwise."""
_FEW = 0.05
"""Up to this share of a column's cells, other text is rather a mistake than a category."""
_MOST_MARKS = 5


def are_numbers(texts: pl.Series, decimal_comma: bool) -> pl.Series:
    """Which of ``texts`` a column of numbers could hold; none of the gaps."""
    plain = texts.str.replace(",", ".", literal=True) if decimal_comma else texts
    return plain.cast(pl.Float64, strict=False).is_not_null()


def has_decimal_commas(dataset: TableSection) -> bool:
    written = how_written(dataset)
    return written is not None and written.commas


def is_mistaken(column: pl.Series, decimal_comma: bool, names_rows: bool = False) -> bool:
    """Whether a column of text is one of numbers with mistakes: most cells are numbers, and the others are few, or the numbers
    amounts. ``names_rows``: it has another text in most rows, so only few others are mistakes."""
    if not is_mixed(column, decimal_comma):
        return False
    present = column.drop_nulls()
    few = int((~are_numbers(present, decimal_comma)).sum()) <= _FEW * len(present)
    return few or (not names_rows and are_amounts(present, decimal_comma))


def is_mixed(column: pl.Series, decimal_comma: bool) -> bool:
    """Whether at least half of the cells of a column of text are numbers, but not all."""
    present = len(column) - column.null_count()
    numbers = int(are_numbers(column, decimal_comma).sum())
    return numbers < present <= 2 * numbers


def are_amounts(texts: pl.Series, decimal_comma: bool) -> bool:
    """Whether those of ``texts`` that are numbers have fractions, or many values."""
    plain = texts.str.replace(",", ".", literal=True) if decimal_comma else texts
    numbers = plain.cast(pl.Float64, strict=False).drop_nulls()
    return bool((numbers != numbers.floor()).any()) or int(numbers.n_unique()) > MOST_WHOLE_CLASSES


def first_odd(column: pl.Series, decimal_comma: bool) -> tuple[int, str]:
    """The row (from 0) and the text of the first cell that is no number."""
    row = int((~are_numbers(column, decimal_comma) & column.is_not_null()).arg_true()[0])
    return row, str(column[row])


def explain_mixed(columns: Sequence[pl.Series], dataset: TableSection, decimal_comma: bool) -> InputError:
    """What there is to say of ``columns``, all of which are mistaken."""
    row, text = first_odd(columns[0], decimal_comma)
    odd = [text for column in columns for text in _odd_texts(column, decimal_comma)]
    more = f" (and {len(columns) - 1} more such columns)" if len(columns) > 1 else ""
    return refusal(f"in row {row + 1:,}", text, [column.name for column in columns], odd, dataset, more)


def refusal(
    where: str, text: str, names: Sequence[str], odd: Sequence[str], dataset: TableSection, more: str = ""
) -> InputError:
    """The sentence about ``text``, which stands in the first of the columns ``names`` and ``where``; ``odd`` are all such."""
    name, shown = escape_unprintable(names[0], 60), escape_unprintable(text, 60)
    ways = ["correct the cell"]
    fix: dict[str, JsonValue] = {}
    if how_written(dataset) is not None:  # Parquet has gaps of its own
        ways.append(f"list '{shown}' in dataset.missing_marks")
        if len(odd) <= _MOST_MARKS and all(len(each) <= 1000 for each in odd):
            fix = {"dataset.missing_marks": list(dict.fromkeys([*dataset.missing_marks, *odd]))}
    if names[0] not in dataset.categorical:
        ways.append(f"name '{name}' in dataset.categorical")
        fix = fix or {"dataset.categorical": [*dataset.categorical, *names]}
    said = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return InputError(f"dataset.features: column '{name}' holds numbers, but '{shown}' {where}{more}; {said}.", fix=fix)


def _odd_texts(column: pl.Series, decimal_comma: bool) -> list[str]:
    texts = column.drop_nulls().unique(maintain_order=True)
    return [str(text) for text in texts.filter(~are_numbers(texts, decimal_comma)).to_list()]
