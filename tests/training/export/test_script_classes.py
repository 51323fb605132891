"""Scripts of runs on some of the classes: read by themselves or beside the script, they keep what the run kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.data.data_with_classes import KINDS
from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script_data import assert_repeated, changed
from training.config import RunConfig, parse_config
from training.data.sources import open_source

SMALL: dict[str, Any] = {
    "loop": {"max_steps": 3, "batch_size": 4, "validation_batch_size": 4},
    "schedule": {"kind": "constant"},
    "checkpoints": {"every_steps": 3},
}


def some_classes(kind: str, place: Path) -> RunConfig:
    """The last and the first of three, in that order."""
    data = KINDS[kind](place)
    vectors = data["kind"] in ("npz", "table")
    model: dict[str, Any] = (
        {"kind": "mlp", "hidden": [4]} if vectors else {"kind": "small_cnn", "channels": [4, 8], "hidden": 4}
    )
    first, _, last = open_source(parse_config({"dataset": data}, about=("dataset",)).dataset).classes
    return changed(parse_config({"dataset": data, "model": model, **SMALL}), f"dataset.classes={last}, {first}", CPU)


@pytest.mark.parametrize("kind", KINDS)
def test_the_script_keeps_what_the_run_kept(kind: str, train: Train, tmp_path: Path) -> None:
    assert_repeated(train(some_classes(kind, tmp_path / "data")), tmp_path)
