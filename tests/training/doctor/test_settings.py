"""Learning rates, schedules and regularization that cannot do what they are for; and usual ones, of which nothing is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, overrides_of
from training.doctor.settings import Scope, setting_findings
from training.events import Finding
from training.presets import PRESETS, Preset, preset_text
from training.toml_text import read_toml


def look(config: RunConfig) -> dict[str, Finding]:
    """What is found above a note, of a run of 20 epochs of 50 steps."""
    found = setting_findings(config, 1000, 50, Scope(samples=1600, usual=0.5))
    return {item.key: item for item in found if item.level in ("warning", "error")}


def settings(*overrides: str) -> RunConfig:
    return tiny("schedule.kind=constant", *overrides)


LETTERS = ("dataset.kind=text", f"dataset.path={__file__}", "model.kind=gpt", "objective.kind=language_model")
DECAY = ("optimizer.weight_decay=0.2", "optimizer.lr=6e-3")


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("optimizer.lr=0.5",), "lr.unusual"),
        (("optimizer.lr=30", "optimizer.weight_decay=0.01"), "lr.unusual"),
        (("optimizer.lr=1e-7",), "lr.unusual"),
        (("schedule.kind=one_cycle", "schedule.max_lr=0.3"), "lr.unusual"),
        (("optimizer.kind=sgd", "optimizer.lr=20"), "lr.unusual"),
        (("schedule.kind=step", "schedule.step_size=100"), "schedule.length:schedule"),
        (("schedule.kind=exponential", "schedule.gamma=0.98"), "schedule.length:schedule"),
        (("schedule.kind=multi_step", "schedule.milestones=[50, 100, 200]"), "schedule.length:schedule"),
        (("schedule.kind=cosine", "schedule.warmup=999"), "schedule.length:schedule.warmup"),
        (("schedule.kind=cosine", "schedule.warmup=400"), "schedule.length:schedule.warmup"),
        (("schedule.kind=cosine", "schedule.eta_min=1e-3"), "schedule.length:schedule"),
        (("schedule.kind=linear", "schedule.end_factor=0.9"), "schedule.length:schedule"),
        (("schedule.kind=step", "schedule.step_size=2000"), "schedule.length:schedule"),
        (("schedule.warmup=95 %",), "schedule.length:schedule.warmup"),
        (("schedule.kind=multi_step", "schedule.milestones=[4, 7]"), "schedule.length:schedule"),
        (
            ("optimizer.kind=adagrad", "optimizer.lr=0.05", "optimizer.lr_decay=0.5"),
            "optimizer.unusual:optimizer.lr_decay",
        ),
        (("loop.ema_decay=0.9999",), "settings.unusual:loop.ema_decay"),
        (("optimizer.head_lr_factor=1000",), "settings.unusual:optimizer.head_lr_factor"),
        (("optimizer.kind=sgd", "loop.clip_norm=1e-4"), "settings.unusual:loop.clip_norm"),
        (("schedule.kind=one_cycle", "schedule.pct_start=0.95"), "settings.unusual:schedule.pct_start"),
        (
            ("optimizer.kind=adagrad", "optimizer.lr=0.05", "optimizer.initial_accumulator_value=1000"),
            "settings.unusual:optimizer.initial_accumulator_value",
        ),
        (("optimizer.kind=muon", "optimizer.lr=5"), "lr.unusual"),
        ((*LETTERS, "model.width=4", "model.heads=1"), "settings.unusual:model.width"),
        (("optimizer.layer_decay=0.02",), "optimizer.unusual:optimizer.layer_decay"),
        ((*LETTERS, "optimizer.kind=sgd", "optimizer.lr=0.01", "optimizer.nesterov=false"), "optimizer.unsuitable"),
        (("model.dropout=0.8",), "regularise.too_much:model.dropout"),
        (("objective.label_smoothing=0.6",), "regularise.too_much:objective.label_smoothing"),
        (("optimizer.lr=0.01", "optimizer.weight_decay=2.0"), "regularise.too_much:optimizer.weight_decay"),
        (("optimizer.kind=sgd", "optimizer.weight_decay=0.2"), "regularise.too_much:optimizer.weight_decay"),
        (("optimizer.kind=adam", "optimizer.weight_decay=0.02"), "regularise.too_much:optimizer.weight_decay"),
        (("optimizer.weight_decay=1", "optimizer.lr=2e-3"), "regularise.too_much:optimizer.weight_decay"),
        (("model.dropout=0.5", "objective.label_smoothing=0.2", *DECAY), "regularise.too_much:together"),
        (("optimizer.lr=2e-5",), "lr.unusual"),
        (("optimizer.kind=sgd", "optimizer.lr=5e-5"), "lr.unusual"),
        (("optimizer.kind=sgd", "optimizer.lr=0.9", "optimizer.momentum=0.98"), "lr.unusual"),
        (
            ("optimizer.kind=sgd", "optimizer.lr=1e-3", "optimizer.momentum=0.999"),
            "optimizer.unusual:optimizer.momentum",
        ),
        (("optimizer.betas=[0.9, 0.5]",), "optimizer.unusual:optimizer.betas"),
        (("optimizer.betas=[0.999, 0.999]",), "optimizer.unusual:optimizer.betas"),
        (("optimizer.eps=0.1",), "optimizer.unusual:optimizer.eps"),
        (("optimizer.kind=rmsprop", "optimizer.alpha=0.5"), "optimizer.unusual:optimizer.alpha"),
        (("optimizer.kind=adagrad", "optimizer.lr=1e-4"), "lr.unusual"),
        (("loop.early_stopping_patience=1",), "stopping.in_noise:loop.early_stopping_patience"),
        (
            ("loop.early_stopping_patience=4", "loop.validate_every_steps=10"),
            "stopping.in_noise:loop.early_stopping_patience",
        ),
        (
            ("loop.early_stopping_patience=9", "loop.early_stopping_min_delta=0.05"),
            "stopping.in_noise:loop.early_stopping_min_delta",
        ),
        (
            ("loop.early_stopping_patience=9", "loop.early_stopping_min_delta=0.05", "checkpoints.monitor=val/f1"),
            "stopping.in_noise:loop.early_stopping_min_delta",
        ),
        (("loop.stopping_threshold=0.5",), "stopping.in_noise:loop.stopping_threshold"),
        (
            ("optimizer.kind=sgd", "optimizer.lr=0.9", "optimizer.momentum=0.999"),
            "optimizer.unusual:optimizer.momentum",
        ),
        (("model.dropout=0.6", "objective.label_smoothing=0.2", *DECAY), "regularise.too_much:model.dropout"),
        (("loop.batch_size=1",), "batch.too_small"),
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
        (
            *("optimizer.kind=sgd", "optimizer.lr=0.1", "optimizer.weight_decay=5e-4"),
            *("schedule.kind=multi_step", "schedule.milestones=[500, 750]"),
        ),
        ("optimizer.kind=sgd", "optimizer.lr=0.1", "schedule.kind=step", "schedule.step_size=300"),
        ("optimizer.kind=muon",),
        ("optimizer.kind=adagrad", "optimizer.lr=0.5"),
        ("schedule.kind=one_cycle",),
        ("schedule.kind=exponential", "schedule.gamma=0.991"),
        ("optimizer.kind=adagrad", "optimizer.lr=0.05", "optimizer.lr_decay=0.001", "optimizer.layer_decay=0.65"),
        ("schedule.kind=cosine_restarts", "schedule.t_0=100"),
        ("schedule.kind=plateau",),
        ("schedule.kind=cosine", "schedule.eta_min=1e-4"),
        (*LETTERS, "optimizer.kind=sgd", "optimizer.lr=5", "optimizer.momentum=0", "optimizer.nesterov=false"),
        ("schedule.kind=wsd",),
        ("model.kind=torchvision", "model.pretrained=DEFAULT", "dataset.kind=shapes", "optimizer.lr=1e-6"),
        ("model.dropout=0.5", "objective.label_smoothing=0.1"),
        ("model.dropout=0.5", "objective.label_smoothing=0.2", *DECAY, "loop.epochs=90"),
        ("optimizer.kind=sgd", "optimizer.lr=0.001", "optimizer.momentum=0.95"),
        ("optimizer.betas=[0.9, 0.95]", "optimizer.eps=1e-6"),
        ("optimizer.kind=adam", "optimizer.weight_decay=5e-4"),
        ("loop.early_stopping_patience=3",),
        ("loop.ema_decay=0.999", "optimizer.head_lr_factor=10"),
        ("schedule.kind=one_cycle", "schedule.pct_start=0.5"),
        ("loop.early_stopping_patience=5", "loop.early_stopping_min_delta=0.001", "loop.stopping_threshold=0.98"),
        ("loop.batch_size=4",),
    ],
)
def test_nothing_is_said_of_usual_settings(overrides: tuple[str, ...]) -> None:
    assert not look(settings(*overrides))


@pytest.mark.parametrize(
    ("samples", "overrides", "found", "mended"),
    [
        (40, ("loop.batch_size=64", "loop.epochs=200"), "batch.too_large", "loop.batch_size"),
        (1000, ("loop.batch_size=500", "loop.epochs=20"), "batch.too_large", "loop.batch_size"),
        (1000, ("loop.epochs=1",), "run.too_short", "loop.epochs"),
        (1000, ("loop.max_steps=20",), "run.too_short", "loop.max_steps"),
        (
            1000,
            (
                "optimizer.kind=sgd",
                "optimizer.lr=0.01",
                "optimizer.momentum=0",
                "optimizer.nesterov=false",
                "loop.epochs=3",
            ),
            "run.too_short",
            "loop.epochs",
        ),
        (1000, ("loop.batch_size=500", "loop.epochs=200"), "", ""),
        (300, ("loop.batch_size=64", "loop.epochs=15"), "", ""),
        (1000, ("loop.epochs=3", "optimizer.lr=1e-5"), "lr.unusual", "optimizer.lr"),
        (1000, ("loop.epochs=4",), "", ""),
        (1000, ("loop.epochs=2", "optimizer.lr=5e-3"), "", ""),
        (240, ("loop.epochs=5",), "", ""),
        (1000, ("loop.epochs=1", "model.kind=torchvision", "model.pretrained=DEFAULT", "dataset.kind=shapes"), "", ""),
    ],
)
def test_a_run_without_the_steps_to_learn_from(
    samples: int, overrides: tuple[str, ...], found: str, mended: str
) -> None:
    def warnings(config: RunConfig) -> list[Finding]:
        loop = config.loop
        per_epoch = -(-samples // (loop.batch_size * loop.accumulation))
        total = min(loop.epochs * per_epoch, loop.max_steps or 10**9)
        told = setting_findings(config, total, per_epoch, Scope(samples=samples))
        return [item for item in told if item.level == "warning"]

    config = settings(*overrides)
    told = warnings(config)
    assert [item.code for item in told] == ([found] if found else [])
    if told:
        assert mended in told[0].fix
        data: dict[str, Any] = dict(config_data(config))
        apply_overrides(data, overrides_of(told[0].fix))
        assert not warnings(parse_config(data))


SAMPLES = {
    "cifar10": 50_000,
    "gpt": 15_000,
    "vit": 10_000,
    "segmentation": 96,
    "table-classes": 150,
    "sample": 1_600,
    "spiral": 2_400,
}


@pytest.mark.parametrize("row", PRESETS, ids=lambda row: row.name)
def test_nothing_is_said_of_a_preset(row: Preset) -> None:
    """With as many samples as such data usually has."""
    config = parse_config(read_toml(preset_text(row.name), row.name), paths=False)
    samples = SAMPLES.get(row.name, 48_000 if config.dataset.kind == "idx" else 2_000)
    per_epoch = config.plan_epoch(samples).steps
    total = min(config.loop.epochs * per_epoch, config.loop.max_steps or 10**9)
    found = setting_findings(config, total, per_epoch, Scope(samples=samples, usual=0.5))
    assert [item.key for item in found if item.level in ("warning", "error")] == []
