"""Which columns matter: the one that decides, with all that is made of it, and not the noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from training.cli import main
from training.config import parse_config
from training.engine.runs.run import start_run
from training.evaluation.importance import group_features
from training.facts import DataFacts, Derivation, TableForm
from training.predictions import read
from training.predictions.importance import FILE, read_importance


def train(folder: Path, target: str, objective: str) -> Path:
    """A run on 900 rows: "decides" says nearly all, "gaps" a little where it is known, "noise" and "kind" nothing."""
    random = np.random.default_rng(0)
    decides, gaps, noise = random.normal(size=(3, 900))
    amount = 3 * decides + 0.5 * gaps + 0.1 * random.normal(size=900)
    known = random.random(900) < 0.7
    kinds = random.choice(["red", "green", "blue"], 900)
    frame = pl.DataFrame({"noise": noise, "decides": decides, "gaps": np.where(known, gaps, np.nan), "kind": kinds})
    frame = frame.with_columns(
        pl.col("gaps").fill_nan(None), amount=pl.Series(amount), sort=pl.Series(np.where(amount > 0, "high", "low"))
    )
    frame.drop("sort" if target == "amount" else "amount").write_csv(folder / "rows.csv")
    dataset = {"kind": "table", "path": str(folder / "rows.csv"), "targets": [target], "missing_indicator": True}
    config: dict[str, Any] = {
        "name": "rows",
        "dataset": dataset,
        "model": {"kind": "tabular", "hidden": [16]},
        "objective": {"kind": objective},
        "optimizer": {"kind": "adamw", "lr": 1e-2},
        "loop": {"epochs": 8, "batch_size": 64},
    }
    return Path(start_run(parse_config(config), folder).folder)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "objective"), [("amount", "regression"), ("sort", "classification")])
def test_the_column_that_decides_is_told_from_noise(
    target: str, objective: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path, target, objective)
    assert main(["evaluate", str(run), "--importance", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    columns = {column["name"]: column for column in told["importance"]["columns"]}
    assert next(iter(columns)) == "decides"
    assert set(columns) == {"noise", "decides", "gaps", "kind"}  # gaps with the feature that marks them
    for name in ("noise", "kind"):
        assert columns[name]["low"] <= 0.0 <= columns[name]["high"] + 0.01
        assert abs(columns[name]["drop"]) < 0.05
    first = columns["decides"]
    assert first["low"] <= first["drop"] <= first["high"]
    # Without what decides, half the rows are right, and R2 is negative: the shuffled values are believed.
    assert first["low"] > (0.3 if objective == "classification" else 1.0)
    # It is kept, read without torch, and bound to its evaluation.
    evaluation = read(Path(told["folder"]))
    kept = (evaluation.folder / FILE).read_bytes()
    known = read_importance(evaluation)
    assert known is not None
    assert json.loads(known.model_dump_json()) == told["importance"]
    assert main(["evaluate", str(run), "--importance"]) == 0
    assert (evaluation.folder / FILE).read_bytes() == kept
    assert "noise" in capsys.readouterr().err
    (evaluation.folder / FILE).write_bytes(kept.replace(b"noise", b"nolse"))
    assert read_importance(evaluation) is None
    assert main(["evaluate", str(run), "--importance", "--again"]) == 0
    assert (evaluation.folder / FILE).read_bytes() == kept


def test_features_of_a_column_go_together() -> None:
    parts = tuple(Derivation("sold", part) for part in ("year", "month"))
    facts = DataFacts(
        layout="vector",
        shape=(5,),
        target="class",
        names=("a", "b"),
        columns=("price", "sold year", "sold month", "price missing", "area"),
        table=TableForm((None, *parts, None, None)),
    )
    assert group_features(facts, True) == {"price": [0, 3], "sold": [1, 2], "area": [4]}
    assert group_features(facts, False)["price missing"] == [3]
