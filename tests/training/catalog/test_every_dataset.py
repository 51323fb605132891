"""Every kind of table, array and made data trains, is saved, goes on to the same bits, and is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.catalog.whole_way import export, train_and_resume
from training.config import RunConfig, parse_config

KINDS = ("moons", "circles", "blobs", "ranked", "npz", "npz_pictures", "table", "ranking")


def _table(file: Path) -> None:
    """Numbers with gaps, categories, two targets and queries; row 7 has a category that no other has."""
    lines = ["number,gappy,kind,code,y,grade,query"]
    for row in range(80):
        kind = "only here" if row == 7 else ("red", "green", "blue")[row % 3]
        gappy = "" if row % 9 == 0 else f"{row * 0.5}"
        lines.append(f"{row % 11}.25,{gappy},{kind},{row % 4},{row % 2},{row % 5},q{row // 4}")
    file.write_text("\n".join(lines) + "\n")


def _sections(kind: str, folder: Path) -> dict[str, Any]:
    model: dict[str, Any] = {"kind": "mlp", "hidden": [8], "dropout": 0.1}
    objective = {"kind": "classification"}
    dataset: dict[str, Any] = {"kind": kind}
    if kind in ("moons", "circles", "blobs", "ranked"):
        dataset |= {"samples": 80}
    if kind == "npz":
        np.savez(folder / "a.npz", x=np.arange(160.0).reshape(80, 2), y=np.arange(80) % 3)
        dataset |= {"path": str(folder / "a.npz")}
    if kind == "npz_pictures":
        images = np.random.default_rng(0).integers(0, 256, (80, 8, 8, 3), dtype=np.uint8)
        np.savez(folder / "a.npz", x=images, y=np.arange(80) % 3)
        dataset |= {"path": str(folder / "a.npz"), "flip": True}
        model = {"kind": "small_cnn", "channels": [4, 4], "hidden": 8}
    if kind in ("table", "ranking"):
        _table(folder / "t.csv")
        dataset |= {"path": str(folder / "t.csv"), "categorical": ["code"], "missing_indicator": True}
        model = {
            "kind": "tabular",
            "hidden": [8, 8],
            "residual": True,
            "dropout": 0.1,
            "norm": "layer",
            "frequencies": 2,
        }
    if kind == "table":
        dataset |= {"targets": ["y"], "ignored": ["query", "grade"]}
    if kind == "ranking":
        dataset |= {"targets": ["grade"], "ignored": ["y"]}
    if kind in ("ranking", "ranked"):
        objective = {"kind": "ranking"}
    return {"dataset": dataset, "model": model, "objective": objective}


def small(kind: str, folder: Path, **more: Any) -> RunConfig:
    loop = {"max_steps": 4, "batch_size": 4 if kind == "ranking" else 12}
    sections = {
        **_sections(kind, folder),
        "schedule": {"kind": "cosine"},
        "loop": loop,
        "checkpoints": {"every_steps": 2},
        "precision": {"device": "cpu"},
    }
    return parse_config(sections | more)


@pytest.mark.parametrize("kind", KINDS)
def test_trains_and_goes_on_to_the_same_bits(kind: str, tmp_path: Path) -> None:
    last = train_and_resume(small(kind, tmp_path), tmp_path / "workspace", step=2)
    export(last, tmp_path / "exported")


@pytest.mark.parametrize("kind", ["table", "ranking"])
def test_streamed_it_is_the_same_run(kind: str, tmp_path: Path) -> None:
    weights = []
    for mode in ("resident", "streamed"):
        config = small(kind, tmp_path, loader={"mode": mode})
        last = train_and_resume(config, tmp_path / mode, step=2)
        weights.append((last / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
