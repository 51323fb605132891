"""What is said of the settings of the split, compared for every kind of data with what the prepared data really did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.reports import inspect
from tests.training.data.conftest import fill_class, image, write_idx
from tests.training.data.known_trees import pets
from tests.training.data.pairs_of_images import write_pairs
from tests.training.data.text_sample import write_text
from training.catalog import DATASETS
from training.config import parse_config
from training.config.rules.inactive_settings import find_inactive
from training.config.sections.data.own_data import OWN_DATA
from training.data import prepare

Make = Callable[[Path], dict[str, Any]]
_WORDS = ("train", "train", "train", "val", "test")


def _made(kind: str, **settings: Any) -> Make:
    return lambda _folder: {"kind": kind, "samples": 90, **settings}


def _table(kind: str, **settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        rows = [f"{row % 11}.25,{row % 2},q{row // 4},{_WORDS[row // 4 % 5]}" for row in range(80)]
        (folder / "t.csv").write_text("\n".join(["number,y,query,part", *rows]))
        # Only a column that nobody splits by is left out.
        left_out = [name for name in ("part", "query") if name not in settings.values()]
        left_out = [name for name in left_out if kind != "ranking" or name != "query"]
        return {"kind": kind, "path": str(folder / "t.csv"), "targets": ["y"], "ignored": left_out, **settings}

    return make


def _images(*parts: str, **settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        for part in parts or ("",):
            for number, name in enumerate(("apple", "bear")):
                fill_class(folder / "images" / part / name, 6, seed=100 * number)
        return {"kind": "image_folder", "path": str(folder / "images"), **settings}

    return make


def _image_table(**settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        rows = []
        for number in range(20):
            image(number).save(folder / f"{number}.png")
            rows.append(f"{number}.png,{_WORDS[number % 5]},{'ab'[number % 2]}")
        (folder / "t.csv").write_text("\n".join(["file,part,kind", *rows]))
        return {"kind": "image_table", "path": str(folder / "t.csv"), "targets": ["kind"], **settings}

    return make


def _idx(**settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        for prefix, count in (("train", 24), ("t10k", 9)):
            write_idx(folder / "idx", prefix, count)
        return {"kind": "idx", "path": str(folder / "idx"), **settings}

    return make


def _torchvision(**settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        for prefix, count in (("train", 24), ("t10k", 9)):
            write_idx(folder / "MNIST" / "raw", prefix, count)
        return {"kind": "torchvision", "path": str(folder), "download": False, **settings}

    return make


def _pets(**settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        pets(folder)
        return {"kind": "torchvision_segmentation", "path": str(folder), "download": False, **settings}

    return make


def _masks(folder: Path) -> dict[str, Any]:
    return {"kind": "segmentation", "path": str(write_pairs(folder / "pairs"))}


def _masks_undivided(folder: Path) -> dict[str, Any]:
    return {"kind": "segmentation", "path": str(write_pairs(folder / "pairs") / "train")}


def _npz(kind: str, parts: bool, **settings: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        generator = np.random.default_rng(0)
        arrays: dict[str, Any] = {}
        for suffix in ("_train", "_val", "_test") if parts else ("",):
            shape = (30, 8, 8, 3) if kind == "npz_pictures" else (30, 4)
            arrays[f"x{suffix}"] = generator.integers(0, 256, shape, dtype=np.uint8)
            arrays[f"y{suffix}"] = np.arange(30) % 3
        np.savez(folder / "a.npz", **arrays)
        return {"kind": kind, "path": str(folder / "a.npz"), **settings}

    return make


def _text(folder: Path) -> dict[str, Any]:
    return {"kind": "text", "path": str(write_text(folder / "text")), "context": 16}


def _text_beside_another(folder: Path) -> dict[str, Any]:
    return _text(folder) | {"validation_path": str(write_text(folder / "other", 60))}


def _text_folder(folder: Path) -> dict[str, Any]:
    write_text(folder / "texts")
    (folder / "texts" / "more.txt").write_text("More of it. " * 40)
    return {"kind": "text", "path": str(folder / "texts"), "context": 16}


CASES: dict[str, Make] = {
    **{kind: _made(kind) for kind in ("shapes", "spiral", "moons", "circles", "blobs", "ranked")},
    "shapes to test on": _made("shapes", test_fraction=0.2),
    "image_folder": _images(),
    "image_folder to test on": _images(test_fraction=0.2),
    "image_folder with val": _images("train", "val"),
    "image_folder with val to test on": _images("train", "val", test_fraction=0.3),
    "image_folder with val, divided": _images("train", "val", validation="split"),
    "image_folder with test": _images("train", "test"),
    "image_folder judged by test": _images("train", "test", validation="test"),
    "image_folder with both": _images("train", "val", "test"),
    "image_table": _image_table(),
    "image_table by column": _image_table(split_column="part"),
    "segmentation": _masks_undivided,
    "segmentation with val": _masks,
    "idx": _idx(),
    "idx judged by test": _idx(validation="test"),
    "torchvision": _torchvision(),
    "torchvision judged by test": _torchvision(validation="test"),
    "torchvision_segmentation": _pets(),
    "npz": _npz("npz", False),
    "npz with val": _npz("npz", True),
    "npz_pictures": _npz("npz_pictures", False),
    "npz_pictures with val": _npz("npz_pictures", True),
    "table": _table("table"),
    "table by column": _table("table", split_column="part"),
    "table by column, divided": _table("table", split_column="part", validation="split"),
    "table in groups": _table("table", group_column="query"),
    "ranking": _table("ranking"),
    "ranking by column": _table("ranking", split_column="part"),
    "text": _text,
    "text in a folder": _text_folder,
    "text beside another": _text_beside_another,
}
_MODELS = {"text": "gpt", "segmentation": "unet", "torchvision_segmentation": "unet"}
_OBJECTIVES = {"text": "language_model", "segmentation": "segmentation", "torchvision_segmentation": "segmentation"}
_CHANGED = {"validation_fraction": 0.45, "split_seed": 7}


def test_every_kind_of_data_is_tried(tmp_path: Path) -> None:
    tried = set()
    for number, make in enumerate(CASES.values()):
        (tmp_path / str(number)).mkdir()
        tried.add(make(tmp_path / str(number))["kind"])
    assert tried == {row.kind for row in DATASETS} - {*OWN_DATA}  # whose split a person's file makes


@pytest.mark.parametrize("case", CASES)
def test_a_setting_is_said_to_do_nothing_exactly_where_it_does_nothing(case: str, tmp_path: Path) -> None:
    dataset = CASES[case](tmp_path)
    kind = dataset["kind"]
    points = kind in ("spiral", "moons", "circles", "blobs", "npz", "table", "ranking", "ranked")
    others: dict[str, Any] = {
        "model": {"kind": _MODELS.get(kind, "mlp" if points else "small_cnn")},
        "objective": {"kind": "ranking" if kind in ("ranking", "ranked") else _OBJECTIVES.get(kind, "classification")},
    }
    config = parse_config({"dataset": dataset, **others})
    said = find_inactive(config, inspect(config)["given"])
    splits = prepare(config, torch.device("cpu")).splits
    for name, value in _CHANGED.items():
        if name not in type(config.dataset).model_fields:
            assert f"dataset.{name}" not in said
            continue
        changed = parse_config({"dataset": dataset | {name: value}, **others})
        other = prepare(changed, torch.device("cpu")).splits
        same = splits.keys() == other.keys() and all(torch.equal(splits[part], other[part]) for part in splits)
        assert (f"dataset.{name}" in said) == same, said
