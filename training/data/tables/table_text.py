"""How a CSV file is written: its encoding, what separates its values, and its numbers. Found by looking, unless the settings say."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from training.core.readers.table_reading import clean_cells, read_numbers
from training.errors import InputError
from training.system.untrusted import escape_unprintable

HEAD = 1 << 20
"""Bytes that the separator and the decimal mark are found in."""
_SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|"}
_CHUNK = 1 << 24
_NO_CP1252 = b"\x81\x8d\x8f\x90\x9d"
_CONTROL = bytes(range(9)) + bytes(range(14, 26)) + bytes(range(27, 32))
_CALLED = {
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian, without a byte order mark)",
    "utf-16-be": "UTF-16 (big-endian, without a byte order mark)",
    "cp1252": "Windows-1252 (cp1252)",
    "latin-1": "Latin-1",
}
_GROUPS = (",", "'", "\u2019", " ", "\xa0", "\u202f", ".")
_OF_NAMES = {"space": (" ", "\xa0", "\u202f"), "'": ("'", "\u2019")}
_NUMERIC = r"^[+-]?[0-9][0-9.,'\u2019 \u00a0\u202f]*$"
_LOOKED_AT = 1000


@dataclass(frozen=True)
class Written:
    """``encoding`` as Python calls it. ``commas``: polars is to read 1,5 as a number. ``thousands`` and ``decimal`` are those of
    all numbers; ``as_texts``: some of them polars takes for texts, such as 1.234,5 or "1,234.5"."""

    separator: str
    encoding: str = "utf-8"
    commas: bool = False
    thousands: str = ""
    decimal: str = "."
    as_texts: bool = False

    def describe(self) -> list[str]:
        """What of it a person might not expect."""
        notes = []
        if self.encoding != "utf-8":
            called = _CALLED.get(self.encoding, self.encoding)
            notes.append(f"the file is read as {called}; dataset.encoding chooses another")
        if self.thousands:
            number = f"1{self.thousands}234{self.decimal}5"
            notes.append(
                f"numbers such as {number} are read as 1234.5; dataset.thousands and dataset.decimal say otherwise"
            )
        elif self.commas or self.decimal == ",":
            notes.append("numbers are read with decimal commas, 1,5 as 1.5; dataset.decimal says otherwise")
        return notes


def find_written(
    path: Path, shown: str, head: bytes, separator: str, encoding: str, decimal: str
) -> tuple[Written, str]:
    """How the file is written, but for ``thousands``, and its beginning; ``head`` are its first bytes. Raises InputError for what is
    no text."""
    _refuse_other_files(shown, head)
    code = _find_encoding(path, shown, head) if encoding == "auto" else encoding
    start = codecs.getincrementaldecoder(code)("strict")
    try:
        text = (
            start.decode(head, final=len(head) < HEAD).lstrip("\ufeff").lstrip("\r\n")
        )  # polars passes over empty lines
    except UnicodeDecodeError as error:
        raise unfit(shown, f"is no text in {code} (byte {error.start:,}); choose another dataset.encoding.") from None
    between = _SEPARATORS.get(separator) or _likely_separator(text)
    commas = between != "," and (decimal == "," or (decimal == "auto" and _has_decimal_commas(text, between)))
    return Written(between, code, commas, decimal="," if commas else "."), text


def decode_file(path: Path, shown: str, encoding: str) -> bytes:
    """The whole file in UTF-8."""
    try:
        return path.read_bytes().decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise unfit(
            shown, f"is no text in {encoding} (byte {error.start:,}); choose another dataset.encoding."
        ) from None


def find_number_style(
    frame: pl.DataFrame, marks: tuple[str, ...], written: Written, thousands: str, decimal: str
) -> tuple[str, str] | None:
    """What groups thousands and what is the decimal mark in columns of texts that are numbers then: of the ways to read them the one
    that reads most of these columns. None where there are no such columns, or ``thousands`` is "none"."""
    styles = _styles(written, thousands, decimal)
    best, read = None, 0
    columns = [column for column in clean_cells(frame, marks).iter_columns() if column.dtype == pl.String]
    columns = [column for column in columns if _may_be_numbers(column)]
    for style in styles if columns else ():
        count = sum(read_numbers(column, *style).null_count() == column.null_count() for column in columns)
        if count > read:
            best, read = style, count
    return best


def _styles(written: Written, thousands: str, decimal: str) -> list[tuple[str, str]]:
    if thousands == "none":
        return [("", ",")] if decimal == "," else []
    groups = _GROUPS if thousands == "auto" else _OF_NAMES.get(thousands, (thousands,))
    decimals = (",",) if written.commas or decimal == "," else (".",) if decimal == "." else (".", ",")
    styles = []
    for mark in decimals:  # 1,5 alone needs no groups; 1,234 alone is a group, where commas may be
        styles += [("", ",")] * (mark == ",") + [(group, mark) for group in groups if group != mark]
    return styles


def _may_be_numbers(column: pl.Series) -> bool:
    known = column.drop_nulls()
    return bool(len(known)) and all(bool(some.str.contains(_NUMERIC).all()) for some in (known.head(_LOOKED_AT), known))


def _refuse_other_files(shown: str, head: bytes) -> None:
    if head[:2] == b"PK":
        raise unfit(shown, "is a spreadsheet or an archive, not a table; save the sheet as CSV.")
    if head[:2] == b"\x1f\x8b":
        raise unfit(shown, "is compressed; unpack it.")
    if not head.strip():
        raise unfit(shown, "is empty; choose a file with a header row and samples.")


def _find_encoding(path: Path, shown: str, head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) < 4 * min(even, odd) or max(even, odd) < len(head) // 8:
            raise unfit(shown, "is no text: it holds zero bytes; save it as CSV in UTF-8.")
        return "utf-16-be" if even > odd else "utf-16-le"
    state = path.stat()
    place = _find_broken(path, state.st_size, state.st_mtime_ns)
    if place is None:
        return "utf-8"
    if any(byte in head for byte in _CONTROL):
        raise unfit(shown, "is no text: it holds control characters; save it as CSV in UTF-8.")
    line, mostly_utf8, undefined = place
    if mostly_utf8:
        why = f"is text in UTF-8 but for a damaged letter in line {line:,}; mend it, or choose dataset.encoding."
        raise unfit(shown, why)
    return "latin-1" if undefined else "cp1252"


@lru_cache(maxsize=64)
def _find_broken(path: Path, size: int, changed: int) -> tuple[int, bool, bool] | None:
    """The line (from 1) where a file is no UTF-8, whether most of its letters beyond ASCII are such nevertheless, and whether it
    holds bytes that cp1252 has no letters for; None of UTF-8. The same while its ``size`` and time are."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    lines = good = bad = 0
    line, undefined = 0, False
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            undefined = undefined or any(byte in chunk for byte in _NO_CP1252)
            if chunk.isascii():
                text = decoder.decode(chunk)
            else:
                text = decoder.decode(chunk)
                harmed = text.count("\ufffd")
                if harmed and not line:
                    line = lines + text[: text.index("\ufffd")].count("\n") + 1
                bad += harmed
                good += len(re.findall(r"[^\x00-\x7f\ufffd]", text))
            lines += text.count("\n")
    if decoder.decode(b"", final=True) and not line:
        line, bad = lines + 1, bad + 1
    return (line, good > bad, undefined) if bad else None


def _likely_separator(start: str) -> str:
    """The one that stands most often in the header, outside of quotes."""
    header = "".join(start.partition("\n")[0].split('"')[::2])
    return max(_SEPARATORS.values(), key=header.count)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _has_decimal_commas(start: str, separator: str) -> bool:
    """Whether numbers are written 1,5: some cell is, and none is written 1.5, unless it may be 1.500."""
    cells = [cell.strip().strip('"') for line in start.splitlines()[1:200] for cell in line.split(separator)]
    with_comma = any(is_number(cell.replace(",", ".")) for cell in cells if cell.count(",") == 1 and "." not in cell)
    points = [cell for cell in cells if "." in cell and is_number(cell)]
    return with_comma and not any(re.fullmatch(r"[+-]?\d{1,3}\.\d{3}", cell) is None for cell in points)


def unfit(shown: str, why: str) -> InputError:
    """What to raise for the file ``shown``."""
    return InputError(f"dataset.path: {shown} {why}")


def show_path(path: Path) -> str:
    return escape_unprintable(str(path), 300)
