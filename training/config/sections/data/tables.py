"""``[dataset]`` of tables: which column is what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Columns, File, Names, Section, advanced, setting
from training.config.sections.data.classes import Classes
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.data.text import Encoding
from training.errors import Problem
from training.system.untrusted import escape_unprintable

MISSING_MARKS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "?", "-")

Column = Annotated[str, Field(min_length=1, max_length=1000)]

Task = Annotated[
    Literal["auto", "class", "labels", "values"],
    setting(
        title="Task",
        help="Auto looks at the target: text and up to 20 different whole numbers are classes, other numbers are values, "
        "several columns of 0 and 1 are labels.",
    ),
]
ColumnTask = Annotated[
    Literal["auto", "class", "labels", "values", "tasks"],
    setting(
        title="Task",
        help="Auto looks at the target: text and up to 20 different whole numbers are classes, other numbers are values, "
        "several columns of 0 and 1 are labels. Multi-task: each of several columns is classes or values by itself.",
    ),
]
NumericTargets = Annotated[
    Columns,
    advanced(
        title="Numeric targets",
        help="Multi-task: target columns of few whole numbers that are amounts all the same, and no classes.",
        placeholder="none",
        columns=True,
    ),
]
SplitColumn = Annotated[
    Column | None,
    advanced(
        title="Split column",
        help="A column that says train, validation or test for each row. Empty: rows are held out at random.",
        also="split by",
        placeholder="none",
        columns=True,
    ),
]
GroupColumn = Annotated[
    Column | None,
    advanced(
        title="Group column",
        help="A column whose equal values never part (GroupKFold: groups): all rows of a person train, or all of them validate.",
        also="keep together",
        placeholder="none",
        columns=True,
    ),
]

TimeColumn = Annotated[
    Column | None,
    advanced(
        title="Time column",
        help="A column of dates, times or numbers that rise with time: the newest rows are held out (as TimeSeriesSplit does), none at "
        "random, and rows of one moment stay together. The test set, where one is held out, is the newest. Not an input of the model.",
        also="temporal split date order chronological",
        placeholder="none",
        columns=True,
    ),
]
TIME_EXCLUDES = ("split_column", "group_column")
"""Settings beside which rows cannot be held out by time."""


class TableSection(Section):
    """A table's file and the roles that any table's columns may have."""

    path: File = setting(
        title="Table file",
        help="A CSV file with a header row (separated by commas, semicolons, tabs or bars), or a Parquet file.",
    )
    targets: Columns = setting(
        (),
        "Target",
        "The column to predict. Several columns of numbers are predicted together.",
        also="label y",
        placeholder="the last column",
        mostly_one=True,
        max_length=1000,
    )
    features: Columns = setting(
        (), "Features", "The columns to predict it from, in this order.", also="inputs X", placeholder="all others"
    )
    ignored: Columns = setting(
        (),
        "Ignored columns",
        "Columns that the model must not see, such as what is known only afterwards.",
        also="leave out drop",
        placeholder="none",
    )
    categorical: Columns = setting(
        (),
        "Categorical columns",
        "Columns of whole numbers that are codes, not amounts. Columns of text are categorical by themselves.",
        also="categories categorical_features",
        placeholder="columns of text",
    )
    split_column: SplitColumn = None
    uninformative: Literal["leave_out", "keep"] = advanced(
        "leave_out",
        "Uninformative columns",
        "Columns that number or name the rows, have another text in each of them or are all the same tell nothing of new rows. Where "
        "dataset.features names columns, those are taken as they are.",
        also="identifiers constant id",
    )
    high_cardinality: Literal["leave_out", "hash"] = advanced(
        "leave_out",
        "High-cardinality text",
        "Text columns of more than 100 values, with another one in most rows. Hash: each text becomes one of a few codes by its "
        "CRC-32 (the hashing trick), so that texts never seen before have one, too.",
        also="many categories",
    )
    hash_buckets: int = advanced(
        64,
        "Hash buckets",
        "Codes that the texts of a hashed column share (FeatureHasher: n_features).",
        ge=2,
        le=100_000,
    )
    keep_columns: Columns = advanced(
        (),
        "Kept columns",
        "Columns that would be left out by themselves, because they name each row or tell nothing, and are to be features "
        "all the same.",
        also="overrule identifiers",
        placeholder="none",
    )
    day_first: bool = advanced(
        False,
        "Day first",
        "Whether 03/04/2024 is April 3 (read_csv: dayfirst), in columns where every date may be read both ways.",
        also="dates format",
    )
    missing_indicator: bool = advanced(
        False,
        "Missing-value indicators",
        "One more feature for each column with missing numbers: whether the number is missing (SimpleImputer: add_indicator). "
        "The gap itself becomes the column's mean either way.",
        also="mark gaps",
    )
    missing_marks: Names = advanced(
        MISSING_MARKS,
        "NA markers",
        "Texts that stand for a missing value in a CSV file, beside an empty cell (read_csv: na_values).",
        also="missing values",
        placeholder="empty cells only",
        strict=False,
        max_length=100,
    )
    separator: Literal["auto", ",", ";", "tab", "|"] = advanced(
        "auto", "Separator", "What stands between two values of a CSV file (read_csv: sep).", also="delimiter"
    )
    encoding: Literal["auto", Encoding] = advanced(
        "auto",
        "Encoding",
        "Character encoding of a CSV file. Auto: UTF-8, UTF-16 with or without a byte order mark, else Windows-1252 (cp1252).",
        also="latin utf charset",
    )
    decimal: Literal["auto", ".", ","] = advanced(
        "auto",
        "Decimal separator",
        "Whether numbers are written 1.5 or 1,5 in a CSV file (read_csv: decimal). Auto looks at the cells.",
        also="comma point",
    )
    thousands: Literal["auto", "none", ",", ".", "space", "'"] = advanced(
        "auto",
        "Thousands separator",
        "What groups the digits of 1,234,567 in a CSV file (read_csv: thousands). Auto looks at the cells.",
        also="grouping",
    )


class TableDataset(PartsSection, TableSection):
    """Rows of a CSV or Parquet file: classes, labels or numbers are predicted from the other columns."""

    layout = "vector"
    called = "rows of a table"
    suits = ("tabular",)

    kind: Literal["table"] = "table"
    task: ColumnTask = "auto"
    classes: Classes = ()
    numeric_targets: NumericTargets = ()
    group_column: GroupColumn = None
    time_column: TimeColumn = None


class RankingDataset(PartsSection, TableSection):
    """Rows of a CSV or Parquet file that belong to queries, to be ranked within each."""

    layout = "list"
    called = "queries with their items"
    suits = ("tabular",)
    teaches = "ranks"

    kind: Literal["ranking"] = "ranking"
    query_column: Column = setting(
        "query", "Query column", "Which rows are ranked against each other (qid); a pair is two rows.", columns=True
    )
    max_items: int = setting(
        32, "Items per query", "The most rows of a query: longer ones are cut, shorter ones masked.", ge=2, le=10_000
    )


def repeat_problems(field: str, names: Names) -> Iterator[Problem]:
    """A column that stands in ``field`` more than once: the model would need two features or answers of one name."""
    once = tuple(dict.fromkeys(names))
    if len(once) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        what = f"names the column '{escape_unprintable(twice, 60)}' twice; take one of them out."
        yield Problem(field, what, {field: list(once)})


def role_problems(dataset: TableSection) -> Iterator[Problem]:
    """Columns that stand twice in one role, or in two that exclude each other; one sentence for each setting to change."""
    yield from repeat_problems("dataset.targets", dataset.targets)
    yield from repeat_problems("dataset.features", dataset.features)
    alone = {
        role: getattr(dataset, role, None) for role in ("split_column", "group_column", "query_column", "time_column")
    }
    roles = [
        ("targets", dataset.targets),
        ("features", dataset.features),
        *((role, (name,)) for role, name in alone.items() if name),
        ("ignored", dataset.ignored),
    ]
    seen: dict[str, str] = {}
    for role, names in roles:
        both = [name for name in names if seen.get(name, role) != role]
        if both:
            what = f"'{both[0]}' stands in dataset.{seen[both[0]]}, too; take it out of one of them."
            yield Problem(f"dataset.{role}", what)
        seen |= {name: role for name in names if name not in seen}
