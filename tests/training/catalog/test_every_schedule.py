"""Every schedule of the catalog drives a run, which goes on to the same bits, and is exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.catalog.whole_way import export, train_and_resume
from tests.training.tiny import tiny
from training.catalog import SCHEDULES, Entry
from training.runs.records.series import read_series
from training.schedules import describe, make_schedule

SHORT = {
    "cosine_restarts": "schedule.t_0=2",
    "step": "schedule.step_size=1",
    "multi_step": "schedule.milestones=[1, 3]",
}


@pytest.mark.parametrize("row", SCHEDULES, ids=lambda row: row.kind)
def test_trains_and_goes_on_to_the_same_bits(row: Entry, tmp_path: Path) -> None:
    config = tiny(
        "precision.device=cpu",
        "dataset.samples=60",
        "loop.max_steps=4",
        "loop.batch_size=12",
        "loop.validate_every_steps=1",
        "checkpoints.every_steps=2",
        f"schedule.kind={row.kind}",
        *([SHORT[row.kind]] if row.kind in SHORT else []),
        *(("schedule.patience=0", "checkpoints.monitor=val/loss") if row.kind == "plateau" else ()),
    )
    last = train_and_resume(config, tmp_path, step=2)
    export(last, tmp_path / "exported")
    rates = read_series(last.parent.parent / "series.bin")["lr"].tolist()
    if row.kind != "plateau":
        schedule = make_schedule(config.schedule, config.optimizer.lr, 4, 4)
        assert rates == [schedule.lr(step) for step in range(4)]
    assert describe(config.schedule, config.optimizer.lr).endswith(".")


@pytest.mark.parametrize("kind", ["cosine", "one_cycle"])
def test_a_run_by_epochs_goes_on_to_the_same_bits(kind: str, tmp_path: Path) -> None:
    config = tiny(
        "precision.device=cpu",
        "dataset.samples=60",
        "loop.batch_size=12",
        "loop.max_steps=10",
        "checkpoints.every_steps=2",
        "checkpoints.keep_last=99",
        f"schedule.kind={kind}",
        "schedule.every=epoch",
        *(["schedule.warmup=1 epoch"] if kind == "cosine" else []),
    )
    last = train_and_resume(config, tmp_path, step=6)
    rates = read_series(last.parents[1] / "series.bin")["lr"].tolist()
    per_epoch = rates.index(next(rate for rate in rates if rate != rates[0]))
    assert len(set(rates)) == -(-len(rates) // per_epoch)  # a staircase
