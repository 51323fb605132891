"""CSV and Parquet files as columns of a few plain types."""

from __future__ import annotations

import csv
import difflib
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl

from training.config.sections.data.tables import TableSection
from training.core.readers.table_reading import plain_columns
from training.data.tables.table_text import (
    HEAD,
    Written,
    decode_file,
    find_number_style,
    find_written,
    is_number,
    show_path,
    unfit,
)
from training.errors import InputError, format_bytes
from training.facts import TableForm
from training.system.host_memory import host_memory
from training.system.untrusted import escape_unprintable

Sort = Literal["float", "int", "bool", "string", "date", "empty", "other"]

UNNAMED = "(row)"
"""What a first column without a name is called: the row numbers that other programs write beside a table."""

_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{2}\.\d{2}\.\d{2}"
    rf"|{_MONTH}[ -]\d{{1,2}},?[ -]\d{{2,4}}|\d{{1,2}}\.?[ -]{_MONTH},?[ -]\d{{2,4}}"
)
_DATE = rf"(?i)^(({_DAY})([ T,]+\d{{1,2}}:.*)?|{_TIME})$"
_READING = 2  # times the size of a CSV file that reading it takes, measured
_CELL = 8  # bytes: what a cell takes while the file is read, about


def read_table(path: Path, marks: Iterable[str], separator: str, rows: int | None = None) -> pl.DataFrame:
    """The table in ``path``, its first ``rows`` rows if that is given. ``marks`` stand for missing values, as empty cells do;
    ``separator`` is "auto" or as the settings say.

    Texts are stripped; columns of texts that are all numbers become numbers. Raises InputError, in one sentence, for what
    is no table.
    """
    return _read_file(path, tuple(marks), (separator, "auto", "auto", "auto"), rows)[0]


def read_section(dataset: TableSection, rows: int | None = None) -> tuple[pl.DataFrame, Written | None]:
    """``read_table`` as the settings say, and how the file is written; None of Parquet."""
    settings = (dataset.separator, dataset.encoding, dataset.decimal, dataset.thousands)
    return _read_file(Path(dataset.path), dataset.missing_marks, settings, rows)


def read_new_table(path: Path, dataset: TableSection, form: TableForm | None) -> pl.DataFrame:
    """The table in ``path`` for a model that was trained on ``dataset``: where its own cells do not tell how numbers are written, they
    are as in the ``form`` of the training data."""
    new = dataset.model_copy(update={"path": str(path)})
    frame, written = read_section(new)
    if written is None or written.commas or written.as_texts or form is None or form.decimal != ",":
        return frame
    return read_section(new.model_copy(update={"decimal": ","}))[0]


def _read_file(
    path: Path, marks: tuple[str, ...], settings: tuple[str, str, str, str], rows: int | None
) -> tuple[pl.DataFrame, Written | None]:
    shown = show_path(path)
    written = None
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise unfit(shown, f"cannot be read ({error.strerror or error}); choose another file.") from None
    if head[:4] == b"PAR1":
        frame = _read_parquet(path, shown, rows)
    else:
        frame, written = _read_csv(path, shown, head, marks, settings, rows)
    if not frame.height:
        raise unfit(shown, "has no rows; choose a file with samples in it.")
    return frame, written


def how_written(dataset: TableSection) -> Written | None:
    """How a CSV file is written, but for what groups thousands, which only reading tells; None for Parquet."""
    path = Path(dataset.path)
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head[:4] == b"PAR1":
        return None
    return find_written(path, show_path(path), head, dataset.separator, dataset.encoding, dataset.decimal)[0]


def find_schema(dataset: TableSection, written: Written | None) -> pl.Schema:
    """The names and types that polars itself finds in a file that is so ``written``."""
    path = Path(dataset.path)
    scan = pl.scan_parquet(path, glob=False) if written is None else _scan_csv(path, written, dataset.missing_marks)
    return scan.collect_schema()


def sort_of(column: pl.Series) -> Sort:
    """What a column of ``read_table`` holds."""
    kind = column.dtype
    if column.null_count() == len(column):
        return "empty"
    if kind == pl.Boolean:
        return "bool"
    if kind.is_integer():
        return "int"
    if kind.is_numeric():
        return "float"
    if kind.is_temporal():
        return "date"
    if kind != pl.String:
        return "other"
    return "date" if looks_like_dates(column).all() else "string"


def looks_like_dates(texts: pl.Series) -> pl.Series:
    """Which of ``texts`` are written as dates or times are; none of the gaps."""
    return texts.str.contains(_DATE)


def require_columns(setting: str, names: Iterable[str], known: list[str]) -> None:
    """Raise InputError for a name that no column has."""
    there = frozenset(known)
    for name in names:
        if name not in there:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            few = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            hint = f"did you mean '{near[0]}'?" if near else f"its columns are {few}."
            raise InputError(f"dataset.{setting}: the table has no column '{escape_unprintable(name, 60)}'; {hint}")


