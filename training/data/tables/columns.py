"""Which column of a table is what: the roles that the settings give, and what is left to the columns themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from torch import Tensor

from training.config.rules.mask_layout import ROLES
from training.config.sections.data.tables import RankingDataset, TableDataset, TableSection
from training.core.readers.table_reading import encode_rows, rank_column, rows_by_part
from training.data.tables.dates import DateColumn
from training.data.tables.left_out import choose_columns, mostly_different
from training.data.tables.odd_cells import (
    MOST_WHOLE_CLASSES,
    are_amounts,
    explain_mixed,
    first_odd,
    has_decimal_commas,
    is_mistaken,
    is_mixed,
)
from training.data.tables.table_file import UNNAMED, Sort, require_columns, sort_of
from training.errors import InputError
from training.system.untrusted import escape_unprintable

_MOST_NAMED = 10
PARTS = {**ROLES, "dev": "validation"}
"""What a column calls the parts, lower case."""


@dataclass(frozen=True)
class Roles:
    """``features``, columns of the file, in the order in which the model gets them; ``categorical`` are those of them that are codes,
    ``dates`` those that become parts of their moments, ``hashed`` texts that become one of ``buckets`` codes. ``left_out`` says why of
    columns that are no features by themselves."""

    targets: tuple[str, ...]
    features: tuple[str, ...]
    categorical: tuple[str, ...]
    notes: tuple[str, ...]
    dates: tuple[DateColumn, ...] = ()
    hashed: tuple[str, ...] = ()
    buckets: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)


def find_roles(frame: pl.DataFrame, dataset: TableSection) -> Roles:
    """What ``dataset`` says, its gaps filled. Raises InputError, in one sentence, for columns that cannot play their role."""
    names = frame.columns
    for setting in ("targets", "features", "ignored", "categorical", "keep_columns"):
        require_columns(setting, getattr(dataset, setting), names)
    others = {"split_column": dataset.split_column}
    if isinstance(dataset, TableDataset):
        others |= {"group_column": dataset.group_column, "time_column": dataset.time_column}
    elif isinstance(dataset, RankingDataset):
        others["query_column"] = dataset.query_column
    for setting, name in others.items():
        require_columns(setting, [name] if name else [], names)
    taken = {name for name in others.values() if name}
    taken |= set(dataset.ignored)
    free = [name for name in names if name not in taken]
    if not dataset.targets and not free:
        raise InputError("dataset.targets: no column is left to predict; ignore fewer columns.")
    targets = dataset.targets or (_likely_target(frame, free),)
    notes = [] if dataset.targets else [predicts_last(targets[0], last=targets[0] == free[-1])]
    wanted = dataset.features or tuple(name for name in free if name not in targets and name != UNNAMED)
    if not dataset.features and UNNAMED in free and UNNAMED not in targets:
        notes.append("the first column has no name and is ignored")
    sorts = {name: sort_of(frame.get_column(name)) for name in wanted}
    texts = [frame.get_column(name) for name in wanted if sorts[name] == "string" and name not in dataset.categorical]
    _refuse_mistakes(texts, dataset)
    choice = choose_columns(frame, sorts, dataset)
    features = tuple(name for name in wanted if name not in choice.left_out)
    if not features:
        raise _explain_nothing_left(choice.left_out)
    sorts = {name: sorts[name] for name in features}
    plain = {name: sort for name, sort in sorts.items() if name not in choice.dates and name not in choice.hashed}
    notes += _note_mixed([column for column in texts if column.name in plain], dataset)
    _require_usable(frame, plain, dataset)
    coded = tuple(name for name, sort in plain.items() if name in dataset.categorical or sort in ("string", "bool"))
    notes += [note for found in choice.dates.values() for note in found.notes]
    notes += _notes_of(
        {f"is left out: it {why}; dataset.keep_columns keeps it": names for why, names in _by_reason(choice.left_out)}
        | {f"{why}; dataset.ignored leaves it out": names for why, names in _by_reason(choice.doubtful)}
        | {f"becomes one of {dataset.hash_buckets} codes, by the hash of its text": choice.hashed}
    )
    coarse = [name for name in (*targets, *features) if _is_coarse(frame.get_column(name))]
    notes += _notes_of(
        {"differs only in its last digits, which float32 rounds; subtract what all have in common": coarse}
    )
    return Roles(
        targets=targets,
        features=features,
        categorical=coded,
        notes=tuple(notes),
        dates=tuple(choice.dates.values()),
        hashed=tuple(choice.hashed),
        buckets=dataset.hash_buckets,
        left_out=choice.left_out,
    )


def _likely_target(frame: pl.DataFrame, free: list[str]) -> str:
    """The last column that can be predicted; else the last."""
    for name in reversed(free):
        column = frame.get_column(name)
        sort = sort_of(column)
        if sort in ("float", "int", "bool") or (sort == "string" and not mostly_different(column)):
            return name
    return free[-1]


def _explain_nothing_left(left_out: Mapping[str, str]) -> InputError:
    if not left_out:
        return InputError(
            "dataset.features: no column is left to predict from; choose another target, or ignore fewer columns."
        )
    said = "; ".join(f"column '{escape_unprintable(name, 60)}' {why}" for name, why in list(left_out.items())[:3])
    return InputError(
        f"dataset.features: no column is left to predict from: {said}.",
        "Choose another target, or name columns that are to be kept in dataset.keep_columns.",
    )


def _by_reason(columns: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Each reason with its columns."""
    for why in dict.fromkeys(columns.values()):
        yield why, [name for name, reason in columns.items() if reason == why]


