"""CSV and Parquet files as columns of a few plain types."""

from __future__ import annotations

import csv
import difflib
import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import polars as pl

from training.core.readers.table_reading import plain_columns
from training.errors import InputError, format_bytes
from training.system.host_memory import host_memory
from training.system.untrusted import escape_unprintable

Sort = Literal["float", "int", "bool", "string", "date", "empty", "other"]

UNNAMED = "(row)"
"""What a first column without a name is called: the row numbers that other programs write beside a table."""

_HEAD = 1 << 20
_SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{2}\.\d{2}\.\d{2}"
    rf"|{_MONTH}[ -]\d{{1,2}},?[ -]\d{{2,4}}|\d{{1,2}}\.?[ -]{_MONTH},?[ -]\d{{2,4}}"
)
_DATE = rf"(?i)^(({_DAY})([ T,]+\d{{1,2}}:.*)?|{_TIME})$"
_NOT_UTF8 = "is no text in UTF-8; save it as CSV in UTF-8."
_READING = 2  # times the size of a CSV file that reading it takes, measured
_CELL = 8  # bytes: what a cell takes while the file is read, about


def read_table(path: Path, marks: Iterable[str], separator: str, rows: int | None = None) -> pl.DataFrame:
    """The table in ``path``, its first ``rows`` rows if that is given. ``marks`` stand for missing values, as empty cells do;
    ``separator`` is "auto" or as the settings say.

    Texts are stripped; columns of texts that are all numbers become numbers. Raises InputError, in one sentence, for what
    is no table.
    """
    shown = escape_unprintable(str(path), 300)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise _unfit(shown, f"cannot be read ({error.strerror or error}); choose another file.") from None
    if head[:4] == b"PAR1":
        frame = _read_parquet(path, shown, rows)
    else:
        frame = _read_csv(path, shown, head, tuple(marks), separator, rows)
    if not frame.height:
        raise _unfit(shown, "has no rows; choose a file with samples in it.")
    return frame


