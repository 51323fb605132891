"""What an exported script has of ``training.core`` is its very source, and nothing that the run does not need."""

from __future__ import annotations

import ast
import pkgutil
from collections import Counter
from pathlib import Path

import pytest

from tests.training.export.conftest import Train
from tests.training.export.pasted import compare_pasted
from tests.training.tiny import tiny, tiny_images, write_idx
from training import core, models
from training.config import RunConfig
from training.export import export_checkpoint
from training.export.core_source import NAMES
from training.tutorial.definitions import find_names


def test_no_name_stands_for_two_things() -> None:
    assert [name for name, times in Counter(name for _, name in NAMES).items() if times > 1] == []


def test_no_network_of_ours_has_a_name_that_scripts_take_along() -> None:
    taken = {name: module for module, name in NAMES}
    for file in Path(models.__path__[0]).rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            assert {
                name for name in find_names(node) if taken.get(name, "").rpartition(".")[2] not in ("", file.stem)
            } == set()


def runs(place: Path) -> dict[str, RunConfig]:
    monitored = "checkpoints.monitor=val/loss"
    return {
        "one cycle": tiny(),
        "three phases": tiny("schedule.three_phase=true", "dataset.kind=blobs"),
        "plateau": tiny("schedule.kind=plateau", monitored, "loader.sampling=balanced"),
        "wsd": tiny_images(write_idx(place / "images"), "schedule.kind=wsd", "dataset.cutmix_alpha=1.0"),
        "muon": tiny_images(write_idx(place / "images"), "optimizer.kind=muon", "dataset.auto_augment=rand_augment"),
        "whitened": tiny_images(write_idx(place / "images", size=12), *WHITENED),
    }


WHITENED = ("model={kind='whitened_cnn', channels=[4, 4, 8]}", "schedule.warmup=0", "dataset.erasing=0.5")
EXPECTED = {
    "muon": {"Muon", "orthogonal", "rand_augment", "warp", "Draws"},
    "whitened": {"whiten", "prepare_whitening", "pick_evenly", "erase"},
}
"""What the engine itself calls of what is not core's loop."""


@pytest.mark.parametrize("name", ["one cycle", "three phases", "plateau", "wsd", "muon", "whitened"])
def test_functions_of_a_script_are_ours(name: str, train: Train, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    export_checkpoint(train(runs(tmp_path)[name]), "script", file)
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    taken = compare_pasted(text)
    assert {"permutation", "hold_back_by_class", "finalize"} <= taken
    assert EXPECTED.get(name, set()) <= taken
    assert ("normal" in taken) == (name == "three phases")  # whose data are drawn so; a spiral has a local of that name
    calls = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert taken <= calls


def test_every_module_of_core_has_its_place_in_the_order() -> None:
    assert sorted(core.ORDER) == sorted(
        each.name.removeprefix("training.core.")
        for each in pkgutil.walk_packages(core.__path__, "training.core.")
        if not each.ispkg
    )
