"""A run that is complete, beside a simple model: what did worse is told, what did as well hears nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.data.own_files import written
from tests.training.diagnosis.made_runs import make_run
from tests.training.tiny import tiny
from training.config import parse_config
from training.config.files import config_data
from training.doctor.rival import judge_beside_simple
from training.doctor.suspects import suspect_setting
from training.engine.runs.run import Hooks, start_run
from training.events import Event, Finding

MSE = """from torch.nn import functional as F


def build():
    return lambda outputs, targets: F.SAID(outputs.softmax(1)[:, :1], (targets[:, None] == 0).float())
"""
LONG = (
    "dataset.kind=moons",
    "dataset.samples=600",
    "loop.epochs=40",
    "model.hidden=[32]",
    "loop.decision_boundary=off",
)


def train(tmp_path: Path, *overrides: str, own: str = "") -> list[Finding]:
    """What is told beside a simple model."""
    config = tiny(*LONG, *overrides)
    if own:
        data = {**config_data(config), "objective": written(tmp_path, own, "user_loss", task="classification")}
        config = parse_config(data)
    told: list[Event] = []
    start_run(config, tmp_path / "w", Hooks(watch=told.append, compare=judge_beside_simple))
    return [each for each in told if isinstance(each, Finding) and each.code == "fit.below_simple"]


def test_a_run_that_does_as_well(tmp_path: Path) -> None:
    assert not train(tmp_path, "optimizer.lr=0.01")


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"optimizer": {"kind": "adamw", "lr": 2e-5}}, {"optimizer.lr": 0.001}),
        ({"model": {"kind": "mlp", "dropout": 0.5}}, {"model.dropout": 0.1}),
        ({"objective": {"kind": "classification", "label_smoothing": 0.3}}, {"objective.label_smoothing": 0.0}),
        ({}, {}),
    ],
)
def test_the_setting_that_is_farthest_from_usual_is_suspected(settings: dict[str, Any], fix: dict[str, Any]) -> None:
    usual = {"optimizer": {"kind": "adamw", "lr": 1e-3}}
    words, change = suspect_setting(make_run(np.full(2000, 0.5), settings={**usual, **settings}))
    assert dict(change) == fix
    assert words


@pytest.mark.slow
def test_a_loss_of_ones_own_is_suspected_first(tmp_path: Path) -> None:
    """One that asks for the opposite."""
    wrong = MSE.replace("SAID", "mse_loss").replace("== 0", "== 1")
    [found] = train(tmp_path, "optimizer.lr=0.01", own=wrong)
    assert dict(found.fix) == {"objective.kind": "classification"}
    assert not train(tmp_path, "optimizer.lr=0.01", own=MSE.replace("SAID", "mse_loss"))


@pytest.mark.slow
def test_few_steps_and_weighed_classes_are_not_compared(tmp_path: Path) -> None:
    assert not train(tmp_path, "optimizer.lr=2e-4", "loop.epochs=2")
    assert not train(tmp_path, "optimizer.lr=0.01", "objective.balanced=true")
