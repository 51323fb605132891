"""Scripts of sets that torchvision knows by name repeat the run: of each form, whatever there is to learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.catalog.test_every_image_dataset import CNN, UNET
from tests.training.catalog.test_every_image_dataset import config as image_config
from tests.training.data.conftest import write_idx
from tests.training.data.known_trees import OWN_FORMS, TREES, voc
from tests.training.export.conftest import Train
from tests.training.export.test_script_data import assert_repeated


def mnist(root: Path) -> None:
    for prefix, count in (("train", 24), ("t10k", 9)):
        write_idx(root / "MNIST" / "raw", prefix, count, gzipped=True, size=(12, 12))


SETS: dict[str, tuple[Callable[[Path], None], dict[str, Any]]] = {
    "MNIST": (mnist, {"validation": "test"}),
    "CelebA": ({**TREES, **OWN_FORMS}["CelebA"], {}),
    "Flowers102": ({**TREES, **OWN_FORMS}["Flowers102"], {"duplicates": "drop_from_validation"}),
    "VOC2007": (lambda root: voc(root, 2007, ("train", "val", "test")), {"rotation": 20.0}),
}
TASKS: dict[str, dict[str, Any]] = {
    "CelebA": {"objective": {"kind": "multi_label"}},
    "VOC2007": {"objective": {"kind": "segmentation"}, "model": UNET},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_sets_that_torchvision_knows(name: str, train: Train, tmp_path: Path) -> None:
    make, settings = SETS[name]
    make(tmp_path / "data")
    kind = "torchvision_segmentation" if name == "VOC2007" else "torchvision"
    dataset = {"kind": kind, "name": name, "path": str(tmp_path / "data"), "download": False, **settings}
    loop = {"max_steps": 2, "batch_size": 3, "validation_batch_size": 4}
    sections = {"model": CNN, **TASKS.get(name, {})}
    config = image_config({**sections, "dataset": {"crop_padding": 1, **dataset}, "loop": loop})
    assert_repeated(train(config), tmp_path)
