"""Images with masks, with a table, and known by name: each trains, goes on to the same bits, and is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.catalog.whole_way import content, export, train_and_resume
from tests.training.data.conftest import image as picture
from tests.training.data.conftest import write_idx
from tests.training.data.known_trees import celebrities, pets
from tests.training.data.pairs_of_images import write_pairs
from training.config import RunConfig, parse_config
from training.engine.runs.run import resume_run, start_run
from training.errors import InputError
from training.export import export_checkpoint

UNET: dict[str, Any] = {"kind": "unet", "depth": 2, "width": 4, "dropout": 0.1}
CNN: dict[str, Any] = {"kind": "small_cnn", "channels": [4, 8], "hidden": 8, "dropout": 0.1}


def write_table(folder: Path) -> Path:
    folder.mkdir()
    rows = []
    for number in range(20):
        image = picture(number)
        image.save(folder / f"{number:02}.png")
        means = np.asarray(image).mean((0, 1))
        labels = " ".join(name for name, mean in zip(("red", "green", "blue"), means, strict=True) if mean > 128)
        rows.append(
            f"{number:02}.png,{'light' if means.mean() > 128 else 'dark'},{labels},{means[0]:.3f},{means[1]:.3f}"
        )
    (folder / "table.csv").write_text("\n".join(["file,kind,labels,red,green", *rows]))
    return folder / "table.csv"


def dataset(kind: str, place: Path) -> dict[str, Any]:
    """Sections of a run on a small dataset of that kind, made on the spot."""
    if kind == "segmentation":
        pairs: dict[str, Any] = {"kind": kind, "path": str(write_pairs(place, size=(18, 21))), "ignore_index": 2}
        return {"dataset": pairs | {"rotation": 20.0}, "model": UNET, "objective": {"kind": "segmentation"}}
    if kind == "torchvision":
        for prefix, count in (("train", 24), ("t10k", 9)):
            write_idx(place / "MNIST" / "raw", prefix, count, gzipped=True, size=(12, 12))
        return {"dataset": {"kind": kind, "path": str(place)}, "model": CNN}
    if kind == "attributes":
        celebrities(place)
        named = {"kind": "torchvision", "name": "CelebA", "path": str(place)}
        return {"dataset": named, "model": CNN, "objective": {"kind": "multi_label"}}
    if kind == "torchvision_segmentation":
        pets(place)
        return {
            "dataset": {"kind": kind, "path": str(place), "validation": "test", "rotation": 20.0},
            "model": UNET,
            "objective": {"kind": "segmentation"},
        }
    table: dict[str, Any] = {"kind": "image_table", "path": str(write_table(place))}
    if kind == "labels":
        labels = {"targets": ["labels"], "label_separator": "space"}
        return {"dataset": table | labels, "model": CNN, "objective": {"kind": "multi_label"}}
    if kind == "values":
        values = {"targets": ["red", "green"], "task": "values"}
        return {"dataset": table | values, "model": CNN, "objective": {"kind": "regression"}}
    return {"dataset": table | {"targets": ["kind"]}, "model": CNN}


def config(sections: dict[str, Any], **others: Any) -> RunConfig:
    varied = {"dataset": {"flip": True, "crop_padding": 2} | sections["dataset"]}
    whole = {
        "name": "pictures",
        "precision": {"device": "cpu"},
        "loop": {"max_steps": 4, "batch_size": 4, "validation_batch_size": 4},
        "checkpoints": {"every_steps": 2, "keep_last": 10},
    }
    return parse_config(whole | sections | varied | others)


KINDS = ["segmentation", "torchvision", "torchvision_segmentation", "attributes", "classes", "labels", "values"]


@pytest.mark.parametrize("kind", KINDS)
def test_trains_and_goes_on_to_the_same_bits(kind: str, tmp_path: Path) -> None:
    last = train_and_resume(config(dataset(kind, tmp_path / "data")), tmp_path, step=2)
    export(last, tmp_path / "exported")


@pytest.mark.slow  # programs of other networks are exported by each run of the tests
@pytest.mark.parametrize("target", ["onnx", "torch-export"])
def test_a_unet_is_exported_as_a_program(target: str, tmp_path: Path) -> None:
    """Of a size that cannot be halved twice."""
    record = start_run(config(dataset("segmentation", tmp_path / "data")), tmp_path)
    proof = export_checkpoint(Path(str(record.last_checkpoint)), target, tmp_path / "exported")
    assert proof.max_difference < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["segmentation", "labels"])
def test_however_they_are_supplied_the_run_is_the_same(kind: str, tmp_path: Path) -> None:
    sections = dataset(kind, tmp_path / "data")
    cache = {"cache": "on", "cache_folder": str(tmp_path / "cache")}
    ways: list[dict[str, Any]] = [
        {"mode": "resident", "cache": "off"},
        {"mode": "streamed", "workers": 0, "cache": "off"},
        {"mode": "streamed", "workers": 2, "cache": "off"},
        {"mode": "streamed", "workers": 0} | cache,
        {"mode": "resident"} | cache,
    ]
    found = []
    for number, loader in enumerate(ways):
        record = start_run(config(sections, loader=loader), tmp_path / f"run{number}")
        assert record.status == "completed", record.reason
        found.append(content(Path(str(record.last_checkpoint)))["model.safetensors"])
    assert [way == found[0] for way in found] == [True] * len(ways)


def test_nothing_is_learned_from_images_and_masks_that_are_held_back(tmp_path: Path) -> None:
    """Neither the mean of the images nor the weights of the classes: another validation part, the same run."""
    sections = dataset("segmentation", tmp_path / "data")
    sections["objective"] = {"kind": "segmentation", "balanced": True}
    weights, losses = [], []
    for planted in (False, True):
        if planted:
            for path in (tmp_path / "data" / "val").rglob("*.png"):
                path.write_bytes((tmp_path / "data" / "train" / path.parent.name / "000.png").read_bytes())
        record = start_run(config(sections), tmp_path / f"run-{planted}")
        weights.append(content(Path(str(record.last_checkpoint)))["model.safetensors"])
        losses.append(record.metrics["val/loss"])
    assert weights[0] == weights[1]
    assert losses[0] != losses[1]


def test_images_of_a_table_may_be_moved(tmp_path: Path) -> None:
    sections = dataset("classes", tmp_path / "data")
    sections["dataset"]["images"] = str(tmp_path / "data")
    folder = Path(start_run(config(sections), tmp_path / "runs").folder)
    middle = str(folder / "checkpoints" / "step-00000002")
    (tmp_path / "moved").mkdir()
    for path in (tmp_path / "data").glob("*.png"):
        path.rename(tmp_path / "moved" / path.name)
    with pytest.raises(InputError, match="names no image that is there"):
        resume_run(middle, tmp_path / "runs")
    for overrides in ([f"dataset.images={tmp_path / 'moved'}"], []):  # the second time it is known
        resumed = resume_run(middle, tmp_path / "runs", overrides)
        assert (resumed.status, resumed.folder) == ("completed", str(folder)), resumed.reason
