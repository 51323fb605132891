"""Single cells of a table as numbers: moments and their parts, numbers with decimal commas, texts as hashes. Needs nothing but
Python, so that an exported model reads a row as the training data was read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Literal

MOMENT_PARTS: tuple[Literal["year", "month", "weekday", "hour"], ...] = ("year", "month", "weekday", "hour")
"""What becomes of a moment; weekdays count from Monday, 1, to Sunday, 7."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def parse_iso(text: str | None) -> datetime | None:
    """The moment of 2024-05, 2024-05-31, 2024-05-31 08:15 or 2024-05-31T08:15:30.5+02:00 in UTC, which is meant where no offset
    stands; None of other texts."""
    try:
        moment = datetime.fromisoformat(f"{text}-01" if text is not None and len(text) == 7 else text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def parse_moment(value: object, form: str) -> datetime | None:
    """The moment of a date, or of a text in a ``form`` as ``strptime`` has it or in ISO 8601; None where it is none. A time of day is
    one of January 1, 1900."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if hasattr(value, "hour"):
        return datetime(1900, 1, 1, value.hour)
    text = str(value).strip()
    if "%B" in form:  # in English, whatever the locale
        numbered, form = re.sub("[A-Za-z]{3,}", number_month, text), form.replace("%B", "%m")
    else:
        numbered = text
    try:
        return datetime.strptime(numbered, form)
    except ValueError:
        pass
    if "%d" in form or not form:
        return parse_iso(text)
    try:
        return datetime.fromisoformat(f"1900-01-01 {text}")
    except ValueError:
        return None


def number_month(name: re.Match[str]) -> str:
    """The number of the month that is so called, or of which these are the first three letters; another word as it is."""
    word = name[0].lower()
    known = [number for number, month in enumerate(MONTHS, 1) if word in (month, month[:3])]
    return str(known[0]) if known else word


def moment_part(moment: datetime | None, part: str) -> float:
    """Its year, month, weekday or hour; NaN of none."""
    if moment is None:
        return float("nan")
    return float(moment.isoweekday() if part == "weekday" else getattr(moment, part))


def hash_text(text: str, buckets: int) -> int:
    """From 1 to ``buckets``, the same for the same text on every machine: its CRC-32."""
    return zlib.crc32(text.encode()) % buckets + 1


def parse_number(value: object, thousands: str, decimal: str) -> float | None:
    """The number that a cell is, or that its text says: 1.234,5 of ``thousands`` "." and ``decimal`` ",", or else as Python writes it;
    None where it is none."""
    plain = str(value).strip() if isinstance(value, str) else value
    if isinstance(plain, str) and (thousands, decimal) != ("", "."):
        mark, point = re.escape(thousands), re.escape(decimal)
        if re.fullmatch(rf"[+-]?\d{{1,3}}({mark}\d{{3}})+({point}\d*)?", plain) and thousands:
            plain = plain.replace(thousands, "")
        if decimal != "." and "." not in plain:
            plain = plain.replace(decimal, ".", 1)
    try:
        return float(plain)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def is_missing(value: object, marks: Sequence[str]) -> bool:
    """Whether a cell is empty, NaN or one of ``marks``."""
    text = value.strip() if isinstance(value, str) else None
    return value is None or value != value or text == "" or text in marks


def write_text(value: object) -> str:
    """A cell as the texts of a category are: stripped; true and false in small letters; a whole number without its point."""
    text = str(value).strip()
    if isinstance(value, str):
        return text
    return text.lower() if text in ("True", "False") else text.removesuffix(".0")


def find_category(value: object, categories: Sequence[str]) -> int:
    """The place, from 1, of a cell's text among ``categories``; 0 of any other. True and 1.0 are true and 1, where only those are."""
    text = write_text(value)
    if text not in categories:
        text = {"True": "true", "False": "false"}.get(text, text.removesuffix(".0"))
    return 1 + categories.index(text) if text in categories else 0
