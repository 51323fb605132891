"""Scripts of sets that torchvision knows by name: they read the set's own files, and repeat the run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.catalog.test_every_picture_dataset import CNN, UNET
from tests.training.catalog.test_every_picture_dataset import config as picture_config
from tests.training.data.conftest import write_idx
from tests.training.data.known_trees import OWN_FORMS, TREES, pets, streets, voc
from tests.training.export.conftest import Train
from tests.training.export.test_script_data import assert_repeated
from training.config import RunConfig
from training.data.known import KNOWN_SETS
from training.export.material import load_material
from training.export.plain_packed import PACKED
from training.export.script import export_script


def mnist(root: Path) -> None:
    for prefix, count in (("train", 24), ("t10k", 9)):
        write_idx(root / "MNIST" / "raw", prefix, count, gzipped=True, size=(12, 12))


def cifar(root: Path, name: str, labels: int, files: dict[str, int]) -> None:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "fine_label_names.txt").write_text("apple\nfish\nbaby\n")
    draw = np.random.default_rng(0)
    for file, count in files.items():
        records = draw.integers(0, 256, (count, labels + 3 * 32 * 32), dtype=np.uint8)
        records[:, labels - 1] %= 3
        records.tofile(folder / f"{file}.bin")


SMALL: dict[str, Callable[[Path], None]] = {
    "MNIST": mnist,
    "CIFAR10": lambda root: cifar(
        root, "cifar-10-batches-bin", 1, {**{f"data_batch_{number}": 5 for number in range(1, 6)}, "test_batch": 6}
    ),
    "CIFAR100": lambda root: cifar(root, "cifar-100-binary", 2, {"train": 24, "test": 6}),
}
EVERY = SMALL | TREES | OWN_FORMS
MASKED: dict[str, Callable[[Path], None]] = {
    "OxfordIIITPet": pets,
    "VOC2007": lambda root: voc(root, 2007, ("train", "val", "test")),
    "VOC2012": voc,
    "Cityscapes": streets,
}
NO_COPIES = {"duplicates": "drop_from_validation"}
SETTINGS: dict[str, dict[str, Any]] = {
    "EMNIST": {"emnist_split": "letters"},
    "SVHN": {"validation": "test", **NO_COPIES},
    "Flowers102": NO_COPIES,
    "DTD": {"partition": 3, "validation": "split", "image_size": 16},
    "FGVCAircraft": {"annotation_level": "family", "validation": "test"},
    "FER2013": {"validation": "test"},
    "USPS": {"validation": "test"},
    "VOC2007": NO_COPIES,
}


OFTEN = {
    "VOC2007",
    "OxfordIIITPet",
    "MNIST",
    "EMNIST",
    "CIFAR100",
    "Country211",
    "USPS",
    "SVHN",
    "STL10",
    "QMNIST",
    "Food101",
    "Flowers102",
    "DTD",
    "CelebA",
}
"""One of each kind of file; the others, which are read alike, are left to the slow tests."""


def some(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in OFTEN)) for name in names]


@pytest.mark.parametrize("name", some(EVERY))
def test_sets_that_torchvision_knows(name: str, train: Train, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    EVERY[name](tmp_path / "data")
    settings = {"kind": "torchvision", "name": name, **SETTINGS.get(name, {})}
    task = {"objective": {"kind": "multi_label"}} if name == "CelebA" else {}
    assert_repeated(train(small({"dataset": settings, "model": CNN, **task}, tmp_path)), tmp_path)


@pytest.mark.parametrize("name", some(MASKED))
def test_sets_with_masks_that_torchvision_knows(name: str, train: Train, tmp_path: Path) -> None:
    MASKED[name](tmp_path / "data")
    settings = {"kind": "torchvision_segmentation", "name": name, "rotation": 20.0, **SETTINGS.get(name, {})}
    sections = {"dataset": settings, "model": UNET, "objective": {"kind": "segmentation"}}
    assert_repeated(train(small(sections, tmp_path)), tmp_path)


def small(sections: dict[str, Any], tmp_path: Path) -> RunConfig:
    """Two steps with the sections of a run on the set below ``tmp_path``."""
    dataset = {"path": str(tmp_path / "data"), "download": False, "crop_padding": 1, **sections["dataset"]}
    loop = {"max_steps": 2, "batch_size": 3, "validation_batch_size": 4}
    return picture_config({**sections, "dataset": dataset, "loop": loop})


def test_every_set_has_a_reader_in_a_script() -> None:
    lists = {name for name, known in KNOWN_SETS.items() if known.form in ("list", "cars", "faces")}
    others = {name for name, known in KNOWN_SETS.items() if known.form in ("idx", "folder")}
    assert {*KNOWN_SETS} - lists - others == {*PACKED}


def test_what_a_gpu_decoded_is_told(pictures: Path, tmp_path: Path) -> None:
    material = load_material(pictures)
    loader = material.config.loader.model_copy(update={"decoder": "gpu"})
    decoded = replace(material, config=material.config.model_copy(update={"loader": loader}))
    for each, told in ((decoded, True), (material, False)):
        result = export_script(partial(replace, each), tmp_path / "train.py")
        head = ast.get_docstring(ast.parse((tmp_path / "train.py").read_text(encoding="utf-8"))) or ""
        assert ("some pixels differ a little" in result["summary"]) is told
        assert ("some pixels differ a little" in head) is told
