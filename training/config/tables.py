"""``[dataset]`` of tables: which column is what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.dataset_section import PartsSection
from training.config.fields import Names, Section, setting
from training.errors import Problem
from training.facts import Target
from training.reading import visible

MISSING_MARKS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "?")

Column = Annotated[str, Field(min_length=1, max_length=1000)]


class TableSection(Section):
    """A table's file and the roles that any table's columns may have."""

    path: str = setting(
        title="File",
        help="A CSV file with a header row (separated by commas, semicolons or tabs), or a Parquet file.",
        path="file",
        min_length=1,
    )
    targets: Names = setting(
        (),
        title="Target",
        help="The column to predict. Several columns of numbers are predicted together.",
        placeholder="the last column",
        columns=True,
        mostly_one=True,
        strict=False,
        max_length=1000,
    )
    features: Names = setting(
        (),
        title="Features",
        help="The columns to predict it from, in this order.",
        placeholder="all others",
        columns=True,
        strict=False,
        max_length=100_000,
    )
    ignored: Names = setting(
        (),
        title="Leave out",
        help="Columns that the model must not see: numbers of rows, names, dates, what is known only afterwards.",
        placeholder="none",
        columns=True,
        strict=False,
        max_length=100_000,
    )
    categorical: Names = setting(
        (),
        title="Categories",
        help="Columns of whole numbers that are codes, not amounts. Columns of text are categories by themselves.",
        placeholder="columns of text",
        columns=True,
        strict=False,
        max_length=100_000,
    )
    split_column: Column | None = setting(
        None,
        title="Split by",
        help="A column that says train, validation or test for each row. Empty: rows are held back at random.",
        placeholder="none",
        columns=True,
        advanced=True,
    )
    missing_indicator: bool = setting(
        False,
        title="Mark gaps",
        help="One more feature for each column with missing numbers: whether the number is missing. The gap itself becomes the "
        "column's mean either way.",
        advanced=True,
    )
    missing_marks: Names = setting(
        MISSING_MARKS,
        title="Missing values",
        help="Texts that stand for a missing value in a CSV file, beside an empty cell.",
        placeholder="empty cells only",
        advanced=True,
        strict=False,
        max_length=100,
    )
    separator: Literal["auto", ",", ";", "tab", "|"] = setting(
        "auto", title="Separator", help="What stands between two values of a CSV file.", advanced=True
    )


class TableDataset(PartsSection, TableSection):
    """Rows of a table, one sample each."""

    layout = "vector"
    called = "rows of a table"
    suits = ("tabular",)

    kind: Literal["table"] = "table"
    task: Literal["auto", "values", "labels", "class"] = setting(
        "auto",
        title="Task",
        help="auto looks at the target: text and up to 20 different whole numbers are classes, other numbers are values, "
        "several columns of 0 and 1 are labels.",
    )
    group_column: Column | None = setting(
        None,
        title="Keep together",
        help="A column whose equal values never part: all rows of a person train, or all of them validate.",
        placeholder="none",
        columns=True,
        advanced=True,
    )

    @property
    def target(self) -> Target | None:
        return None if self.task == "auto" else self.task


class RankingDataset(PartsSection, TableSection):
    """Rows of a table that belong to queries: which of a query's rows suits it best."""

    layout = "list"
    called = "queries with their items"
    suits = ("tabular",)

    kind: Literal["ranking"] = "ranking"
    query_column: Column = setting(
        "query",
        title="Query",
        help="The column that says which rows are ranked against each other. A pair is a query of two rows.",
        columns=True,
    )
    max_items: int = setting(
        32,
        title="Items",
        help="The most rows of one query; of longer queries the first are taken, shorter ones are filled up and masked.",
        ge=2,
        le=10_000,
    )

    @property
    def target(self) -> Target | None:
        return "ranks"


def repeat_problems(field: str, names: Names) -> list[Problem]:
    """A column that stands in ``field`` more than once: the model would need two features or answers of one name."""
    once = tuple(dict.fromkeys(names))
    if len(once) == len(names):
        return []
    twice = next(name for place, name in enumerate(names) if name in names[:place])
    return [
        Problem(field, f"names the column '{visible(twice, 60)}' twice; take one of them out.", {field: list(once)})
    ]


def role_problems(dataset: TableSection) -> list[Problem]:
    """Columns that stand twice in one role, or in two that exclude each other; one sentence for each setting to change."""
    alone = {"split_column": dataset.split_column}
    if isinstance(dataset, TableDataset):
        alone["group_column"] = dataset.group_column
    elif isinstance(dataset, RankingDataset):
        alone["query_column"] = dataset.query_column
    roles = [
        ("targets", dataset.targets),
        ("features", dataset.features),
        *((role, (name,)) for role, name in alone.items() if name),
        ("ignored", dataset.ignored),
    ]
    seen: dict[str, str] = {}
    found = [
        *repeat_problems("dataset.targets", dataset.targets),
        *repeat_problems("dataset.features", dataset.features),
    ]
    for role, names in roles:
        both = [name for name in names if seen.get(name, role) != role]
        if both:
            found.append(
                Problem(
                    f"dataset.{role}",
                    f"'{both[0]}' stands in dataset.{seen[both[0]]}, too; take it out of one of them.",
                )
            )
        seen |= {name: role for name in names if name not in seen}
    return found
