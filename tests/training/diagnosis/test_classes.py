"""What a run tells of single classes at its end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


def train(folder: Path, middles: dict[str, float]) -> dict[str, Finding]:
    """What is told of a run on a table of three classes, each around its own value of ``middles``; b is the rarest."""
    draws = np.random.default_rng(0)
    rows = [
        f"{value},{draws.normal()},{name}"
        for name, count in (("a", 400), ("b", 240), ("c", 400))
        for value in draws.normal(middles[name], 0.3, count)
    ]
    (folder / "t.csv").write_text("x,noise,kind\n" + "\n".join(draws.permutation(rows).tolist()) + "\n")
    table = ("dataset.kind=table", f"dataset.path={folder / 't.csv'}", "dataset.targets=kind")
    config = tiny(*table, "model.kind=mlp", "loop.epochs=12", "checkpoints.every_steps=none", "model.dropout=0")
    run = RunFolder(Path(start_run(config, folder / "workspace").folder))
    return {each.key: each for each in read_history(run.events_file).findings}


@pytest.mark.parametrize("alike", [True, False])
def test_a_class_that_is_taken_for_one_other(tmp_path: Path, alike: bool) -> None:
    told = train(tmp_path, {"a": -3.0, "b": 2.0 if alike else 0.0, "c": 2.0})
    assert ("label.mixed_up:b" in told) is alike
    if alike:
        assert told["label.mixed_up:b"].level == "warning"
        assert "nearly all others are taken for c" in told["label.mixed_up:b"].title
