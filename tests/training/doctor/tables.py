"""Tables made on the spot, healthy ones and ones with a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tests.training.tiny import tiny
from training.config import RunConfig
from training.doctor.quick import quick_findings
from training.engine.assemble import assemble
from training.events import Finding

ROWS = 400
Columns = Mapping[str, Sequence[object] | np.ndarray]


def honest(seed: int = 0) -> dict[str, np.ndarray]:
    """Three columns, of which two together tell the class, and each alone only a part of it."""
    numbers = np.random.default_rng(seed)
    a, b = numbers.normal(size=ROWS), numbers.normal(size=ROWS)
    return {"a": a, "b": b, "c": numbers.integers(0, 5, ROWS), "y": np.where(a + b > 0, "yes", "no")}


def table_config(folder: Path, columns: Columns, target: str, *overrides: str) -> RunConfig:
    pl.DataFrame({name: pl.Series(list(values)) for name, values in columns.items()}).write_csv(folder / "t.csv")
    values = not isinstance(next(iter(columns[target])), str)
    return tiny(
        "dataset.kind=table",
        f"dataset.path={folder / 't.csv'}",
        f'dataset.targets=["{target}"]',
        "model.kind=tabular",
        *(["objective.kind=regression", "dataset.task=values"] if values else []),
        *overrides,
    )


def look(folder: Path, columns: Columns, target: str, *overrides: str) -> dict[str, Finding]:
    """What is found above a note, by its code and place."""
    session = assemble(table_config(folder, columns, target, *overrides), lambda text, share: None)
    try:
        return {item.key: item for item in quick_findings(session) if item.level in ("warning", "error")}
    finally:
        session.data.close()
