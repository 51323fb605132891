"""Learning rates, schedules and regularization that cannot do what they are for; and usual ones, of which nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, overrides_of
from training.doctor.settings import setting_findings
from training.events import Finding


def look(config: RunConfig) -> dict[str, Finding]:
    """What is found above a note, of a run of 20 epochs of 50 steps."""
    return {item.key: item for item in setting_findings(config, 1000, 50) if item.level in ("warning", "error")}


def settings(*overrides: str) -> RunConfig:
    return tiny("schedule.kind=constant", *overrides)


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("optimizer.lr=0.5",), "lr.unusual"),
        (("optimizer.lr=1e-7",), "lr.unusual"),
        (("schedule.kind=one_cycle", "schedule.max_lr=0.3"), "lr.unusual"),
        (("optimizer.kind=sgd", "optimizer.lr=20"), "lr.unusual"),
        (("schedule.kind=step", "schedule.step_size=100"), "schedule.length:schedule"),
        (("schedule.kind=exponential", "schedule.gamma=0.98"), "schedule.length:schedule"),
        (("schedule.kind=multi_step", "schedule.milestones=[50, 100, 200]"), "schedule.length:schedule"),
        (("schedule.kind=cosine", "schedule.warmup=999"), "schedule.length:schedule.warmup"),
        (("schedule.kind=cosine", "schedule.warmup=400"), "schedule.length:schedule.warmup"),
        (("model.dropout=0.8",), "regularise.too_much:model.dropout"),
        (("objective.label_smoothing=0.6",), "regularise.too_much:objective.label_smoothing"),
        (("optimizer.lr=0.01", "optimizer.weight_decay=2.0"), "regularise.too_much:optimizer.weight_decay"),
        (("optimizer.kind=sgd", "optimizer.weight_decay=0.2"), "regularise.too_much:optimizer.weight_decay"),
    ],
)
def test_what_a_setting_spoils_is_found_and_mended(overrides: tuple[str, ...], key: str) -> None:
    config = settings(*overrides)
    found = look(config)
    assert list(found) == [key]
    data: dict[str, Any] = dict(config_data(config))
    apply_overrides(data, overrides_of(found[key].fix))
    assert not look(parse_config(data))


@pytest.mark.parametrize(
    "overrides",
    [
        ("optimizer.lr=3e-4", "optimizer.weight_decay=0.1", "schedule.kind=cosine", "schedule.warmup=100"),
        ("optimizer.lr=0.02",),
        ("optimizer.kind=sgd", "optimizer.lr=0.1", "optimizer.weight_decay=5e-4", "schedule.kind=multi_step"),
        ("optimizer.kind=sgd", "optimizer.lr=0.1", "schedule.kind=step", "schedule.step_size=300"),
        ("optimizer.kind=muon",),
        ("optimizer.kind=adagrad", "optimizer.lr=0.5"),
        ("schedule.kind=one_cycle",),
        ("schedule.kind=cosine_restarts", "schedule.t_0=100"),
        ("schedule.kind=plateau",),
        ("schedule.kind=wsd",),
        ("model.kind=torchvision", "model.pretrained=DEFAULT", "dataset.kind=shapes", "optimizer.lr=1e-6"),
        ("model.dropout=0.5", "objective.label_smoothing=0.1"),
    ],
)
def test_nothing_is_said_of_usual_settings(overrides: tuple[str, ...]) -> None:
    assert not look(settings(*overrides))
