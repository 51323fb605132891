"""The exported script follows every schedule as the engine does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import some_of
from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny

SCHEDULES = [
    ("constant", "warmup=5"),
    ("linear", "warmup=3", "end_factor=0.1"),
    ("cosine", "eta_min=1e-5"),
    ("cosine_restarts", "t_0=6", "t_mult=2", "warmup=4"),
    ("step", "step_size=9"),
    ("multi_step", "milestones=[3, '1.5 epochs']", "warmup=2"),
    ("exponential",),
    ("polynomial", "power=2.0", "warmup=2"),
    ("wsd", "decay_shape=cosine", "warmup=2"),
    ("wsd", "decay_shape=sqrt", "end_factor=0.1"),
    ("plateau", "warmup=2"),
    ("one_cycle", "three_phase=true", "pct_start=0.4"),
    ("one_cycle", "anneal_strategy=linear", "cycle_momentum=false"),
    ("constant", "every=epoch", "warmup=2 epochs"),
    ("cosine", "every=epoch"),
    ("cosine_restarts", "t_0=30 %", "t_mult=2", "warmup=0.5 epochs"),
    ("step", "every=epoch", "step_size=2 epochs", "warmup=1 epoch"),
    ("multi_step", "every=epoch", "milestones=['1 epoch', '60 %']"),
    ("exponential", "every=epoch", "gamma=0.9"),
    ("polynomial", "every=epoch", "warmup=20 %"),
    ("wsd", "every=epoch", "warmup=1 epoch"),
    ("plateau", "warmup=1 epoch"),
    ("one_cycle", "every=epoch"),
]


@pytest.mark.slow
@pytest.mark.parametrize("choice", some_of(SCHEDULES, 6), ids=" ".join)
def test_every_schedule(choice: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    kind, *rest = choice
    settings = (f"schedule.{setting}" for setting in rest)
    checkpoint = train(tiny(CPU, f"schedule.kind={kind}", *settings, "loop.max_steps=20"))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
