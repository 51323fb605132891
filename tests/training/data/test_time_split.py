"""``dataset.time_column``: the newest rows are held out, and what is told of that is true."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.data.conftest import MakeConfig, image
from training.cli import main
from training.config.rules.inactive_settings import find_inactive
from training.config.sections.data.tables import TableDataset
from training.core.splits import hold_back_newest
from training.data import Data, prepare
from training.data.inspect import inspect_dataset
from training.data.source import Opening
from training.data.sources.table import open_table
from training.errors import ConfigError, InputError
from training.runs.folder import RunFolder

CPU = torch.device("cpu")
START = datetime(2023, 11, 20, 8, 30)
Write = Callable[[datetime], object]

FORMS: dict[str, Write] = {
    "ISO date": lambda day: f"{day:%Y-%m-%d}",
    "ISO date and time": lambda day: f"{day:%Y-%m-%d %H:%M:%S}",
    "ISO with T and fraction": lambda day: f"{day:%Y-%m-%dT%H:%M:%S}.250",
    "UTC": lambda day: f"{day:%Y-%m-%dT%H:%M}Z",
    "offsets": lambda day: day.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=day.day % 9 - 4))).isoformat(),
    "dots": lambda day: f"{day:%d.%m.%Y %H:%M}",
    "month first": lambda day: f"{day:%m/%d/%Y}",
    "day first": lambda day: f"{day:%d/%m/%Y %I:%M %p}",
    "year first": lambda day: f"{day:%Y/%m/%d}",
    "seconds since 1970": lambda day: int(day.replace(tzinfo=UTC).timestamp()),
    "fractions": lambda day: day.replace(tzinfo=UTC).timestamp() / 86400,
}


def table(folder: Path, moments: list[Any], name: str = "t.csv") -> Path:
    """A row for each of the moments, of two classes."""
    lines = [f"{number % 7},{(number * 5) % 11},{moment},{'ab'[number % 2]}" for number, moment in enumerate(moments)]
    (folder / name).write_text("\n".join(["x,y,when,kind", *lines]) + "\n", encoding="utf-8")
    return folder / name


def prepared(make_config: MakeConfig, path: Path, **dataset: Any) -> Data:
    sections = {"kind": "table", "path": str(path), "time_column": "when", **dataset}
    return prepare(make_config(dataset=sections, model={"kind": "tabular"}), CPU)


def days(count: int, seed: int = 0) -> list[datetime]:
    """In any order, no two alike."""
    order = random.Random(seed).sample(range(count), count)
    return [START + timedelta(days=3 * number) for number in order]


@pytest.mark.parametrize("form", FORMS)
def test_the_newest_are_held_out_however_a_moment_is_written(
    make_config: MakeConfig, tmp_path: Path, form: str
) -> None:
    moments = days(50)
    newest = sorted(range(50), key=moments.__getitem__)
    data = prepared(make_config, table(tmp_path, [FORMS[form](moment) for moment in moments]), test_fraction=0.1)
    assert data.splits["train"].tolist() == sorted(newest[:35])
    assert data.splits["validation"].tolist() == sorted(newest[35:45])
    assert data.splits["test"].tolist() == sorted(newest[45:])
    assert data.source.columns == ("x", "y")  # the model does not see when a row is from


def test_parquet_has_dates_of_its_own(make_config: MakeConfig, tmp_path: Path) -> None:
    moments = days(40)
    newest = sorted(range(40), key=moments.__getitem__)
    columns = {"x": list(range(40)), "y": [number % 3 for number in range(40)], "kind": ["a", "b"] * 20}
    for name, made in (
        ("date", pl.Series(moments).dt.date()),
        ("time", pl.Series(moments)),
        ("zone", pl.Series(moments).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")),
    ):
        pl.DataFrame(columns | {"when": made}).write_parquet(tmp_path / f"{name}.parquet")
        data = prepared(make_config, tmp_path / f"{name}.parquet", targets="kind")
        assert data.splits["validation"].tolist() == sorted(newest[32:])
        assert any(f"from {min(moments):%Y-%m-%d}" in note for note in data.report.notes)


def test_rows_of_one_moment_stay_on_one_side_and_the_report_says_so(make_config: MakeConfig, tmp_path: Path) -> None:
    months = ["2024-01"] * 40 + ["2024-02"] * 33 + ["2024-03"] * 27
    random.Random(1).shuffle(months)
    data = prepared(make_config, table(tmp_path, months))
    assert {months[row] for row in data.splits["train"].tolist()} == {"2024-01", "2024-02"}
    assert {months[row] for row in data.splits["validation"].tolist()} == {"2024-03"}
    split, ties = data.report.notes[-2:]
    assert split == (
        "split by time, column 'when': 73 samples from 2024-01-01 to 2024-02-01 train; 27 samples of 2024-03-01 validate"
    )
    assert ties == "samples of one moment are never parted, so 27% are held out instead of 20%"


def test_what_is_told_names_the_ends_of_each_part(make_config: MakeConfig, tmp_path: Path) -> None:
    hours = [f"{START + timedelta(hours=7 * number):%d.%m.%Y %H:%M}" for number in range(40)]
    path = table(tmp_path, hours)
    data = prepared(make_config, path, test_fraction=0.1)
    [said] = [note for note in data.report.notes if "time" in note]
    assert said.startswith(
        "split by time, column 'when': 28 samples from 2023-11-20 08:30:00 to 2023-11-28 05:30:00 train; "
    )
    assert said.endswith("4 samples from 2023-11-30 20:30:00 to 2023-12-01 17:30:00 test")
    sections = {"kind": "table", "path": str(path), "time_column": "when", "test_fraction": 0.1}
    preview = inspect_dataset(make_config(dataset=sections, model={"kind": "tabular"}))
    assert said in preview.notes
    assert preview.table is not None
    assert {column.name: column.role for column in preview.table.columns}["when"] == "time"


def test_the_share_is_the_closest_and_some_always_train() -> None:
    """Against trying every border."""
    draw = torch.Generator().manual_seed(0)
    for _ in range(200):
        n = int(torch.randint(2, 60, (), generator=draw))
        moments = torch.randint(0, 12, (n,), generator=draw)
        if len(moments.unique()) < 2:
            continue
        fraction = float(torch.rand((), generator=draw))
        held = hold_back_newest(moments, fraction)
        assert not held.all()
        assert held.any()
        assert moments[held].min() > moments[~held].max()
        ways = [int((moments >= border).sum()) for border in moments.unique().tolist()[1:]]
        assert abs(int(held.sum()) - fraction * n) == min(abs(way - fraction * n) for way in ways)


BAD = [
    (["2024-01-05"] * 20 + ["soon"] + ["2024-02-01"] * 20, "says 'soon', which is no date, in row 21"),
    (["2024-01-05"] * 20 + [""] + ["2024-02-01"] * 20, "is empty in row 21"),
    (["01.02.2024", "02.02.2024"] * 10 + ["2024-02-30"], "says '2024-02-30', which is no date, in row 21"),
    (["2024-01-05"] * 40, "40 samples of one moment, 2024-01-05, leaves nothing to train"),
    (["03/04/2024", "05/06/2024"] * 10, "'03/04/2024' in row 1 may be March 4 or April 3, and so in every row"),
    (["true", "false"] * 10, "holds neither dates nor numbers"),
    ([""] * 10, "holds neither dates nor numbers"),
]


@pytest.mark.parametrize(("moments", "words"), BAD)
def test_what_cannot_be_read_is_named_by_row_and_value(
    make_config: MakeConfig, tmp_path: Path, moments: list[str], words: str
) -> None:
    with pytest.raises(InputError) as caught:
        prepared(make_config, table(tmp_path, moments))
    assert words in str(caught.value)
    assert str(caught.value).startswith("dataset.")


def test_a_row_keeps_its_number_where_others_have_no_target(tmp_path: Path) -> None:
    lines = ["x,when,kind", "1,2024-01-01,a", "2,2024-01-02,", "3,soon,b", "4,2024-01-03,a"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    dataset = TableDataset.model_validate({"path": str(tmp_path / "t.csv"), "time_column": "when"})
    with pytest.raises(InputError, match="in row 3"):
        open_table(dataset, Opening())


def test_days_and_months_that_cannot_be_exchanged_are_read(make_config: MakeConfig, tmp_path: Path) -> None:
    """One row whose first number is no month tells it of all."""
    moments = ["03/04/2024", "03/04/2024", "05/06/2024", "05/06/2024"] * 5 + ["31/05/2024"]
    data = prepared(make_config, table(tmp_path, moments))
    assert {moments[row] for row in data.splits["validation"].tolist()} <= {"31/05/2024", "05/06/2024"}
    assert "10 samples of 2024-06-05 validate" in data.report.notes[-2]


@pytest.mark.parametrize("other", ["split_column", "group_column"])
def test_two_ways_of_splitting_are_refused_by_name(make_config: MakeConfig, tmp_path: Path, other: str) -> None:
    path = table(tmp_path, [f"{day:%Y-%m-%d}" for day in days(20)])
    with pytest.raises(ConfigError, match=f"held out by time, or as dataset.{other} says") as caught:
        prepared(make_config, path, **{other: "y"})
    assert caught.value.problems[0].fix == {f"dataset.{other}": None}
    with pytest.raises(ConfigError, match=r"'when' stands in dataset.ignored, too|stands in dataset.time_column"):
        prepared(make_config, path, ignored="when")
    with pytest.raises(InputError, match=r"dataset.time_column: the table has no column 'date'"):
        prepared(make_config, path, time_column="date")


def test_the_seed_of_the_split_has_no_effect(make_config: MakeConfig, tmp_path: Path) -> None:
    path = table(tmp_path, [f"{day:%Y-%m-%d}" for day in days(30)])
    sections = {"kind": "table", "path": str(path), "time_column": "when"}
    inactive = find_inactive(make_config(dataset=sections, model={"kind": "tabular"}))
    assert "the newest samples are held out" in inactive["dataset.split_seed"].why
    one, other = (prepared(make_config, path, split_seed=seed).splits for seed in (0, 7))
    assert all(torch.equal(one[part], other[part]) for part in one)


def test_images_of_a_table_are_split_by_time(make_config: MakeConfig, tmp_path: Path) -> None:
    moments = days(12)
    lines = ["file,kind,when"]
    for number, moment in enumerate(moments):
        image(number).save(tmp_path / f"{number:02}.png")
        lines.append(f"{number:02}.png,{'ab'[number % 2]},{moment:%Y-%m-%d}")
    lines[6] = lines[6].replace("05.png", "gone.png")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    dataset = {"kind": "image_table", "path": str(tmp_path / "t.csv"), "time_column": "when"}
    with prepare(make_config(dataset=dataset | {"targets": ["kind"]}), CPU) as data:
        there = [number for number in range(12) if number != 5]
        newest = sorted(range(11), key=lambda sample: moments[there[sample]])
        assert data.splits["validation"].tolist() == sorted(newest[-2:])
    lines[3] = lines[3].rpartition(",")[0] + ",later"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="says 'later', which is no date, in row 3"):
        prepare(make_config(dataset=dataset), CPU)
    with pytest.raises(ConfigError, match=r"dataset.time_column: .*target"):
        prepare(make_config(dataset=dataset | {"targets": ["when"]}), CPU)


def test_a_run_is_split_alike_when_it_is_resumed_and_refuses_another_split(tmp_path: Path, capsys: Captured) -> None:
    moments = [f"{day:%Y-%m-%d}" for day in days(60)]
    path = table(tmp_path, moments)
    (tmp_path / "run.toml").write_text(
        f'name = "t"\n[dataset]\nkind = "table"\npath = "{path}"\ntime_column = "when"\n[model]\nkind = "tabular"\n'
        '[loop]\nepochs = 2\nbatch_size = 16\n[checkpoints]\nevery_steps = 2\n[precision]\ndevice = "cpu"\n'
    )
    words = ["--workspace", str(tmp_path / "runs"), "--json"]
    assert main(["run", str(tmp_path / "run.toml"), *words]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out.strip().splitlines()[-1])
    assert "note: split by time, column 'when': 48 samples from 2023-11-20 to " in captured.err
    kept = RunFolder(Path(record["folder"])).splits_file.read_bytes()
    again = [str(Path(record["folder"]) / "checkpoints" / "step-00000004"), "--branch", *words]
    assert main(["resume", *again]) == 0
    branch = json_line(capsys)
    assert RunFolder(Path(branch["folder"])).splits_file.read_bytes() == kept
    table(tmp_path, moments[1:] + moments[:1])  # the same days, of other rows
    assert main(["resume", record["folder"], *words]) == 2
    assert "not the one this run was trained on" in capsys.readouterr().err
