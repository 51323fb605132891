"""Tables as people have them, in twelve shapes: names, dates, times, gaps, decimal commas, encodings."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

ROWS = 130
_START = datetime(2023, 3, 4, 6, 20)
_MAKERS = ("müller", "söhne & co", "o'neill", "ærø", "smith, j.")
Cells = Mapping[str, Callable[[int, random.Random], object]]


@dataclass(frozen=True)
class Shape:
    """Columns, the one to predict, how the file is written, and the features that the run is to have."""

    cells: Cells
    target: str
    features: tuple[str, ...]
    encoding: str = "utf-8"
    separator: str = ","
    settings: Mapping[str, Any] = field(default_factory=dict)
    parquet: bool = False


def _day(row: int) -> datetime:
    return _START + timedelta(days=row * 11 % 700, hours=row * 5 % 24, minutes=row % 60)


def _comma(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def _gap(cell: object, row: int, mark: str = "") -> object:
    return mark if row % 7 == 3 else cell


def _kind(row: int, _: random.Random) -> str:
    return "abc"[row % 3]


def _number(row: int, draw: random.Random) -> float:
    return round(draw.uniform(0, 50) + row % 3, 2)


SHAPES: dict[str, Shape] = {
    "mpg": Shape(  # cars with names, '?' for a missing number
        {
            "mpg": _number,
            "cylinders": lambda row, _: 4 + row % 3 * 2,
            "horsepower": lambda row, draw: _gap(draw.randint(50, 200), row, "?"),
            "model_year": lambda row, _: 70 + row % 13,
            "origin": lambda row, _: ("usa", "japan", "europe")[row % 3],
            "name": lambda row, _: f"{_MAKERS[row % 5]} {row * 3 % 125}",
        },
        "mpg",
        ("cylinders", "horsepower", "model_year", "origin"),
    ),
    "taxis": Shape(  # moments, categories and gaps
        {
            "pickup": lambda row, _: _day(row),
            "dropoff": lambda row, _: _day(row) + timedelta(minutes=17),
            "passengers": lambda row, _: row % 5,
            "fare": _number,
            "payment": lambda row, _: _gap(("credit card", "cash")[row % 2], row),
            "pickup_zone": lambda row, _: f"zone {row * 7 % 40}",
        },
        "fare",
        (
            *(f"pickup.{part}" for part in ("year", "month", "weekday", "hour")),
            *(f"dropoff.{part}" for part in ("year", "month", "weekday", "hour")),
            *("passengers", "payment", "pickup_zone"),
        ),
    ),
    "titanic": Shape(  # row numbers, names, tickets, true and false
        {
            "PassengerId": lambda row, _: row + 1,
            "Survived": lambda row, _: row % 2,
            "Name": lambda row, _: f'"{_MAKERS[row % 5]}", Mr. {row}',
            "Sex": lambda row, _: ("male", "female")[row % 2],
            "Age": lambda row, draw: _gap(draw.randint(1, 80), row, "NA"),
            "Ticket": lambda row, _: f"PC {row * 3 % 110}",
            "alone": lambda row, _: ("true", "false")[row % 2],
        },
        "Survived",
        ("Sex", "Age", "alone"),
        settings={"missing_indicator": True},
    ),
    "german": Shape(  # decimal commas, grouped thousands, dots in dates, cp1252
        {
            "Größe": lambda row, draw: _gap(_comma(draw.uniform(0, 9)), row, "-"),
            "Preis €": lambda row, draw: _comma(draw.uniform(900, 90_000)),
            "Datum": lambda row, _: f"{_day(row):%d.%m.%Y}",
            "Maß": lambda row, _: _MAKERS[row % 4],
            "Klasse": _kind,
        },
        "Klasse",
        ("Größe", "Preis €", "Datum.year", "Datum.month", "Datum.weekday", "Maß"),
        encoding="cp1252",
        separator=";",
    ),
    "utf-16": Shape(  # a spreadsheet's "Unicode text"
        {
            "day": lambda row, _: f"{_day(row):%m/%d/%Y}",
            "größe": _number,
            "maker": lambda row, _: _MAKERS[row % 4],
            "kind": _kind,
        },
        "kind",
        ("day.year", "day.month", "day.weekday", "größe", "maker"),
        encoding="utf-16",
        separator="\t",
    ),
    "utf-16-be without a mark": Shape(
        {"when": lambda row, _: f"{_day(row):%d %B %Y}", "size": _number, "kind": _kind},
        "kind",
        ("when.year", "when.month", "when.weekday", "size"),
        encoding="utf-16-be",
        separator=";",
    ),
    "latin-1 times": Shape(  # times of day, dates of two-digit years, French thousands
        {
            "heure": lambda row, _: f"{_day(row):%H:%M}",
            "jour": lambda row, _: _gap(f"{_day(row):%d/%m/%y}", row, "n/a"),
            "prix": lambda row, draw: f"{draw.uniform(1_000, 99_000):,.1f}".replace(",", " ").replace(".", ","),
            "été": lambda row, _: ("oui", "non")[row % 2],
            "kind": _kind,
        },
        "kind",
        ("heure.hour", "jour.year", "jour.month", "jour.weekday", "prix", "été"),
        encoding="latin-1",
        separator=";",
    ),
    "american": Shape(  # quoted thousands, AM and PM, month names
        {
            "sold": lambda row, draw: f"{draw.uniform(1_000, 900_000):,.2f}",
            "at": lambda row, _: f"{_day(row):%m/%d/%Y %I:%M %p}",
            "due": lambda row, _: f"{_day(row):%b %d, %Y}",
            "same": lambda row, _: "USD",
            "kind": _kind,
        },
        "kind",
        (
            *("sold", "at.year", "at.month", "at.weekday", "at.hour"),
            *("due.year", "due.month", "due.weekday"),
        ),
        encoding="utf-8-sig",
    ),
    "hashed names": Shape(
        {
            "who": lambda row, _: _gap(f"{_MAKERS[row % 5]} {row * 3 % 125}", row),
            "size": _number,
            "kind": _kind,
        },
        "kind",
        ("who", "size"),
        settings={"high_cardinality": "hash", "hash_buckets": 16},
    ),
    "codes and gaps": Shape(  # codes of whole numbers, true and false with gaps
        {
            "code": lambda row, _: _gap(10 + row % 4, row, "NULL"),
            "ripe": lambda row, _: _gap(("true", "false")[row % 2], row, "NA"),
            "when": lambda row, _: _gap(_day(row).isoformat() + "+02:00", row, "?"),
            "size": lambda row, draw: _gap(draw.randint(0, 9), row),
            "kind": _kind,
        },
        "kind",
        ("code", "ripe", "when.year", "when.month", "when.weekday", "when.hour", "size"),
        settings={"categorical": ["code"], "missing_indicator": True},
    ),
    "parquet": Shape(
        {
            "when": lambda row, _: None if row % 7 == 3 else _day(row),
            "clock": lambda row, _: _day(row).time(),
            "day": lambda row, _: _day(row).date(),
            "size": lambda row, draw: None if row % 7 == 5 else _number(row, draw),
            "maker": lambda row, _: _MAKERS[row % 5],
            "kind": _kind,
        },
        "kind",
        (
            *("when.year", "when.month", "when.weekday", "when.hour", "clock.hour"),
            *("day.year", "day.month", "day.weekday", "size", "maker"),
        ),
        parquet=True,
    ),
    "several targets": Shape(
        {
            "id": lambda row, _: row,
            "when": lambda row, _: f"{_day(row):%Y/%m/%d %H:%M}",
            "share": lambda row, draw: f"{draw.uniform(0, 1):.3f}".replace(".", ","),
            "kind": _kind,
            "sum": _number,
        },
        "kind",
        ("when.year", "when.month", "when.weekday", "when.hour", "share"),
        settings={"targets": ["kind", "sum"], "task": "tasks"},
    ),
}


def write_shape(name: str, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """The table, and its rows with each cell as the text that stands in the file (a value, in Parquet)."""
    shape, draw = SHAPES[name], random.Random(name)
    rows = [{column: make(row, draw) for column, make in shape.cells.items()} for row in range(ROWS)]
    if shape.parquet:
        path = folder / "table.parquet"
        pl.DataFrame(rows).write_parquet(path)
        return path, rows
    texts = io.StringIO(newline="")
    writer = csv.DictWriter(texts, list(shape.cells), delimiter=shape.separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path = folder / "table.csv"
    path.write_bytes(texts.getvalue().encode(shape.encoding))
    return path, list(csv.DictReader(io.StringIO(texts.getvalue()), delimiter=shape.separator))
