"""A table of very many columns costs each column once: no query and no list is gone through for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.training.commands import Captured
from training.cli import main

COLUMNS = 300


def test_columns_are_looked_at_without_a_query_each(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [",".join(str(number * column % 7) for column in range(COLUMNS)) for number in range(30)]
    (tmp_path / "wide.csv").write_text(
        "\n".join([",".join(f"c{number}" for number in range(COLUMNS)), *rows]) + "\n", encoding="utf-8"
    )
    asked = {"collect": 0, "drop_in_place": 0}

    def count(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def counted(*some: Any, **told: Any) -> Any:
            asked[name] += 1
            return real(*some, **told)

        monkeypatch.setattr(kind, name, counted)

    count(pl.LazyFrame, "collect")
    count(pl.DataFrame, "drop_in_place")
    table = ["--set", f"dataset.path={tmp_path / 'wide.csv'}", "--set", "dataset.targets=c1"]
    assert main(["check", "preset:table-classes", *table, "--workspace", str(tmp_path)]) == 0
    assert asked["collect"] < 50
    assert not asked["drop_in_place"]  # each would move all others
    said = capsys.readouterr().err
    assert said.count("is left out: it holds the same in every row; dataset.keep_columns keeps it") == 11
    assert "And so of 33 more columns: each is left out: it holds the same in every row" in said
