"""What becomes of columns of dates, of texts of many values, and of those that tell nothing."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from tests.training.data.made_tables import open_rows
from training.config import parse_config
from training.config.sections.data.tables import TableDataset
from training.core.readers.cell_reading import parse_moment
from training.core.readers.moment_reading import CLOCKS, DAYS, date_moments
from training.data.source import Opening
from training.data.sources.table import open_table
from training.data.tables.remarks import Remark, list_remarks
from training.data.tables.targets import source_facts
from training.facts import DataFacts, Derivation


def test_what_looks_a_little_like_a_date_is_a_category(tmp_path: Path) -> None:
    table = open_rows(tmp_path, "version,size,month,y\n1.2.3,10-12,May,x\n1.2.4,11-12,June,y\n1.2.3,10-12,May,x\n")
    assert table.columns == ("version", "size", "month")
    assert table.categories == (3, 3, 3)


def test_columns_that_tell_nothing_are_left_out_and_may_be_kept(tmp_path: Path) -> None:
    lines = (f"{i % 7},{i + 1},7,name {i},,{i + 1900},{'xy'[i % 2]}\n" for i in range(12))
    content = "a,id,same,who,gap,year,y\n" + "".join(lines)
    table = open_rows(tmp_path, content)
    assert table.columns == ("a", "year")  # years may well be one after the other
    for name, why in {
        "id": "numbers the rows",
        "same": "holds the same in every row",
        "who": "has another text in every row",
        "gap": "is empty",
    }.items():
        assert f"column '{name}' is left out: it {why}; dataset.keep_columns keeps it" in table.notes
    assert "column 'year' numbers the rows; dataset.ignored leaves it out" in table.notes
    assert not any("column 'a'" in note for note in table.notes)
    assert open_rows(tmp_path, content, keep_columns="who, id").columns == ("a", "id", "who", "year")
    assert open_rows(tmp_path, content, features="id, same").columns == ("id", "same")
    assert open_rows(tmp_path, content, uninformative="keep").columns == ("a", "id", "same", "who", "year")
    named = open_rows(tmp_path, content, categorical="id")  # a person says that it is one
    assert (named.columns, named.categories) == (("a", "id", "year"), (0, 13, 0))


def test_whole_numbers_that_name_the_rows_are_left_out_and_amounts_stay(tmp_path: Path) -> None:
    draw, count = np.random.default_rng(3), 400
    columns = {
        "customer_id": draw.choice(10**9, count, replace=False),
        "ticket": draw.choice(4000, count, replace=False) + 1000,
        "rank": draw.permutation(count) + 1,
        "dose": draw.permutation(count) * 5,
        "day": np.sort(draw.choice(1000, count, replace=False)) + 44_000,
        "count": draw.poisson(3000.0, count),
        "price": draw.choice(10**7, count, replace=False),  # all different by chance
        "cents": np.round(np.exp(draw.normal(10.0, 1.0, count))).astype(np.int64),
        "grid": draw.permutation(count) % 390,
        "y": draw.integers(0, 2, count),
    }
    pl.DataFrame(columns).write_csv(tmp_path / "all.csv")
    table = open_rows(tmp_path, (tmp_path / "all.csv").read_text())
    assert table.columns == ("rank", "dose", "day", "count", "price", "cents", "grid")
    for name in ("customer_id", "ticket"):
        assert any(note.startswith(f"column '{name}' is left out: it ") for note in table.notes)
    for name in ("rank", "dose", "day"):
        assert any(note.startswith(f"column '{name}' has another whole number in each row") for note in table.notes)
    pl.DataFrame(columns)[:40].write_csv(tmp_path / "few.csv")
    small = open_rows(tmp_path, (tmp_path / "few.csv").read_text())  # where little is told by chance alone
    assert small.columns == ("ticket", "rank", "dose", "day", "count", "price", "cents", "grid")


def test_texts_of_many_values_are_left_out_or_hashed(tmp_path: Path) -> None:
    content = "a,who,y\n" + "".join(f"{i * 3 % 7},name {i * 7 % 250},{i % 2}\n" for i in range(300))
    assert open_rows(tmp_path, content).columns == ("a",)
    table = open_rows(tmp_path, content, high_cardinality="hash", hash_buckets=16).fit(torch.arange(200))
    assert (table.columns, table.categories, table.codes) == (("a", "who"), (0, 17), ((), ()))
    assert "column 'who' becomes one of 16 codes, by the hash of its text" in table.notes
    hashed = [zlib.crc32(f"name {i * 7 % 250}".encode()) % 16 + 1 for i in range(300)]
    assert table.read_all()[:, 1].tolist() == hashed


def test_dates_and_times_become_what_of_them_varies(tmp_path: Path) -> None:
    start = datetime(2023, 11, 20, 8, 30)
    moments = [start + timedelta(days=9 * i, hours=i) for i in range(40)]
    lines = [
        f'{m:%d.%m.%Y},{m:%m/%d/%Y %I:%M %p},{m:%H:%M},{m.isoformat()}Z,"{m:%B %d, %Y}",{i % 3}'
        for i, m in enumerate(moments)
    ]
    lines[3] = ",,-,n/a,soon,0"
    table = open_rows(tmp_path, "\n".join(["dots,us,clock,iso,words,y", *lines]), missing_indicator=True)
    day, hour = ("year", "month", "weekday"), ("hour",)
    parts = {"dots": day, "us": day + hour, "clock": hour, "iso": day + hour, "words": day}
    assert table.columns == tuple(f"{name}.{part}" for name, some in parts.items() for part in some)
    values = table.read_all()
    numbers = {"year": "year", "month": "month", "hour": "hour"}
    for place, name in enumerate(table.columns):
        part = name.partition(".")[2]
        known = [float(m.isoweekday() if part == "weekday" else getattr(m, numbers[part])) for m in moments]
        assert values[:3, place].tolist() + values[4:, place].tolist() == known[:3] + known[4:], name
        assert values[3, place].isnan(), name
    assert "column 'dots' becomes year, month and weekday" in table.notes
    assert "1 cell of column 'words' says no date and is taken for missing, the first is 'soon' in row 4" in table.notes
    fitted = table.fit(torch.arange(10, 14))  # March and April 2024
    assert fitted.columns[:3] == ("dots.month", "dots.weekday", "us.month")
    assert fitted.table is not None
    assert fitted.table.derived[0] == Derivation(
        "dots", "month", "%d.%m.%Y", "2024-02-18T00:00:00", "2024-03-16T00:00:00"
    )


def test_what_new_rows_hold_that_no_training_row_did_is_told_by_row(tmp_path: Path) -> None:
    lines = [f"{i % 28 + 1:02}.0{i % 9 + 1}.2024,{('red', 'blue')[i % 2]},{i % 5}.5,{i % 2}" for i in range(40)]
    table = open_rows(tmp_path, "\n".join(["when,color,size,y", *lines])).fit(torch.arange(40))
    good = {"when": "03.04.2024", "color": "red", "size": "2.5"}
    rows = [
        good | {"when": "03.04.2031", "color": "violet"},
        good | {"size": "big", "when": "soon"},
        good | {"size": "?", "color": "", "when": "2024-05-01"},  # ISO 8601 is no other date
        {"color": "red", "size": "1"},
    ]
    assert list_remarks(rows, source_facts(table), ["?"]) == [
        Remark(3, "when", "has no 'when'", refused=True),
        Remark(
            0,
            "when",
            "'03.04.2031' in when lies after the training rows, which are from 2024-01-01 to 2024-09-27",
            refused=False,
        ),
        Remark(1, "when", "'soon' in when is no date as in the training rows and counts as missing", refused=False),
        Remark(0, "color", "'violet' in color was not in the training data and counts as unknown", refused=False),
        Remark(1, "size", "'big' in size is no number; write one, or leave it empty", refused=True),
    ]
    (gone,) = list_remarks([{"color": "red", "size": 1.0}], source_facts(table), ())
    assert (gone.row, gone.column, gone.refused) == (None, "when", True)
    assert DataFacts.from_record(source_facts(table).record()) == source_facts(table)


def test_runs_of_earlier_versions_keep_their_columns(tmp_path: Path) -> None:
    """A configuration that a program wrote in full, which knew of no columns to be left out."""
    content = "id,same,price,y\n" + "".join(f'{i},7,"1,{i + 100}",{i % 2}\n' for i in range(12))
    (tmp_path / "t.csv").write_text(content)
    dataset = TableDataset(path=str(tmp_path / "t.csv"), targets=("y",))
    before: dict[str, Any] = dataset.model_dump(mode="json", exclude_none=True)
    for name in (
        "uninformative",
        "high_cardinality",
        "hash_buckets",
        "keep_columns",
        "day_first",
        "thousands",
        "decimal",
    ):
        before.pop(name)
    for data, columns in ((before, ("id", "same", "price")), ({"kind": "table", "path": dataset.path}, ("price",))):
        read = parse_config({"dataset": data, "model": {"kind": "tabular"}}).dataset
        assert isinstance(read, TableDataset)
        table = open_table(read, Opening())
        assert table.columns == columns
        assert bool(any(table.categories)) == (columns[0] == "id")  # "1,100" was a text


def test_dates_that_may_be_read_both_ways_are_told(tmp_path: Path) -> None:
    content = "a,when,y\n" + "".join(f"{i % 5},{i % 9 + 1:02}/{i % 8 + 2:02}/2024,{i % 2}\n" for i in range(12))
    table = open_rows(tmp_path, content)
    assert (
        "dates of column 'when' may be read both ways; '01/02/2024' is taken for January 2; dataset.day_first = true takes them the "
        "other way" in table.notes
    )
    months = table.columns.index("when.month")
    assert table.read_all()[:3, months].tolist() == [1.0, 2.0, 3.0]
    assert open_rows(tmp_path, content, day_first=True).read_all()[:3, months].tolist() == [2.0, 3.0, 4.0]


def test_a_date_is_read_alike_in_a_column_and_alone() -> None:
    """By polars, and by Python as the exported models read it."""
    moments = [datetime(2024, 1, 2, 3, 4), datetime(1999, 9, 30, 15, 40, 5), datetime(2024, 5, 31)]
    for form in (day + clock for day in DAYS for clock in CLOCKS):
        texts = pl.Series("when", [moment.strftime(form) for moment in moments])
        read = date_moments(texts, form).to_list()
        assert read == [parse_moment(text, form) for text in texts], form
        assert [moment.date() for moment in read] == [moment.date() for moment in moments], form
        assert parse_moment("soon", form) is None


def test_dates_may_be_codes_groups_or_left_out(tmp_path: Path) -> None:
    content = "a,when,y\n1,2020-01-02,x\n2,2020-01-03,y\n3,2020-01-02,x\n"
    assert open_rows(tmp_path, content, categorical="when").categories == (0, 3)
    table = open_rows(tmp_path, content, group_column="when")
    assert table.columns == ("a",)
    assert table.groups is not None
    assert table.groups.tolist() == [1, 2, 1]
