"""idx files: what is right is read, what is wrong is named."""

from __future__ import annotations

import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.data.conftest import idx_bytes, write_idx
from training.config.sections.data.dataset import IdxDataset
from training.data.source import Source
from training.data.sources import open_source
from training.errors import InputError

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def opened(folder: Path) -> Source:
    return open_source(IdxDataset(path=str(folder)))


def test_images_labels_and_parts(idx_folder: Path) -> None:
    source = opened(idx_folder)
    assert source.shape == (1, 6, 5)
    assert source.classes == ("0", "1", "2")
    assert {part: len(rows) for part, rows in source.parts.items()} == {"train": 60, "test": 12}
    train = np.random.default_rng(60).integers(0, 256, (60, 6, 5), dtype=np.uint8)
    test = np.random.default_rng(12).integers(0, 256, (12, 6, 5), dtype=np.uint8)
    images = source.read(torch.tensor([71, 0, 59, 60]))
    assert images.dtype == torch.uint8
    assert np.array_equal(images[..., 0].numpy(), np.stack([test[11], train[0], train[59], test[0]]))
    assert source.targets.tolist() == [*(i % 3 for i in range(60)), *(i % 3 for i in range(12))]
    whole = source.read_all()
    assert torch.equal(whole[[71, 0, 59, 60]], images)
    assert torch.equal(source.read(torch.arange(72)), whole)  # it reads its files again


def test_gzip_changes_nothing(tmp_path: Path) -> None:
    write_idx(tmp_path / "plain", "train", 30)
    write_idx(tmp_path / "packed", "train", 30, gzipped=True)
    plain, packed = opened(tmp_path / "plain"), opened(tmp_path / "packed")
    assert torch.equal(plain.read_all(), packed.read_all())
    assert plain.fingerprint == packed.fingerprint
    assert set(plain.parts) == {"train"}


def test_it_travels_to_a_worker_without_its_images(idx_folder: Path) -> None:
    source = opened(idx_folder)
    sent = pickle.dumps(source)
    assert len(sent) < 10_000
    assert torch.equal(pickle.loads(sent).read(torch.arange(72)), source.read(torch.arange(72)))


def test_the_fingerprint_sees_one_byte(idx_folder: Path) -> None:
    before = opened(idx_folder).fingerprint
    data = bytearray((idx_folder / IMAGES).read_bytes())
    data[-1] ^= 1
    (idx_folder / IMAGES).write_bytes(data)
    assert opened(idx_folder).fingerprint != before


def cut_gzip(folder: Path) -> None:
    packed = gzip.compress((folder / IMAGES).read_bytes())
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(packed[: len(packed) // 2])


def flip_gzip(folder: Path) -> None:
    packed = bytearray(gzip.compress((folder / IMAGES).read_bytes()))
    packed[len(packed) // 2] ^= 0xFF
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(packed)


def one_class(folder: Path) -> None:
    for file in folder.glob("t10k*"):
        file.unlink()
    (folder / LABELS).write_bytes(idx_bytes(np.zeros(60, dtype=np.uint8)))


def unknown_class(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(np.full(12, 7, dtype=np.uint8))))


@pytest.mark.parametrize(
    ("harm", "names", "says"),
    [
        (lambda f: (f / LABELS).unlink(), LABELS, "has no file"),
        (lambda f: (f / IMAGES).unlink(), IMAGES, "has no file"),
        (lambda f: (f / "t10k-labels-idx1-ubyte.gz").unlink(), "t10k-labels", "has no file"),
        (lambda f: (f / IMAGES).write_bytes(b""), IMAGES, "is empty"),
        (lambda f: (f / IMAGES).write_bytes(b"hello, this is text"), IMAGES, "not an idx file"),
        (lambda f: (f / IMAGES).write_bytes((f / LABELS).read_bytes()), IMAGES, "does not hold images"),
        (lambda f: (f / LABELS).write_bytes((f / IMAGES).read_bytes()), LABELS, "does not hold labels"),
        (lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes()[:-1]), IMAGES, "promises 1800 bytes, but 1799"),
        (lambda f: (f / IMAGES).write_bytes((f / IMAGES).read_bytes() + b"x"), IMAGES, "promises 1800 bytes, but 1801"),
        (lambda f: (f / IMAGES).write_bytes(b"\0\0\x08\x03" + bytes([2, 0, 0, 0] * 3)), IMAGES, "but 0 follow"),
        (lambda f: (f / IMAGES).write_bytes(idx_bytes(np.zeros((0, 6, 5), np.uint8))), IMAGES, "holds no images"),
        (lambda f: (f / LABELS).write_bytes(idx_bytes(np.zeros(59, np.uint8))), LABELS, "59 labels"),
        (cut_gzip, IMAGES, "cut off"),
        (flip_gzip, IMAGES, "damaged"),
        (one_class, "", "one class only"),
        (unknown_class, "", "class 7"),
        (lambda f: write_idx(f, "t10k", 12, gzipped=True, size=(7, 7)), "t10k-images", "differ in size"),
    ],
)
def test_each_fault_is_named(idx_folder: Path, harm: Callable[[Path], object], names: str, says: str) -> None:
    harm(idx_folder)
    with pytest.raises(InputError) as caught:
        opened(idx_folder)
    assert says in caught.value.message
    assert names in caught.value.message
    assert caught.value.advice


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a folder"):
        opened(tmp_path / "nowhere")


def test_real_mnist(mnist: Path) -> None:
    source = opened(mnist)
    assert source.shape == (1, 28, 28)
    assert torch.bincount(source.targets[source.parts["train"]]).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert source.targets[:5].tolist() == [5, 0, 4, 1, 9]
    assert len(source.parts["test"]) == 10_000
