"""Columns that no feature is made of, unless the settings ask for them: they tell nothing of new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from training.config.sections.data.tables import TableSection
from training.data.tables.dates import LEAST_READ, DateColumn, read_date_column
from training.data.tables.table_file import Sort, looks_like_dates

_MANY_TEXTS = 100
_FEW_ROWS = 10
"""Of fewer rows nothing is said: there it is chance."""


@dataclass
class Choice:
    """What becomes of the columns that might be features: ``left_out`` says why, by name. ``doubtful`` are features that tell little,
    with what there is to say of them."""

    left_out: dict[str, str] = field(default_factory=dict)
    dates: dict[str, DateColumn] = field(default_factory=dict)
    hashed: list[str] = field(default_factory=list)
    doubtful: dict[str, str] = field(default_factory=dict)


def choose_columns(frame: pl.DataFrame, sorts: Mapping[str, Sort], dataset: TableSection) -> Choice:
    """What becomes of each of the columns ``sorts``. Those that ``dataset.features`` names are never left out."""
    choice = Choice()
    for name, sort in sorts.items():
        column = frame.get_column(name)
        named = name in dataset.categorical
        names_rows = sort == "string" and not named and mostly_different(column)
        found = None
        dated = sort == "date" and column.dtype != pl.Duration
        if not named and (dated or names_rows or (sort == "string" and _has_dates(column, dataset))):
            found = read_date_column(column, dataset.day_first, frame.columns)
        if found is not None and found.parts:
            choice.dates[name] = found
        elif sort == "date" and not named:
            choice.left_out[name] = _NO_FORM if found is None else _SAME_TIME
        elif names_rows and dataset.high_cardinality == "hash" and not _differs(column):
            choice.hashed.append(name)
        elif sort in ("empty", "other"):
            choice.left_out[name] = "is empty" if sort == "empty" else "holds neither numbers nor text"
        elif names_rows and not _differs(column):
            choice.left_out[name] = "has another text in most rows"
        else:
            _judge(choice, column, sort, dataset)
    asked = dataset.features or dataset.keep_columns
    if len(choice.left_out) == len(sorts) and not asked:
        asked = tuple(name for name in sorts if sorts[name] == "int")  # better than none
    _take_back(choice, frame, asked, dataset)
    return choice


_NO_FORM = "holds dates or times in no form that can be read"
_SAME_TIME = "has the same year, month, weekday and hour in every row"


def _judge(choice: Choice, column: pl.Series, sort: Sort, dataset: TableSection) -> None:
    """Leave a column out that tells nothing of one row that it does not tell of all, or names or numbers each row."""
    if len(column) < _FEW_ROWS or column.null_count():
        return
    unusable = False
    sure = dataset.uninformative == "leave_out"
    if sort == "int" and _numbers_rows(column):
        why = "numbers the rows"
        sure = sure and column[0] in (0, 1)  # else years, or a part of a longer table
    elif sort == "int" and (why := _names_rows(column)):
        sure = sure and why != _IN_ORDER
    elif sort != "other" and column.min() == column.max():
        why = "holds the same in every row"
    elif sort == "string" and _differs(column):
        why, unusable = "has another text in every row", mostly_different(column)
    else:
        return
    if (sure or unusable) and column.name not in dataset.categorical:
        choice.left_out[column.name] = why
    else:
        choice.doubtful[column.name] = why


def _take_back(choice: Choice, frame: pl.DataFrame, asked: Sequence[str], dataset: TableSection) -> None:
    """The columns ``asked`` are features all the same: texts are hashed, or else categories of their own."""
    for name in [name for name in choice.left_out if name in asked]:
        why = choice.left_out.pop(name)
        if dataset.high_cardinality == "hash" and mostly_different(frame.get_column(name)):
            choice.hashed.append(name)
        else:
            choice.doubtful[name] = why


def mostly_different(column: pl.Series) -> bool:
    """Whether a text is rather a name than a category."""
    present = len(column) - column.null_count()
    return present > _MANY_TEXTS and int(column.n_unique()) > max(_MANY_TEXTS, present // 2)


def _has_dates(texts: pl.Series, dataset: TableSection) -> bool:
    """Whether nearly all of ``texts`` are dates; runs of earlier versions took columns with one other text for categories."""
    dates, present = int(looks_like_dates(texts).sum()), len(texts) - texts.null_count()
    return dataset.uninformative == "leave_out" and dates >= LEAST_READ * present


def _differs(column: pl.Series) -> bool:
    """Whether each cell holds another text."""
    return not column.null_count() and int(column.n_unique()) == len(column)


def _numbers_rows(column: pl.Series) -> bool:
    """The ends tell of nearly all columns that do not."""
    return int(column[-1]) - int(column[0]) == len(column) - 1 and bool((column.diff().drop_nulls() == 1).all())


_IN_ORDER = "has another whole number in each row, as close together as numbers of rows"
_BY_CHANCE = 28
"""Of n amounts drawn from r whole numbers none are alike with a chance of at most exp(-n (n - 1) / 2r): 1 in a million at n² = 28 r."""


def _names_rows(column: pl.Series) -> str:
    """Why whole numbers are names of the rows and no amounts: they are called so, or not two are alike where amounts would be; "" of others.
    Those that rise or fall may be times, and those as far from each other as the next ranks, or the levels of an experiment."""
    count, different = len(column), int(column.n_unique())
    if different >= _DIFFERENT * count and is_called_id(column.name):
        return "is called an id, and has another whole number in nearly each row"
    spread = int(column.max()) - int(column.min()) + 1  # type: ignore[arg-type]
    if different < count or count < _MANY_TEXTS or count * count <= _BY_CHANCE * spread:
        return ""
    ordered = column.is_sorted() or column.is_sorted(descending=True)
    if ordered or column.sort().diff().drop_nulls().n_unique() == 1:
        return _IN_ORDER
    return "has another whole number in each row, where amounts would repeat"


_DIFFERENT = 0.99


def is_called_id(name: str) -> bool:
    """Whether a column's name says that it names the rows: "id", "customer_id", "PassengerId"."""
    ends = name.endswith(("_id", "_ID", "-id", " id", " ID", "Id"))
    return name.lower() == "id" or ends or (name.endswith("ID") and name[-3:-2].islower())