def predicts_last(target: str, last: bool = True) -> str:
    """What to say where nobody chose the target; ``last``: it is the table's last column, and not only the last that can be one."""
    shown = f"the last column, '{escape_unprintable(target, 60)}'"
    if not last:
        shown = f"'{escape_unprintable(target, 60)}', the last column that can be predicted"
    return f"predicts {shown}; dataset.targets chooses another"


def _refuse_mistakes(texts: Sequence[pl.Series], dataset: TableSection) -> None:
    """Raise InputError for columns of numbers and other text that are mistakes."""
    if not texts:
        return
    commas = has_decimal_commas(dataset)
    mistaken = [column for column in texts if is_mistaken(column, commas, mostly_different(column))]
    if mistaken:
        raise explain_mixed(mistaken, dataset, commas)


def _note_mixed(texts: Sequence[pl.Series], dataset: TableSection) -> list[str]:
    """What to say of columns of numbers and other text that are categories."""
    notes = []
    commas = bool(texts) and has_decimal_commas(dataset)
    for column in texts:
        if is_mixed(column, commas):
            row, text = first_odd(column, commas)
            notes.append(
                f"column '{escape_unprintable(column.name, 60)}' is a category: '{escape_unprintable(text, 60)}' in row {row + 1:,} is no number"
            )
    return notes


def _require_usable(frame: pl.DataFrame, sorts: dict[str, Sort], dataset: TableSection) -> None:
    """All features that are none, in one sentence: they are left out together."""
    faults: dict[str, str] = {}
    for name, sort in sorts.items():
        column = frame.get_column(name)
        if sort == "empty":
            faults[name] = "is empty"
        elif sort == "other":
            faults[name] = "holds neither numbers nor text"
        elif name in dataset.categorical and sort == "float":
            faults[name] = "holds fractions, which are no categories"
        elif sort == "date" and name not in dataset.categorical:
            faults[name] = "holds dates or times in no form that can be read, or always the same"
        elif sort == "float" and (row := _first_infinite(column)) is not None:
            faults[name] = f"holds {_size(column, row)} in row {row + 1:,}"
    if faults:
        said = "; ".join(f"column '{escape_unprintable(name, 60)}' {fault}" for name, fault in list(faults.items())[:5])
        more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise InputError(
            f"dataset.features: {said}{more}.",
            "Name columns that are not needed in dataset.ignored.",
            {"dataset.ignored": [*dataset.ignored, *faults]} if not dataset.features else {},
        )


def _notes_of(said: Mapping[str, list[str]]) -> list[str]:
    """What is said of columns, a note for each of the first that it is said of."""
    notes = []
    for words, names in said.items():
        notes += [f"column '{escape_unprintable(name, 60)}' {words}" for name in names[:_MOST_NAMED]]
        if len(names) > _MOST_NAMED:
            notes.append(f"and so of {len(names) - _MOST_NAMED:,} more columns: each {words}")
    return notes


def _is_coarse(column: pl.Series) -> bool:
    """Whether numbers lie so close together, far from 0, that float32 tells fewer than about 1,600 of them apart."""
    if sort_of(column) not in ("float", "int"):
        return False
    low, high = float(column.min()), float(column.max())  # type: ignore[arg-type]
    return low < high and high - low < 1e-4 * max(abs(low), abs(high))


def _first_infinite(column: pl.Series) -> int | None:
    """The first row (from 0) whose number is infinite in float32, in which all are trained on; None where none is."""
    rounded = column.cast(pl.Float32)
    if all(math.isfinite(float(end)) for end in (rounded.min(), rounded.max()) if end is not None):  # type: ignore[arg-type]
        return None  # far quicker than to look at each
    infinite = rounded.is_infinite().fill_null(value=False)
    return int(infinite.arg_true()[0]) if infinite.any() else None


def _size(column: pl.Series, row: int) -> str:
    number = float(column[row])
    return f"the number {number:g}, which is too large," if math.isfinite(number) else "an infinite number"


def number_rows(frame: pl.DataFrame, names: Sequence[str]) -> Tensor:
    """float32 (rows, names) of columns of numbers."""
    return encode_rows(frame.select(names).cast(pl.Float64), dict.fromkeys(names))