def _read_parquet(path: Path, shown: str, rows: int | None) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(path, glob=False)
        schema = scan.collect_schema()
        count = int(scan.select(pl.len()).collect().item())
        _require_room(shown, min(count, rows or count) * len(schema) * _CELL)
        frame = _collect(scan, rows)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unfit(shown, f"cannot be read as Parquet ({_first_line(error)}); write it again.") from None
    return plain_columns(frame, ())


def _read_csv(
    path: Path, shown: str, head: bytes, marks: tuple[str, ...], settings: tuple[str, str, str, str], rows: int | None
) -> tuple[pl.DataFrame, Written]:
    separator, encoding, decimal, thousands = settings
    written, start = find_written(path, shown, head, separator, encoding, decimal)
    if "\r" in start and "\n" not in start:
        raise unfit(shown, "ends its lines with carriage returns alone; save it with usual line ends.")
    names = _header(shown, start, written.separator)
    copies = _READING if written.encoding == "utf-8" else 2 * _READING
    _require_room(shown, copies * path.stat().st_size if rows is None else 0)
    try:
        frame = _collect(_scan_csv(path, written, marks, rows), rows)
    except (pl.exceptions.PolarsError, OSError) as error:
        _require_even_rows(path, shown, names, written)
        raise unfit(shown, f"cannot be read as CSV ({_first_line(error)}); write it again.") from None
    if rows is None and frame.width and frame.get_column(frame.columns[-1]).null_count():
        _require_even_rows(path, shown, names, written)  # short rows look like rows with missing values
    if frame.width != len(names):
        raise InputError(
            f"dataset.path: the first row of {shown} cannot be told apart into names (read as {len(names)} or as "
            f"{frame.width}); write one name a column."
        )
    frame.columns = names
    _require_no_zero_bytes(frame, shown)
    style = find_number_style(frame, marks, written, thousands, decimal)
    if style is None:
        return plain_columns(frame, marks), written
    return plain_columns(frame, marks, *style), replace(written, thousands=style[0], decimal=style[1], as_texts=True)


def _scan_csv(path: Path, written: Written, marks: Iterable[str], rows: int | None = None) -> pl.LazyFrame:
    return pl.scan_csv(
        path if written.encoding == "utf-8" else decode_file(path, show_path(path), written.encoding),
        separator=written.separator,
        infer_schema_length=rows,  # None: all rows, else a number with a comma in row 101 would be an error
        null_values=list(marks),
        decimal_comma=written.commas,
        glob=False,
    )


def _require_no_zero_bytes(frame: pl.DataFrame, shown: str) -> None:
    """Raise InputError naming the first cell with one: a file that was cut off or damaged, whose start looked like text."""
    for column in frame.select(pl.col(pl.String)).iter_columns():
        harmed = column.str.contains("\0", literal=True).fill_null(value=False)
        if harmed.any():
            row = int(harmed.arg_true()[0]) + 1
            why = f"is damaged: column '{escape_unprintable(column.name, 60)}' holds a zero byte in row {row:,}; write the file again."
            raise unfit(shown, why)


def _collect(scan: pl.LazyFrame, rows: int | None) -> pl.DataFrame:
    return (scan if rows is None else scan.head(rows)).collect(engine="streaming")


def _header(shown: str, start: str, separator: str) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(start, newline=""), delimiter=separator), [])]
    except csv.Error as error:
        raise InputError(
            f"dataset.path: the first row of {shown} is no header ({error}); write one name a column."
        ) from None
    if names and all(is_number(name) for name in names):
        raise InputError(
            f"dataset.path: the first row of {shown} holds numbers only; put a row of column names above it."
        )
    empty = [number for number, name in enumerate(names, 1) if not name]
    if empty == [1]:
        names[0] = UNNAMED
    elif empty:
        raise InputError(f"dataset.path: column {empty[0]} of {shown} has no name; write one into the first row.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise unfit(shown, f"has two columns '{escape_unprintable(twice[0], 60)}'; rename one of them.")
    return names


def _require_even_rows(path: Path, shown: str, names: list[str], written: Written) -> None:
    """Raise InputError naming the first line that has more or fewer values than the header has names."""
    encoding = "utf-8-sig" if written.encoding == "utf-8" else written.encoding
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=written.separator)
        try:
            for row in reader:
                if row and len(row) != len(names):
                    raise InputError(
                        f"dataset.path: line {reader.line_num:,} of {shown} has {len(row)} values, but the header names "
                        f"{len(names)} columns; mend that line, or choose another separator."
                    )
        except csv.Error as error:
            raise InputError(
                f"dataset.path: line {reader.line_num:,} of {shown} is no CSV ({error}); mend it."
            ) from None


def _require_room(shown: str, size: int) -> None:
    available = host_memory().available
    if size > available:
        why = f"needs about {format_bytes(size)} of memory, but {format_bytes(available)} are free; take fewer rows or columns."
        raise unfit(shown, why)


def _first_line(error: Exception) -> str:
    return escape_unprintable(str(error).partition("\n")[0], 150)
