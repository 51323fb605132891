"""What is said of settings that do nothing is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training.commands import Captured
from tests.training.tiny import tiny
from training.cli import main
from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.config.rules.inactive_settings import find_inactive, list_inactive_on_purpose
from training.engine.runs.run import start_run
from training.runs.records.manifest import read_manifest

OTHERS = {
    "optimizer.lr": "0.7",
    "optimizer.momentum": "0.3",
    "optimizer.freeze_stages": "2",
    "optimizer.decay_bias_and_norm": "true",
    "optimizer.decoupled_weight_decay": "false",
    "dataset.rand_augment_num_ops": "3",
    "dataset.rand_augment_magnitude": "30",
    "dataset.resized_crop_ratio": "3.0",
    "dataset.blur_sigma": "5.0",
    "dataset.padding_mode": "zeros",
    "schedule.warmup_start_factor": "0.5",
    "schedule.base_momentum": "0.1",
    "schedule.max_momentum": "0.2",
    "loop.early_stopping_min_delta": "0.5",
    "loop.roll_back_factor": "0.1",
    "loop.decision_boundary": "every_validation",
    "loader.cache_folder": "elsewhere",
    "loader.cache_limit_gb": "1",
    "loader.memory_limit_mb": "1",
    "loader.prefetch_factor": "9",
}
"""Another value for each setting that may have no effect, those of the split excepted."""

IDLE = [
    ("optimizer.kind=sgd", "loader.cache=off"),
    ("optimizer.kind=rmsprop",),
    ("optimizer.kind=muon",),
    ("optimizer.kind=radam", "schedule.cycle_momentum=false"),
    ("schedule={kind='cosine'}", "loader.mode=streamed"),
    (
        "dataset={kind='shapes', samples=200, image_size=16, translate=0.2, shear=5.0, auto_augment='trivial_augment_wide'}",
        "model={kind='small_cnn'}",
    ),
    (  # of more than a megabyte
        "dataset={kind='shapes', samples=1500, image_size=16, flip=true, vertical_flip=true, resized_crop_scale=0.5, grayscale=0.2}",
        "model={kind='small_cnn', channels=[4, 4], hidden=8}",
        "loop.batch_size=100",
        "loader.mode=resident",
    ),
]
"""Settings that leave others without effect, all of ``OTHERS`` between them."""


@pytest.mark.parametrize(
    ("validation", "given", "idle"),
    [
        ("auto", [], False),  # nobody has looked
        ("auto", ["test", "train"], False),
        ("auto", ["train", "validation"], True),
        ("split", ["train", "validation"], False),
        ("test", ["test", "train"], True),
    ],
)
def test_a_column_of_parts_decides_what_it_names(validation: str, given: list[str], idle: bool) -> None:
    table = {"kind": "table", "path": "t.csv", "targets": ["y"], "split_column": "part", "validation": validation}
    found = find_inactive(parse_config({"dataset": table, "model": {"kind": "tabular"}}, paths=False), given)
    assert ("dataset.validation_fraction" in found) == idle
    assert ("dataset.split_seed" in found) == idle


def outcome(config: RunConfig, folder: Path) -> tuple[str, str]:
    """The weights' digest, and where the samples were."""
    record = start_run(config, folder)
    data = json.loads((Path(record.folder) / "data.json").read_text())
    weights = read_manifest(Path(str(record.last_checkpoint))).files["model.safetensors"]
    return weights.sha256, data["batches"]["mode"]


@pytest.mark.parametrize("settings", IDLE, ids=lambda settings: settings[0])
def test_what_is_said_to_have_no_effect_changes_no_bit(settings: tuple[str, ...], tmp_path: Path) -> None:
    before = tiny("loop.epochs=1", *settings)
    idle = find_inactive(before)
    after = tiny("loop.epochs=1", *settings, *(f"{path}={OTHERS[path]}" for path in idle))
    assert before != after
    assert find_inactive(after).keys() == idle.keys()
    assert outcome(before, tmp_path / "before") == outcome(after, tmp_path / "after")


def test_every_rule_is_among_those_shown_to_be_true() -> None:
    found = {path for settings in IDLE for path in find_inactive(tiny(*settings))}
    assert found == OTHERS.keys()


@pytest.mark.parametrize(
    "moving",
    ["crop_padding=2", "rotation=5", "translate=0.1", "affine_scale=0.1", "shear=5", "perspective=0.2"]
    + [f"auto_augment='{name}'" for name in ("rand_augment", "trivial_augment_wide")],
)
def test_what_lies_outside_of_an_image_matters_to_all_that_bring_it_in(moving: str) -> None:
    dataset = f"dataset={{kind='shapes', samples=60, image_size=16, {moving}}}"
    moved = tiny(dataset, "model={kind='small_cnn'}")
    assert not find_inactive(moved).keys() & {"dataset.padding_mode", "loader.memory_limit_mb"}


def test_what_has_an_effect_is_not_among_them() -> None:
    used = tiny(
        "optimizer={kind='sgd', freeze='stages'}",
        "schedule={kind='one_cycle', cycle_momentum=false}",
        "loop.early_stopping_patience=3",
        "loop.after_skips=roll_back",
    )
    assert not find_inactive(used).keys() & {"optimizer.lr", "optimizer.momentum", "optimizer.freeze_stages"}
    assert not [path for path in find_inactive(used) if path.startswith(("loop.", "loader."))]


def test_check_tells_what_was_set_without_effect(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "old.toml"
    file.write_text(
        'name = "old"\n[dataset]\nkind = "spiral"\nsamples = 300\n[model]\nkind = "mlp"\n'
        '[optimizer]\nkind = "sgd"\nlr = 0.05\n[schedule]\nkind = "one_cycle"\nmax_lr = 0.1\n'
    )
    assert main(["check", str(file), "--set", "loop.roll_back_factor=0.3", "--workspace", str(tmp_path)]) == 0
    told = [
        line[9:] for line in capsys.readouterr().err.splitlines() if line.startswith("note") and "no effect" in line
    ]
    assert told == [
        "optimizer.lr has no effect while schedule.max_lr is set.",
        "loop.roll_back_factor has no effect while loop.after_skips is stop.",
    ]


def test_what_a_form_names_without_having_been_touched_is_not_told() -> None:
    untouched, turned = tiny(), tiny("loop.roll_back_factor=0.3")
    assert "optimizer.lr" in find_inactive(untouched)
    assert not list(list_inactive_on_purpose(parse_config(config_data(untouched))))
    assert list(list_inactive_on_purpose(parse_config(config_data(turned)))) == [
        "loop.roll_back_factor has no effect while loop.after_skips is stop"
    ]
