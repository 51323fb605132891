"""Ablation: each setting back at its default, and what that does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.config.diff import diff
from training.runs.folder import RunFolder
from training.studies.ablation import find_settings


def write_config(folder: Path, *overrides: str) -> Path:
    save_config(
        tiny(
            "schedule.kind=constant",
            "model.dropout=0.0",
            "model.hidden=[128, 128]",
            "loop.batch_size=64",
            "loop.epochs=15",
            "checkpoints.monitor=val/loss",
            "loop.layer_norms=false",
            *overrides,
        ),
        folder / "c.toml",
    )
    return folder / "c.toml"


@pytest.mark.slow
def test_what_helps_what_harms_and_what_is_noise(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    config = write_config(tmp_path, "optimizer.lr=0.02", "model.dropout=0.9", "optimizer.eps=1.1e-8")
    workspace = ["--workspace", str(tmp_path / "ws"), "--json", "--seeds", "3"]
    only = ["--only", "optimizer.lr", "--only", "model.dropout"]
    assert main(["study", "ablation", str(config), *only, *workspace]) == 0
    told = json_line(capsys)
    settings = {each["path"]: each for each in told["details"]["settings"]}
    assert settings["model.dropout"]["better"] is False
    assert settings["model.dropout"]["default"] == "0.0"
    assert "model.dropout harms" in told["sentence"]
    low, high = settings["optimizer.lr"]["low"], settings["optimizer.lr"]["high"]
    assert low <= settings["optimizer.lr"]["difference"] <= high
    assert len(in_process) == 9
    as_is = RunFolder(tmp_path / "ws" / "runs" / told["details"]["runs"]["as-is-1"]).config()
    without = RunFolder(tmp_path / "ws" / "runs" / told["details"]["runs"]["model-dropout-1"]).config()
    assert [each.path for each in diff(as_is, without)] == ["name", "model.dropout"]
    assert as_is.seed == 1


def test_the_recipe_is_all_that_is_away_from_its_default() -> None:
    config = tiny(
        "optimizer.lr=0.02", "optimizer.weight_decay=0.3", "loop.ema_decay=0.9", "seed=4", "precision.device=cpu"
    )
    found, left_out = find_settings(config)
    assert {each.path for each in found} == {
        "model.dropout",
        "model.hidden",
        "optimizer.lr",
        "optimizer.weight_decay",
        "schedule.max_lr",
        "loop.batch_size",
        "loop.ema_decay",
    }
    assert not left_out
    assert next(each for each in found if each.path == "loop.ema_decay").config.loop.ema_decay is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "optimizer.lr"], "--only optimizer.lr: is no setting away from its default"),
        (
            ["--only", "name"],
            "--only name: is no setting away from its default whose effect can be compared; such are ",
        ),
        (["--only", "dataset.kind"], "--only dataset.kind: is no setting"),
        (["--only", "loop.epochs"], "--only loop.epochs: is no setting"),
        (["--folds", "3"], "--folds: is not for the study ablation"),
    ],
)
def test_names_that_cannot_be(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], words: list[str], sentence: str
) -> None:
    assert main(["study", "ablation", str(config), *words, "--workspace", str(tmp_path / "ws")]) == 2
    assert sentence in capsys.readouterr().err
