"""Rows of a table put together by query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.data.conftest import MakeConfig
from training.config.sections.data.tables import RankingDataset
from training.data import prepare
from training.data.source import Opening
from training.data.sources.ranking import Queries, open_ranking
from training.errors import ConfigError, InputError

NAN = float("nan")
CONTENT = (
    "query,a,kind,grade\nq2,1,x,0\nq1,2,y,3\nq2,3,x,1\nalone,9,x,1\nq1,4,z,2\nq2,5,y,4\nq3,6,x,\nq3,7,y,1\nq3,8,,0\n"
)


def opened(folder: Path, content: str = CONTENT, **settings: Any) -> Queries:
    (folder / "t.csv").write_text(content)
    return open_ranking(RankingDataset.model_validate({"path": str(folder / "t.csv"), **settings}), Opening())


def test_a_query_has_its_rows_in_order_filled_up_with_nothing(tmp_path: Path) -> None:
    source = opened(tmp_path)
    assert (source.layout, source.target, source.classes, source.shape) == ("list", "ranks", ("grade",), (3, 2))
    assert [source.name(number) for number in range(3)] == ["query q1", "query q2", "query q3"]
    assert source.targets.nan_to_num(-1).tolist() == [[3, 2, -1], [0, 1, 4], [1, 0, -1]]
    source = source.fit(torch.tensor([0, 1]))
    assert source.codes == ((), ("x", "y", "z"))
    items = source.read(torch.tensor([2, 0])).nan_to_num(-1)
    assert items.tolist() == [[[7, 2], [8, 0], [-1, 0]], [[2, 2], [4, 3], [-1, 0]]]
    assert "1 query of a single row skipped" in source.notes
    assert "1 row without a target skipped, the first is row 7" in source.notes
    source = source.fit(torch.tensor([2]))  # another split: of its rows alone
    assert source.codes == ((), ("y",))


def test_longer_queries_are_cut_and_that_is_told(tmp_path: Path) -> None:
    source = opened(tmp_path, max_items=2)
    assert source.shape == (2, 2)
    assert source.targets.tolist() == [[3, 2], [0, 1], [1, 0]]
    assert "of longer queries only the first 2 rows are used (1 row skipped)" in source.notes


def test_what_is_learned_comes_from_the_queries_that_train(make_config: MakeConfig, tmp_path: Path) -> None:
    def data(planted: str) -> Any:
        lines = [f"q{i // 3},{i}.5,{'xy'[i % 2]},{i % 3},{'train' if i < 30 else 'validation'}" for i in range(39)]
        lines[35] = planted
        (tmp_path / "t.csv").write_text("query,a,kind,grade,part\n" + "\n".join(lines))
        dataset = {"kind": "ranking", "path": str(tmp_path / "t.csv"), "split_column": "part", "targets": "grade"}
        config = make_config(dataset=dataset, model={"kind": "tabular"}, objective={"kind": "ranking"})
        return prepare(config, torch.device("cpu"))

    plain, other = data("q11,1.5,x,1,validation"), data("q11,1e6,never seen,1,validation")
    assert plain.facts == other.facts
    assert plain.normalization == other.normalization
    assert plain.splits["validation"].tolist() == other.splits["validation"].tolist()
    assert len(plain.splits["validation"]) == 3


def test_queries_of_unknown_categories_are_not_those_without_one(make_config: MakeConfig, tmp_path: Path) -> None:
    trained = "".join(f"t{row // 2},{row}.5,{'xy'[row % 2]},{row % 3},train\n" for row in range(20))
    trained += "gap,1,,0,train\ngap,2,x,1,train\n"
    held = "".join(
        f"{name},1,{kind},0,validation\n{name},2,x,1,validation\n" for name, kind in (("u", "new"), ("v", ""))
    )
    (tmp_path / "t.csv").write_text("query,a,kind,grade,part\n" + trained + held)
    dataset = {"kind": "ranking", "path": str(tmp_path / "t.csv"), "split_column": "part", "targets": "grade"}
    dataset["duplicates"] = "drop_from_validation"
    config = make_config(dataset=dataset, model={"kind": "tabular"}, objective={"kind": "ranking"})
    data = prepare(config, torch.device("cpu"))
    assert [data.source.name(int(row)) for row in data.splits["validation"]] == ["query u"]


@pytest.mark.parametrize(
    ("settings", "content", "sentence"),
    [
        ({}, "query,a,grade\n1,2,3\n2,3,4\n", "dataset.query_column: no query has two rows"),
        ({"query_column": "who"}, CONTENT, "dataset.query_column: the table has no column 'who'"),
        ({"targets": "a, grade"}, CONTENT, "dataset.targets: items are ranked by one column; name one"),
        (
            {},
            "query,a,grade\n1,2,\n1,3,1e39\n1,3,3\n",
            r"dataset.targets: column 'grade' holds the number 1e\+39, which is too large, in row 2; mend",
        ),
        ({"targets": "kind"}, CONTENT, "column 'kind' holds text, which is no number to predict"),
        ({}, "query,a,grade\n1,2,3\n,3,4\n1,3,3\n", "dataset.query_column: some rows have nothing in column 'query'"),
        (
            {"split_column": "part"},
            "query,a,part,grade\n1,2,train,3\n1,3,test,4\n",
            "column 'part' puts rows of one query into two parts; keep a query together",
        ),
    ],
)
def test_what_cannot_be_ranked_is_said_in_a_sentence(
    tmp_path: Path, settings: dict[str, Any], content: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        opened(tmp_path, content, **settings)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"targets": ["a"], "features": ["b", "a"]}, "features: 'a' stands in dataset.targets, too"),
        ({"features": ["b", "a"], "ignored": ["b"]}, "ignored: 'b' stands in dataset.features, too"),
        ({"targets": ["a"], "group_column": "a"}, "group_column: 'a' stands in dataset.targets, too"),
    ],
)
def test_a_column_has_one_role(make_config: MakeConfig, tmp_path: Path, settings: dict[str, Any], field: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match=f"dataset.{field}; take it out of one of them"):
        make_config(dataset={"kind": "table", "path": str(tmp_path / "t.csv"), **settings}, model={"kind": "tabular"})


@pytest.mark.parametrize("setting", ["targets", "features"])
def test_a_column_stands_once_in_its_role(make_config: MakeConfig, tmp_path: Path, setting: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    dataset = {"kind": "table", "path": str(tmp_path / "t.csv"), setting: ["b", "a", "b"]}
    with pytest.raises(
        ConfigError, match=f"dataset.{setting}: names the column 'b' twice; take one of them out"
    ) as refused:
        make_config(dataset=dataset, model={"kind": "tabular"})
    assert refused.value.problems[0].fix == {f"dataset.{setting}": ["b", "a"]}


def test_queries_without_any_order_are_refused(make_config: MakeConfig, tmp_path: Path) -> None:
    lines = [f"q{i // 3},{i}.5,{i // 3},{'train' if i < 30 else 'validation'}" for i in range(39)]
    lines[35] = "q11,1.5,99,validation"  # held out: nothing is learned of it
    (tmp_path / "t.csv").write_text("query,a,grade,part\n" + "\n".join(lines))
    dataset = {"kind": "ranking", "path": str(tmp_path / "t.csv"), "split_column": "part", "targets": "grade"}
    config = make_config(dataset=dataset, model={"kind": "tabular"}, objective={"kind": "ranking"})
    with pytest.raises(InputError, match="No training query has two items of different rank in grade"):
        prepare(config, torch.device("cpu"))
