"""Rows of a table: roles, targets, codes and gaps, learned from the training rows alone."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from tests.training.data.conftest import MakeConfig
from tests.training.data.made_tables import open_rows
from training.config import RunConfig
from training.data import Data, prepare
from training.data.source import Opening
from training.data.sources import open_source
from training.errors import ConfigError, InputError

CPU = torch.device("cpu")
NAN = float("nan")


def rows(*columns: str, count: int = 40) -> str:
    """A table of a, b, kind and the given columns."""
    kinds, first = ["red", "green", "blue"], "a,b,kind" + "".join(f",{name}" for name in columns)
    lines = [f"{i},{i % 7}.5,{kinds[i % 3]}" + "".join(f",{i % 2}" for _ in columns) for i in range(count)]
    return "\n".join([first, *lines]) + "\n"


def prepared(make_config: MakeConfig, folder: Path, content: str, **sections: Any) -> Data:
    (folder / "t.csv").write_text(content, encoding="utf-8")
    dataset = {"kind": "table", "path": str(folder / "t.csv"), **sections.pop("dataset", {})}
    return prepare(make_config(dataset=dataset, model={"kind": "tabular"}, **sections), CPU)


def test_roles_default_to_the_last_column_from_all_others(tmp_path: Path) -> None:
    table = open_rows(tmp_path, rows(), keep_columns="a")
    assert table.columns == ("a", "b")
    assert table.target == "class"
    assert table.classes == ("blue", "green", "red")
    assert table.notes == (
        "predicts the last column, 'kind'; dataset.targets chooses another",
        "column 'a' numbers the rows; dataset.ignored leaves it out",
    )
    assert table.targets[:3].tolist() == [2, 1, 0]
    assert table.read(torch.tensor([5, 0])).tolist() == [[5.0, 5.5], [0.0, 0.5]]
    assert table.name(5) == "row 6"
    assert table.fingerprint == hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()


def test_roles_are_taken_as_they_are_given(tmp_path: Path) -> None:
    table = open_rows(tmp_path, rows("extra"), targets="b", features=["kind", "a"])
    assert (table.columns, table.classes, table.target) == (("kind", "a"), ("b",), "values")
    assert table.targets.shape == (40, 1)
    assert table.targets[:3, 0].tolist() == [0.5, 1.5, 2.5]
    assert open_rows(tmp_path, rows("extra"), targets="b", ignored="extra, a").columns == ("kind",)


@pytest.mark.parametrize(
    ("values", "task", "target"),
    [
        (["x", "y"], "auto", "class"),
        (["true", "false"], "auto", "class"),
        (["3", "7"], "auto", "class"),
        (["3", "7"], "values", "values"),
        (["0", "1"], "labels", "labels"),
        (["1.5", "7"], "auto", "values"),
        ([str(number) for number in range(21)], "auto", "values"),
        ([str(number) for number in range(20)], "auto", "class"),
        ([str(number) for number in range(21)], "class", "class"),
    ],
)
def test_the_task_follows_from_the_target(tmp_path: Path, values: list[str], task: str, target: str) -> None:
    lines = [f"{i},{values[i % len(values)]}" for i in range(60)]
    table = open_rows(tmp_path, "a,y\n" + "\n".join(lines), task=task)
    assert table.target == target
    assert table.targets.dtype == (torch.int64 if target == "class" else torch.float32)


def test_whole_numbers_and_truths_make_classes_in_their_order(tmp_path: Path) -> None:
    assert open_rows(tmp_path, "a,y\n1,10\n2,9\n3,-1\n4,10\n").classes == ("-1", "9", "10")
    assert open_rows(tmp_path, "a,y\n1,true\n2,false\n").classes == ("false", "true")


def test_several_columns_of_0_and_1_are_labels_and_other_numbers_values(tmp_path: Path) -> None:
    labels = open_rows(tmp_path, "a,p,q\n1,0,true\n2,1,false\n3,1,true\n", targets="p, q")
    assert (labels.target, labels.classes) == ("labels", ("p", "q"))
    assert labels.targets.tolist() == [[0, 1], [1, 0], [1, 1]]
    values = open_rows(tmp_path, "a,p,q\n1,0,2\n2,1,5\n", targets="p, q")
    assert (values.target, values.targets.tolist()) == ("values", [[0, 2], [1, 5]])


def test_rows_without_a_target_are_left_out_and_told(tmp_path: Path) -> None:
    table = open_rows(tmp_path, "a,y\n1,x\n2,\n3,y\n4,NA\n")
    assert table.targets.tolist() == [0, 1]
    assert "2 rows without a target skipped, the first is row 2" in table.notes
    assert [table.name(number) for number in (0, 1)] == ["row 1", "row 3"]


def test_numbers_that_float32_cannot_tell_apart_are_named(tmp_path: Path) -> None:
    table = open_rows(
        tmp_path, "time,fine,y\n" + "".join(f"{1.7e9 + i},{1.7e9 + i * i * 1e6},{i % 7}.5\n" for i in range(12))
    )
    assert "column 'time' differs only in its last digits, which float32 rounds" in "\n".join(table.notes)
    assert not any("'fine'" in note or "'y' differs" in note for note in table.notes)


SENTENCES = [
    ({"targets": "knd"}, rows(), "dataset.targets: the table has no column 'knd'; did you mean 'kind'"),
    ({"features": "a, zzz"}, rows(), "dataset.features: the table has no column 'zzz'; its columns are a, b, kind"),
    ({"group_column": "who"}, rows(), "dataset.group_column: the table has no column 'who'"),
    ({}, "kind\nx\ny\n", "dataset.features: no column is left to predict from"),
    ({"features": "a, when"}, "a,when,y\n1,99.99.2020,x\n2,88.88.2021,y\n", "column 'when' holds dates or times in no form"),
    ({"features": "a, gap"}, "a,gap,y\n1,,x\n2,,y\n", "column 'gap' is empty"),
    ({}, "a,far,y\n1,1.5,x\n2,inf,y\n", "column 'far' holds an infinite number in row 2"),
    ({}, "a,far,y\n1,1.5,x\n2,1e39,y\n", r"column 'far' holds the number 1e\+39, which is too large, in row 2"),
    ({"targets": "y"}, "a,y\n1,1.5\n2,\n3,-1e39\n", r"'y' holds the number -1e\+39, which is too large, in row 3; mend"),
    ({"targets": "y"}, "a,y\n1,1.5\n2,inf\n", "dataset.targets: column 'y' holds an infinite number in row 2; mend"),
    ({"categorical": "a"}, "a,y\n1.5,x\n2,y\n", "column 'a' holds fractions, which are no categories"),
    ({"task": "class"}, "a,y\n1,1.5\n2,2.5\n", "column 'y' holds fractions, which are no classes; set dataset.task to values"),
    ({"task": "values"}, rows(), "column 'kind' holds text, which is no number to predict"),
    ({"task": "labels", "targets": "b"}, rows(), "column 'b' holds more than 0 and 1, so it is no label"),
    ({"task": "class", "targets": "a, b"}, rows(), "a class is one column; name one, or set dataset.task to labels"),
    ({"targets": "y"}, "a,y\n1,2020-01-02\n2,2020-01-03\n", "column 'y' holds dates or times; choose another column to predict"),
    ({}, "n,y\n" + "".join(f"name {i},{i % 2}\n" for i in range(300)), "no column is left .*: column 'n' has another text in every"),
    ({"targets": "y"}, "a,y\n" + "".join(f"1,name {i}\n" for i in range(300)), "'y' has another text in most rows; choose a"),
    ({"split_column": "s"}, "a,s,y\n1,train,x\n2,holdout,y\n", "column 's' says 'holdout'; write train, validation or test"),
    ({"split_column": "s"}, "a,s,y\n1,test,x\n2,test,y\n", "column 's' gives no row to train on"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "content", "sentence"), SENTENCES)
def test_what_cannot_be_is_said_in_a_sentence(
    tmp_path: Path, settings: dict[str, Any], content: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        open_rows(tmp_path, content, **settings)
    assert str(refused.value).startswith("dataset.")


def test_what_cannot_be_a_feature_is_left_out_by_the_proposed_setting(tmp_path: Path) -> None:
    content = "a,far,gap,y\n1,inf,,x\n2,2,,y\n"
    with pytest.raises(InputError) as refused:
        open_rows(tmp_path, content)
    assert refused.value.fix == {"dataset.ignored": ["far"]}
    assert open_rows(tmp_path, content, ignored=refused.value.fix["dataset.ignored"]).columns == ("a",)


def test_codes_are_those_of_the_training_rows_and_0_is_unknown(tmp_path: Path) -> None:
    table = open_rows(tmp_path, "c,n,y\nred,4,x\nblue,7,y\nred,,x\n,4,y\ngreen,9,y\n", categorical="n")
    table = table.fit(torch.tensor([0, 1, 2, 3]))
    assert table.columns == ("c", "n")
    assert table.codes == (("blue", "red"), ("4", "7"))
    assert table.categories == (3, 3)
    assert table.read(torch.arange(5)).tolist() == [[2, 1], [1, 2], [2, 0], [0, 1], [0, 0]]
    assert table.read_all().tolist() == table.read(torch.arange(5)).tolist()
    again = table.fit(torch.tensor([0, 4]))
    assert again.codes == (("green", "red"), ("4", "9"))


def test_gaps_become_the_mean_of_the_training_rows_and_may_be_marked(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{'' if i % 5 == 0 else i * 3.0},{i},{i % 2},{'train' if i < 30 else 'validation'}" for i in range(40)]
    content = "gappy,whole,y,part\n" + "\n".join(lines)
    data = prepared(
        make_config,
        tmp_path,
        content,
        dataset={"split_column": "part", "missing_indicator": True, "targets": "y", "keep_columns": "whole"},
    )
    assert data.facts.columns == ("gappy", "whole", "gappy missing")
    known = np.array([i * 3.0 for i in range(30) if i % 5], dtype=np.float64)
    assert data.normalization.mean[0] == pytest.approx(known.mean(), rel=1e-12)
    assert data.normalization.std[0] == pytest.approx(known.std(), rel=1e-12)
    inputs = next(iter(data.evaluation_batches("validation"))).inputs
    assert inputs[0, 0] == inputs[5, 0] == 0.0  # rows 31 and 36 of the file: nothing known, so the mean
    expected = (np.arange(31, 35) * 3.0 - known.mean()) / known.std()
    assert inputs[1:5, 0].numpy() == pytest.approx(expected, abs=1e-5)
    assert inputs.isfinite().all()


def planted(make_config: MakeConfig, folder: Path, cell: str, number: str) -> Data:
    """Three columns, row 35 of which validates and says ``cell`` and ``number``."""
    lines = [f"{'abc'[i % 3]},{i * 0.5},{i % 2},{'train' if i < 30 else 'validation'}" for i in range(40)]
    lines[35] = f"{cell},{number},1,validation"
    folder.mkdir()
    content = "c,n,y,part\n" + "\n".join(lines)
    settings = {"split_column": "part", "targets": "y", "missing_indicator": True}
    return prepared(make_config, folder, content, dataset=settings)


def test_what_a_validation_row_says_changes_nothing_that_is_learned(make_config: MakeConfig, tmp_path: Path) -> None:
    plain = planted(make_config, tmp_path / "plain", "a", "1.0")
    for name, cell, number in (("new", "aaa-never-trained", "1e9"), ("gap", "", "")):
        other = planted(make_config, tmp_path / name, cell, number)
        assert other.facts == plain.facts
        assert other.normalization == plain.normalization
        windows = [list(data.steps(1)) for data in (plain, other)]
        assert len(windows[0]) == len(windows[1])
        for first, second in zip(plain.steps(1), other.steps(1), strict=True):
            for one, two in zip(first, second, strict=True):
                assert torch.equal(one.inputs, two.inputs)
        batch = next(iter(other.evaluation_batches("validation"))).inputs
        assert batch[5, 0] == 0  # unknown, as the code 0 says
    assert plain.facts.codes == (("a", "b", "c"), ())


def test_categories_that_no_row_trained_on_are_still_two_when_duplicates_are_dropped(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    trained = "".join(f"{number},{'rg'[number % 2]},{number % 2},train\n" for number in range(20)) + "50,,0,train\n"
    held = "50,violet,0,validation\n50,,0,validation\n3,g,1,validation\n3,cyan,1,validation\n60,r,0,validation\n"
    dataset = {"split_column": "part", "targets": "y", "duplicates": "drop_from_validation"}
    data = prepared(make_config, tmp_path, "a,color,y,part\n" + trained + held, dataset=dataset)
    assert [data.source.name(int(row)) for row in data.splits["validation"]] == ["row 22", "row 25", "row 26"]
    assert "2 held-out samples removed, since they are trained on, too" in data.report.notes


def test_a_class_that_does_not_train_is_told(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{i},{'xy'[i % 2] if i < 30 else 'z'},{'train' if i < 30 else 'val'}" for i in range(40)]
    content = "a,y,part\n" + "\n".join(lines)
    with pytest.raises(InputError, match="No training sample belongs to class z, which only held-out samples have"):
        prepared(make_config, tmp_path, content, dataset={"split_column": "part", "targets": "y"})
    with pytest.raises(InputError, match=r"The target has one class only \(x\)"):
        prepared(make_config, tmp_path, "a,y\n1,x\n2,x\n3,x\n", dataset={})


def test_a_target_that_never_changes_is_refused(make_config: MakeConfig, tmp_path: Path) -> None:
    content = "a,y\n" + "".join(f"{i},2.5\n" for i in range(20))
    with pytest.raises(InputError, match=r"dataset.targets: every training sample has the same y, so there is nothing"):
        prepared(make_config, tmp_path, content, objective={"kind": "regression"})


def test_groups_stay_together_and_a_gap_is_a_group_of_its_own(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{i},{i % 2},{f'person {i // 4}' if i < 80 else ''}" for i in range(100)]
    content = "a,y,who\n" + "\n".join(lines)
    data = prepared(make_config, tmp_path, content, dataset={"group_column": "who", "targets": "y"})
    train, held = (set(data.splits[part].tolist()) for part in ("train", "validation"))
    assert len(train) + len(held) == 100
    assert 15 <= len(held) <= 25
    for person in range(20):
        members = {4 * person + number for number in range(4)}
        assert members <= train or members <= held
    assert data.facts.columns == ("a",)


def test_a_column_gives_the_parts(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"{i},{i % 2},{('train', 'Val', 'TEST', 'training')[i % 4]}" for i in range(40)]
    content = "a,y,part\n" + "\n".join(lines)
    data = prepared(make_config, tmp_path, content, dataset={"split_column": "part", "targets": "y"})
    assert data.splits["validation"].tolist() == list(range(1, 40, 4))
    assert data.splits["test"].tolist() == list(range(2, 40, 4))
    on_test = prepared(
        make_config, tmp_path, content, dataset={"split_column": "part", "targets": "y", "validation": "test"}
    )
    assert on_test.splits["validation"].tolist() == list(range(2, 40, 4))


@pytest.mark.slow
def test_streamed_is_resident_with_any_number_of_workers(make_config: MakeConfig, tmp_path: Path) -> None:
    content = rows("extra", count=90)

    def batches(**loader: Any) -> list[torch.Tensor]:
        loop = {"batch_size": 8}
        with prepared(make_config, tmp_path, content, loader=loader, loop=loop) as data:
            made = [batch.inputs for window in data.steps(2) for batch in window]
            return made + [batch.targets for batch in data.evaluation_batches("validation")]

    resident = batches(mode="resident")
    for loader in ({"mode": "streamed", "workers": 0}, {"mode": "streamed", "workers": 2}):
        for one, two in zip(resident, batches(**loader), strict=True):
            assert torch.equal(one, two)


def test_parquet_is_the_same_table(make_config: MakeConfig, tmp_path: Path) -> None:
    csv = prepared(make_config, tmp_path, rows())
    pl.read_csv(tmp_path / "t.csv").write_parquet(tmp_path / "t.parquet")
    config = make_config(dataset={"kind": "table", "path": str(tmp_path / "t.parquet")}, model={"kind": "tabular"})
    parquet = prepare(config, CPU)
    assert parquet.facts == csv.facts
    assert torch.equal(parquet.source.read_all(), csv.source.read(torch.arange(40)))


def test_a_preview_says_what_a_run_will_see(make_config: MakeConfig, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(rows())
    config: RunConfig = make_config(
        dataset={"kind": "table", "path": str(tmp_path / "t.csv")}, model={"kind": "tabular"}
    )
    seen = open_source(config.dataset, Opening(check=False))
    run = open_source(config.dataset)
    assert seen.fingerprint == ""
    assert (seen.classes, seen.columns, seen.shape) == (run.classes, run.columns, run.shape)


def test_a_task_that_the_data_is_not_for_is_told_when_the_data_is_opened(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match=r"objective.kind: classification needs one class .*choose regression"
    ) as refused:
        prepared(make_config, tmp_path, rows(), dataset={"targets": "b"})
    assert isinstance(refused.value, ConfigError)
    assert refused.value.problems[0].fix == {"objective.kind": "regression"}
    with pytest.raises(ConfigError, match=r"objective.kind: classification needs one class"):  # by the settings alone
        make_config(
            dataset={"kind": "table", "path": str(tmp_path / "t.csv"), "task": "values"},
            model={"kind": "tabular"},
            objective={"kind": "classification"},
        )