def dense_codes(column: pl.Series) -> tuple[Tensor, tuple[str, ...]]:
    """int64 (N,) codes, 0 where a value is missing and else its place, from 1, among the sorted values; and these."""
    known = column.drop_nulls().unique().sort()
    return rank_column(column), tuple(_as_text(value) for value in known.to_list())


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)  # whole: two that differ late are two, and an exported model looks rows up by it


def target_kind(
    frame: pl.DataFrame, targets: tuple[str, ...], asked: str, rows: NDArray[np.int64] | None = None
) -> Literal["class", "labels", "values"]:
    """What ``targets`` are, or are to be; raises InputError when they cannot be that. ``rows`` as in ``require_numbers``."""
    columns = [frame.get_column(name) for name in targets]
    sorts = [sort_of(column) for column in columns]
    for name, sort in zip(targets, sorts, strict=True):
        if sort in ("date", "empty", "other"):
            what = {"date": "holds dates or times", "empty": "is empty"}.get(sort, "holds neither numbers nor text")
            raise _unfit("targets", name, f"{what}; choose another column to predict.")
    if asked != "class":
        _require_unmixed([column for column, sort in zip(columns, sorts, strict=True) if sort == "string"], asked, rows)
    twofold = all(_is_twofold(column, sort) for column, sort in zip(columns, sorts, strict=True))
    if asked == "auto":
        if len(targets) > 1:
            asked = "labels" if twofold else "values"
        else:
            few = sorts[0] == "int" and int(columns[0].drop_nulls().n_unique()) <= MOST_WHOLE_CLASSES
            asked = "class" if few or sorts[0] in ("string", "bool") else "values"
    if asked == "class":
        if len(targets) > 1:
            raise InputError(
                "dataset.targets: a class is one column; name one, or set dataset.task to labels.",
                fix={"dataset.task": "labels"},
            )
        if sorts[0] == "float":
            why = "holds fractions, which are no classes; set dataset.task to values."
            raise _unfit("targets", targets[0], why, {"dataset.task": "values"})
        if sorts[0] == "string" and mostly_different(columns[0]):
            raise _unfit("targets", targets[0], "has another text in most rows; choose a column of classes or numbers.")
        return "class"
    if asked == "labels":
        if not twofold:
            name = next(n for n, c, s in zip(targets, columns, sorts, strict=True) if not _is_twofold(c, s))
            why = "holds more than 0 and 1, so it is no label; leave it out, or set dataset.task to values."
            raise _unfit("targets", name, why, {"dataset.task": "values"})
        return "labels"
    require_numbers(frame, targets, rows)
    return "values"


def _require_unmixed(columns: list[pl.Series], asked: str, rows: NDArray[np.int64] | None) -> None:
    """Raise InputError for a target of numbers and other text, unless it may be one of classes."""
    for column in columns:
        if not is_mixed(column, decimal_comma=True) or (
            asked == "auto" and not are_amounts(column, decimal_comma=True)
        ):
            continue
        row, text = first_odd(column, decimal_comma=True)
        number = row if rows is None else int(rows[row])
        way = ", or set dataset.task to class" if asked == "auto" else ""
        why = f"holds numbers, but '{escape_unprintable(text, 60)}' in row {number + 1:,}; mend that row{way}."
        raise _unfit("targets", column.name, why)


def require_numbers(frame: pl.DataFrame, targets: tuple[str, ...], rows: NDArray[np.int64] | None = None) -> None:
    """Raise InputError for a target that is no number. ``rows`` are the file's (from 0) that ``frame`` has; None: all."""
    for name in targets:
        column = frame.get_column(name)
        if sort_of(column) == "string":
            raise _unfit("targets", name, "holds text, which is no number to predict; choose another.")
        if sort_of(column) == "float" and (row := _first_infinite(column)) is not None:
            number = row if rows is None else int(rows[row])
            raise _unfit("targets", name, f"holds {_size(column, row)} in row {number + 1:,}; mend that row.")


def _unfit(setting: str, name: str, why: str, fix: dict[str, str] | None = None) -> InputError:
    """What to raise for a column that cannot be what ``setting`` says."""
    return InputError(f"dataset.{setting}: column '{escape_unprintable(name, 60)}' {why}", fix=fix)


def _is_twofold(column: pl.Series, sort: Sort) -> bool:
    if sort not in ("float", "int"):
        return sort == "bool"
    return bool(((column == 0) | (column == 1)).drop_nulls().all())


def read_parts(column: pl.Series) -> dict[str, Tensor]:
    """The parts that a column of train, validation and test gives; raises InputError for other words."""
    words = column.cast(pl.String).str.to_lowercase().fill_null("").to_list()
    foreign = sorted({word for word in words if word not in PARTS})
    if foreign:
        what = f"'{escape_unprintable(foreign[0], 60)}'" if foreign[0] else "nothing in some rows"
        raise _unfit("split_column", column.name, f"says {what}; write train, validation or test there.")
    parts = rows_by_part(column, PARTS)
    if "train" not in parts:
        raise _unfit("split_column", column.name, "gives no row to train on.")
    return parts