def how_written(path: Path, separator: str) -> tuple[str, bool] | None:
    """What stands between the values of a CSV file, and whether numbers are written 1,5; None for Parquet. As ``read_table``
    reads it."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return None if head[:4] == b"PAR1" else _find_format(_start(escape_unprintable(str(path), 300), head), separator)


def find_schema(path: Path, marks: Iterable[str], written: tuple[str, bool] | None) -> pl.Schema:
    """The names and types that polars itself finds in a file; ``written`` is what ``how_written`` says of it."""
    scan = pl.scan_parquet(path, glob=False) if written is None else _scan_csv(path, *written, marks)
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
    return "date" if column.str.contains(_DATE).all() else "string"


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
        raise _unfit(shown, f"cannot be read as Parquet ({_first_line(error)}); write it again.") from None
    return plain_columns(frame, ())


def _read_csv(
    path: Path, shown: str, head: bytes, marks: tuple[str, ...], separator: str, rows: int | None
) -> pl.DataFrame:
    start = _start(shown, head)
    if "\r" in start and "\n" not in start:
        raise _unfit(shown, "ends its lines with carriage returns alone; save it with usual line ends.")
    between, decimal_comma = _find_format(start, separator)
    names = _header(shown, start, between)
    _require_room(shown, _READING * path.stat().st_size if rows is None else 0)
    try:
        frame = _collect(_scan_csv(path, between, decimal_comma, marks, rows), rows)
    except (pl.exceptions.PolarsError, OSError) as error:
        _require_even_rows(path, shown, names, between)
        if "utf-8" in str(error):
            raise _unfit(shown, _NOT_UTF8) from None
        raise _unfit(shown, f"cannot be read as CSV ({_first_line(error)}); write it again.") from None
    if rows is None and frame.width and frame.get_column(frame.columns[-1]).null_count():
        _require_even_rows(path, shown, names, between)  # short rows look like rows with missing values
    if frame.width != len(names):
        raise InputError(
            f"dataset.path: the first row of {shown} cannot be told apart into names (read as {len(names)} or as "
            f"{frame.width}); write one name a column."
        )
    frame.columns = names
    _require_no_zero_bytes(frame, shown)
    return plain_columns(frame, marks)


def _scan_csv(
    path: Path, between: str, decimal_comma: bool, marks: Iterable[str], rows: int | None = None
) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        separator=between,
        infer_schema_length=rows,  # None: all rows, else a number with a comma in row 101 would be an error
        null_values=list(marks),
        decimal_comma=decimal_comma,
        glob=False,
    )


def _require_no_zero_bytes(frame: pl.DataFrame, shown: str) -> None:
    """Raise InputError naming the first cell with one: a file that was cut off or damaged, whose start looked like text."""
    for column in frame.select(pl.col(pl.String)).iter_columns():
        harmed = column.str.contains("\0", literal=True).fill_null(value=False)
        if harmed.any():
            row = int(harmed.arg_true()[0]) + 1
            why = f"is damaged: column '{escape_unprintable(column.name, 60)}' holds a zero byte in row {row:,}; write the file again."
            raise _unfit(shown, why)


def _collect(scan: pl.LazyFrame, rows: int | None) -> pl.DataFrame:
    return (scan if rows is None else scan.head(rows)).collect(engine="streaming")


def _start(shown: str, head: bytes) -> str:
    return _text(shown, head).lstrip("\r\n")  # polars passes over empty lines, too


def _find_format(start: str, separator: str) -> tuple[str, bool]:
    between = _SEPARATORS.get(separator) or _likely_separator(start)
    return between, between != "," and _has_decimal_commas(start, between)


def _text(shown: str, head: bytes) -> str:
    if head[:2] == b"PK":
        raise _unfit(shown, "is a spreadsheet or an archive, not a table; save the sheet as CSV.")
    if head[:2] == b"\x1f\x8b":
        raise _unfit(shown, "is compressed; unpack it.")
    if not head.strip():
        raise _unfit(shown, "is empty; choose a file with a header row and samples.")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head:
        raise _unfit(shown, _NOT_UTF8)
    try:
        # The end of what was read may cut a letter in two.
        return head.decode("utf-8-sig", "ignore" if len(head) == _HEAD else "strict")
    except UnicodeDecodeError:
        raise _unfit(shown, _NOT_UTF8) from None


def _likely_separator(start: str) -> str:
    """The one that stands most often in the header, outside of quotes."""
    header = "".join(start.partition("\n")[0].split('"')[::2])
    return max(_SEPARATORS.values(), key=header.count)


def _header(shown: str, start: str, separator: str) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(start, newline=""), delimiter=separator), [])]
    except csv.Error as error:
        raise InputError(
            f"dataset.path: the first row of {shown} is no header ({error}); write one name a column."
        ) from None
    if names and all(_is_number(name) for name in names):
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
        raise _unfit(shown, f"has two columns '{escape_unprintable(twice[0], 60)}'; rename one of them.")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _has_decimal_commas(start: str, separator: str) -> bool:
    """Whether numbers are written 1,5: some cell is, and none is written 1.5."""
    cells = [cell.strip().strip('"') for line in start.splitlines()[1:200] for cell in line.split(separator)]
    with_comma = any(_is_number(cell.replace(",", ".")) for cell in cells if cell.count(",") == 1 and "." not in cell)
    return with_comma and not any("." in cell and _is_number(cell) for cell in cells)


def _require_even_rows(path: Path, shown: str, names: list[str], separator: str) -> None:
    """Raise InputError naming the first line that has more or fewer values than the header has names."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=separator)
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
        raise _unfit(shown, why)


def _unfit(shown: str, why: str) -> InputError:
    """What to raise for the file ``shown``."""
    return InputError(f"dataset.path: {shown} {why}")


def _first_line(error: Exception) -> str:
    return escape_unprintable(str(error).partition("\n")[0], 150)
