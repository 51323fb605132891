"""A cell that is no number in a column of numbers: named wherever it stands, so that held-out rows decide nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from tests.reports import inspect
from tests.training.data.conftest import MakeConfig
from training.data import Data, prepare
from training.errors import InputError

CPU = torch.device("cpu")
HELD = 35
"""A row (from 0) that validates."""


def prepared(make_config: MakeConfig, folder: Path, column: list[str], **settings: Any) -> Data:
    lines = [f"{x},{i % 2},{'train' if i < 30 else 'validation'}" for i, x in enumerate(column)]
    folder.mkdir(exist_ok=True)
    (folder / "t.csv").write_text("x,y,part\n" + "\n".join(lines))
    return prepare(make_config(**sections(folder / "t.csv", **settings)), CPU)


def sections(path: Path, **settings: Any) -> dict[str, Any]:
    dataset = {"kind": "table", "path": str(path), "targets": "y", "split_column": "part"} | settings
    return {"dataset": dataset, "model": {"kind": "tabular"}}


def trained(data: Data) -> list[torch.Tensor]:
    return [batch.inputs for window in data.steps(1) for batch in window]


def with_cell(column: list[str], row: int, cell: str) -> list[str]:
    return [*column[:row], cell, *column[row + 1 :]]


AMOUNTS = [f"{i}.5" for i in range(40)]
LEVELS = [str(9 + i % 3) for i in range(40)]  # 9, 10, 11: as texts in another order


@pytest.mark.parametrize("cell", ["abc", "2020-01-01", "true", "1,5,0"])
@pytest.mark.parametrize("row", [3, HELD])
@pytest.mark.parametrize("column", [AMOUNTS, LEVELS])
def test_a_cell_that_is_no_number_is_named_and_may_be_a_gap(
    make_config: MakeConfig, tmp_path: Path, column: list[str], row: int, cell: str
) -> None:
    quoted = f'"{cell}"'
    with pytest.raises(InputError) as refused:
        prepared(make_config, tmp_path, with_cell(column, row, quoted))
    assert str(refused.value) == (
        f"dataset.features: column 'x' holds numbers, but '{cell}' in row {row + 1}; correct the cell, list '{cell}' in "
        "dataset.missing_marks, or name 'x' in dataset.categorical."
    )
    marks = refused.value.fix["dataset.missing_marks"]
    mended = prepared(make_config, tmp_path, with_cell(column, row, quoted), missing_marks=marks)
    gap = prepared(make_config, tmp_path / "gap", with_cell(column, row, ""))
    assert mended.normalization == gap.normalization
    assert all(map(torch.equal, trained(mended), trained(gap)))


def test_what_the_window_shows_is_refused_as_the_run_is(make_config: MakeConfig, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        prepared(make_config, tmp_path, with_cell(AMOUNTS, HELD, "abc"))
    shown = inspect(make_config(**sections(tmp_path / "t.csv")))
    assert shown["refused"] == str(refused.value)
    assert shown["problems"][0][0] == "dataset.features"
    assert "dataset.missing_marks" in shown["problems"][0][2]


def test_codes_among_which_some_are_numbers_are_categories(make_config: MakeConfig, tmp_path: Path) -> None:
    data = prepared(make_config, tmp_path, [("2", "3", "4", "5more")[i % 4] for i in range(40)])
    assert data.facts.codes == (("2", "3", "4", "5more"),)
    assert "column 'x' is a category: '5more' in row 4 is no number" in data.report.notes


def test_text_of_held_back_rows_alone_makes_no_categories(make_config: MakeConfig, tmp_path: Path) -> None:
    held = LEVELS[:30] + ["more"] * 10
    with pytest.raises(
        InputError, match=r"holds numbers, but 'more' in row 31, which is not trained on; correct"
    ) as refused:
        prepared(make_config, tmp_path, held)
    assert str(refused.value.fix["dataset.missing_marks"]).endswith("'more']")


@pytest.mark.parametrize("cell", ["abc", "-"])
def test_named_categories_are_those_of_the_training_rows_in_their_order(
    make_config: MakeConfig, tmp_path: Path, cell: str
) -> None:
    plain = prepared(make_config, tmp_path / "plain", LEVELS, categorical="x")
    other = prepared(make_config, tmp_path, with_cell(LEVELS, HELD, cell), categorical="x")
    assert other.facts == plain.facts
    assert plain.facts.codes == (("9", "10", "11"),)
    assert all(map(torch.equal, trained(other), trained(plain)))
    shown = next(iter(other.evaluation_batches("validation"))).inputs[:, 0]
    assert shown.tolist() == [0.0 if row == HELD else 1.0 + row % 3 for row in range(30, 40)]


def test_two_ways_to_write_one_number_are_refused_beside_held_back_text(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    column = with_cell([f"0{i % 3}" for i in range(40)], HELD, "abc")
    with pytest.raises(
        InputError, match="'abc' in row 36, which is not trained on; correct the cell, or list 'abc' in "
    ):
        prepared(make_config, tmp_path, column, categorical="x")


def test_decimal_commas_are_numbers_there_too(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{'abc' if i == HELD else f'{i},5'};{i % 2};{'train' if i < 30 else 'validation'}" for i in range(40)]
    (tmp_path / "t.csv").write_text("x;y;part\n" + "\n".join(lines))
    with pytest.raises(InputError, match="column 'x' holds numbers, but 'abc' in row 36; correct"):
        prepare(make_config(**sections(tmp_path / "t.csv")), CPU)


def test_numbers_with_commas_in_quotes_are_numbers_unless_the_settings_say_otherwise(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    column = [('"1,5"', '"2,5"')[i % 2] for i in range(40)]
    data = prepared(make_config, tmp_path, column)
    assert data.source.read_all()[:2].tolist() == [[1.5], [2.5]]
    assert "numbers are read with decimal commas, 1,5 as 1.5; dataset.decimal says otherwise" in data.report.notes
    data = prepared(make_config, tmp_path, column, thousands="none")
    assert data.facts.codes == (("1,5", "2,5"),)
    with pytest.raises(InputError, match="column 'x' holds text, which is no number to predict"):
        prepared(make_config, tmp_path, ['"1,5"'] * 40, targets="x", task="values", thousands="none")
    lines = [f"{i},5; {i},5 ;{i % 2}" for i in range(40)]  # with spaces, which polars takes for text
    (tmp_path / "s.csv").write_text("a;b;y\n" + "\n".join(lines))
    config = make_config(dataset={"kind": "table", "path": str(tmp_path / "s.csv")}, model={"kind": "tabular"})
    assert prepare(config, CPU).facts.columns == ("a", "b")


def test_parquet_has_no_marks_to_name(make_config: MakeConfig, tmp_path: Path) -> None:
    columns = {"x": with_cell(AMOUNTS, HELD, "abc"), "y": [0, 1] * 20, "part": ["train"] * 30 + ["test"] * 10}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        InputError, match=r"'abc' in row 36; correct the cell, or name 'x' in dataset\.categorical\.$"
    ) as refused:
        prepare(make_config(**sections(tmp_path / "t.parquet")), CPU)
    assert refused.value.fix == {"dataset.categorical": ["x"]}


def test_a_target_of_numbers_names_its_cell(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{i},{'abc' if i == HELD else f'{i}.5'}" for i in range(40)]
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(lines))
    dataset = {"kind": "table", "path": str(tmp_path / "t.csv")}
    with pytest.raises(
        InputError, match=r"^dataset.targets: column 'y' holds numbers, but 'abc' in row 36; mend that row, or"
    ):
        prepare(make_config(dataset=dataset, model={"kind": "tabular"}), CPU)
