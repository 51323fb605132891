"""Every optimizer of the catalog trains, is saved, goes on to the same bits, and is exported."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.catalog.whole_way import export, train_and_resume
from tests.training.tiny import tiny
from training.catalog import OPTIMIZERS, Entry
from training.config import RunConfig, dump_config
from training.errors import ConfigError
from training.runs.records.manifest import read_manifest

WITHOUT_MOMENTUM = ("adagrad", "adafactor")


def small(row: Entry, *more: str) -> RunConfig:
    return tiny(
        "precision.device=cpu",
        "dataset.samples=60",
        "loop.max_steps=4",
        "loop.batch_size=12",
        "checkpoints.every_steps=2",
        f"optimizer.kind={row.kind}",
        *more,
    )


@pytest.mark.parametrize("row", OPTIMIZERS, ids=lambda row: row.kind)
def test_trains_and_goes_on_to_the_same_bits(row: Entry, tmp_path: Path) -> None:
    last = train_and_resume(small(row), tmp_path, step=2)
    export(last, tmp_path / "exported")
    form = read_manifest(last).optimizer.implementation
    assert form == ("fused" if row.kind in ("adamw", "adam", "sgd", "adagrad") else "foreach")


@pytest.mark.parametrize("row", OPTIMIZERS, ids=lambda row: row.kind)
def test_with_a_rate_by_depth_accumulation_and_a_scaler(row: Entry, tmp_path: Path) -> None:
    more = ("optimizer.layer_decay=0.5", "optimizer.head_lr_factor=3.0", "loop.accumulation=2", "loop.ema_decay=0.9")
    last = train_and_resume(small(row, *more, "precision.compute=fp16"), tmp_path, step=2)
    groups = torch.load(last / "state.pt", weights_only=True)["optimizer"]["param_groups"]
    assert {group["lr_scale"] for group in groups} == {0.25, 0.5, 3.0}
    assert len(groups) == 6  # two for each of three stages


@pytest.mark.parametrize("kind", WITHOUT_MOMENTUM)
def test_without_momentum_there_is_nothing_to_cycle(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"schedule\.cycle_momentum: Ada.* has no momentum to cycle; switch it off"):
        tiny(f"optimizer.kind={kind}", "schedule.cycle_momentum=true")
    # Nobody asked for it: the defaults go together, and the file of the run says what was taken.
    assert "cycle_momentum = false" in dump_config(tiny(f"optimizer.kind={kind}"))
