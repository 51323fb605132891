"""NumPy archives: shapes, parts, tasks, and nothing that is pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.training.data.conftest import MakeConfig
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.data import prepare
from training.data.arrays.npz_file import NpzFile
from training.data.source import Opening
from training.data.sources.npz import Arrays, open_npz, open_npz_images
from training.errors import ConfigError, InputError
from training.facts import IGNORED

CPU = torch.device("cpu")
DRAWN = np.random.default_rng(0)
VECTORS = DRAWN.normal(size=(12, 3)).astype(np.float32)
PICTURES = DRAWN.integers(0, 256, (12, 6, 5, 3), dtype=np.uint8)
CLASSES = np.arange(12) % 3


def vectors(folder: Path, settings: dict[str, Any] | None = None, **arrays: NDArray[Any]) -> Arrays:
    np.savez(folder / "a.npz", **arrays)  # type: ignore[arg-type]  # numpy takes any name
    return open_npz(NpzDataset.model_validate({"path": str(folder / "a.npz"), **(settings or {})}), Opening())


def images(folder: Path, settings: dict[str, Any] | None = None, **arrays: NDArray[Any]) -> Arrays:
    np.savez_compressed(folder / "a.npz", **arrays)  # type: ignore[arg-type]
    dataset = NpzImagesDataset.model_validate({"path": str(folder / "a.npz"), **(settings or {})})
    return open_npz_images(dataset, Opening())


@pytest.mark.parametrize(
    ("targets", "target", "names"),
    [
        (CLASSES, "class", ("0", "1", "2")),
        (CLASSES[:, None] * 10, "class", ("0", "10", "20")),
        (np.array(["b", "a", "c"])[CLASSES], "class", ("a", "b", "c")),
        (CLASSES / 2, "values", ("value 1",)),
        (np.stack([CLASSES, CLASSES], 1), "values", ("value 1", "value 2")),
        (np.stack([CLASSES > 1, CLASSES == 1], 1), "labels", ("label 1", "label 2")),
    ],
)
def test_the_task_follows_from_the_targets(
    tmp_path: Path, targets: NDArray[Any], target: str, names: tuple[str, ...]
) -> None:
    source = vectors(tmp_path, x=VECTORS, y=targets)
    assert (source.layout, source.shape, source.target, source.classes) == ("vector", (3,), target, names)
    assert torch.equal(source.read(torch.tensor([7, 2])), torch.from_numpy(VECTORS[[7, 2]]))
    assert len(source.targets) == 12


@pytest.mark.parametrize("channels", [1, 3])
def test_images_of_any_order_are_channels_last(tmp_path: Path, channels: int) -> None:
    shown = PICTURES[..., :channels]
    forms = [shown, shown.transpose(0, 3, 1, 2)] + ([shown[..., 0]] if channels == 1 else [])
    for form in forms:
        source = images(tmp_path, x=form, y=CLASSES)
        assert (source.layout, source.shape) == ("image", (channels, 6, 5))
        assert np.array_equal(source.read(torch.arange(12)).numpy(), shown)


def test_masks_ride_behind_the_image(make_config: MakeConfig, tmp_path: Path) -> None:
    masks = DRAWN.integers(0, 3, (12, 6, 5), dtype=np.uint8)
    masks[:, 0, 0] = 255
    source = images(tmp_path, x=PICTURES, y=masks)
    assert (source.target, source.classes, source.shape) == ("mask", ("0", "1", "2"), (3, 6, 5))
    assert np.array_equal(source.read(torch.tensor([3]))[0, ..., 3].numpy(), masks[3])
    config = make_config(
        dataset={"kind": "npz_pictures", "path": str(tmp_path / "a.npz")},
        model={"kind": "unet"},
        objective={"kind": "segmentation"},
    )
    batch = next(iter(prepare(config, CPU).evaluation_batches("validation")))
    assert batch.targets.shape == (len(batch.inputs), 6, 5)
    assert set(batch.targets[:, 0, 0].tolist()) == {IGNORED}


def test_masks_that_only_the_data_tells_of_are_not_mixed(make_config: MakeConfig, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=PICTURES, y=DRAWN.integers(0, 3, (12, 6, 5), dtype=np.uint8))
    config = make_config(
        dataset={"kind": "npz_pictures", "path": str(tmp_path / "a.npz"), "mixup_alpha": 0.2, "cutmix_alpha": 1.0},
        model={"kind": "unet"},
        objective={"kind": "segmentation"},
    )
    with pytest.raises(
        ConfigError, match="two samples have no target in common where npz_pictures gives masks"
    ) as refused:
        prepare(config, CPU)
    assert [problem.path for problem in refused.value.problems] == ["dataset.mixup_alpha", "dataset.cutmix_alpha"]


def test_parts_have_their_own_arrays(make_config: MakeConfig, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        x_train=VECTORS[:6], y_train=CLASSES[:6], x_val=VECTORS[6:9], y_val=CLASSES[6:9], x_test=VECTORS[9:],
        y_test=CLASSES[9:],
    )  # fmt: skip
    data = prepare(make_config(dataset={"kind": "npz", "path": str(tmp_path / "a.npz")}, model={"kind": "mlp"}), CPU)
    assert {part: indices.tolist() for part, indices in data.splits.items()} == {
        "train": [0, 1, 2, 3, 4, 5], "validation": [6, 7, 8], "test": [9, 10, 11],
    }  # fmt: skip
    assert data.normalization.mean == pytest.approx(VECTORS[:6].astype(np.float64).mean(axis=0).tolist(), rel=1e-12)


def test_stored_arrays_are_mapped_and_compressed_ones_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=VECTORS, y=CLASSES, f=np.asfortranarray(VECTORS))
    np.savez_compressed(tmp_path / "b.npz", x=VECTORS)
    mapped, read = NpzFile(tmp_path / "a.npz"), NpzFile(tmp_path / "b.npz")
    assert isinstance(mapped.array("x"), np.memmap)
    assert not isinstance(read.array("x"), np.memmap)
    for array in (mapped.array("x"), read.array("x"), mapped.array("f")):
        assert np.array_equal(array, VECTORS)
    assert np.array_equal(mapped.array("y"), CLASSES)


@pytest.mark.parametrize(
    ("settings", "arrays", "sentence"),
    [
        ({}, {"x": VECTORS, "y": np.array([{"a": 1}] * 12)}, "array 'y' of .* is pickled, which can run code; save it as"),
        ({"inputs": "z"}, {"x": VECTORS, "y": CLASSES}, "has no array 'z'; it has x, y"),
        ({}, {"x": VECTORS, "y": CLASSES[:5]}, r"inputs \(12, 3\) and targets \(5\); one target is needed for each"),
        ({}, {"x": CLASSES, "y": CLASSES}, r"has the shape \(12\); rows of numbers \(N, F\) are needed"),
        ({}, {"x": VECTORS, "y": np.full(12, np.nan)}, "holds a number that is missing or infinite"),
        ({"task": "labels"}, {"x": VECTORS, "y": CLASSES}, "labels are 0 or 1; set dataset.task to values"),
        ({"task": "class"}, {"x": VECTORS, "y": CLASSES / 2}, "a class is one whole number or text"),
        ({}, {"x": DRAWN.normal(size=(1500, 2)), "y": np.arange(1500)}, "1,500 different values, too many to be classes"),
        ({}, {"x_train": VECTORS, "y_train": CLASSES, "x_test": VECTORS[:, :2], "y_test": CLASSES}, "the parts differ in"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_in_a_sentence(
    tmp_path: Path, settings: dict[str, Any], arrays: dict[str, NDArray[Any]], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        vectors(tmp_path, settings, **arrays)


def test_float_images_and_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="holds float32, but images are whole numbers from 0 to 255; save them as uint8"
    ):
        images(tmp_path, x=PICTURES.astype(np.float32), y=CLASSES)
    with pytest.raises(InputError, match=r"\(12, 6, 5, 7\); images are \(N, H, W\)"):
        images(tmp_path, x=np.zeros((12, 6, 5, 7), np.uint8), y=CLASSES)
    (tmp_path / "a.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"is no \.npz file"):
        NpzFile(tmp_path / "a.npz")
