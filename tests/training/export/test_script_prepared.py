"""The file with the samples beside a script: what the source gives, whole or not at all, and nobody else's."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.training.catalog.test_every_dataset import small
from tests.training.catalog.test_every_image_dataset import config as image_config
from tests.training.catalog.test_every_image_dataset import dataset as image_dataset
from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import export
from tests.training.tiny import tiny
from training.cli import main
from training.config import RunConfig
from training.core.readers.prepared_reading import read_prepared
from training.errors import InputError, TrainingError
from training.export import export_checkpoint
from training.export.bundle import load_bundle
from training.export.listings import prepared_tensors
from training.export.listings.prepared_tensors import PreparedTensors

SHAPES = ("dataset.kind=shapes", "dataset.samples=60", "model.kind=small_cnn", "model.channels=[4, 4]")


def shapes() -> RunConfig:
    return tiny(CPU, *SHAPES, "loop.max_steps=1")


def script_of(file: Path) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "script", "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("kind", ["shapes", "npz", "ranking", "segmentation", "values", "labels"])
def test_a_script_reads_what_the_source_gives(kind: str, train: Train, tmp_path: Path) -> None:
    if kind in ("segmentation", "values", "labels"):
        config = image_config(image_dataset(kind, tmp_path / "data"))
    else:
        config = shapes() if kind == "shapes" else small(kind, tmp_path)
    checkpoint = train(config)
    script = script_of(export(checkpoint, tmp_path / "train.py"))
    samples, targets, parts = script["read_data"](script["DATA"])
    prepared = load_bundle(checkpoint).prepared
    assert prepared is not None
    assert parts.keys() == prepared.splits.keys()
    assert all(torch.equal(parts[part], numbers) for part, numbers in prepared.splits.items())
    whole, wanted = prepared.source.read_all(), prepared.source.targets
    if kind == "segmentation":
        whole, wanted = whole[..., :-1], whole[..., -1]
    assert (samples.dtype, targets.dtype) == (whole.dtype, wanted.dtype)
    assert torch.equal(samples.nan_to_num(nan=-7.0), whole.nan_to_num(nan=-7.0))
    assert torch.equal(targets.nan_to_num(nan=-7.0), wanted.nan_to_num(nan=-7.0))


def test_samples_are_written_a_few_at_a_time(tmp_path: Path) -> None:
    class Large:
        """30 MB of images."""

        layout, target, shape, classes, fingerprint = "image", "class", (3, 100, 100), ("a", "b"), "of these"
        targets = torch.arange(1000) % 2
        float_pixels = False
        asked: list[int]

        def read(self, indices: Tensor) -> Tensor:
            self.asked.append(len(indices))
            return (indices % 251).to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 100, 100, 3)

    source: Any = Large()
    source.asked = []
    prepared = PreparedTensors(source, {"train": torch.arange(900), "validation": torch.arange(900, 1000)})
    with (tmp_path / "a.npz").open("wb") as stream:
        prepared.write(stream)
    assert max(source.asked) * 30_000 <= 16 << 20
    samples, targets, parts = read_prepared(tmp_path / "a.npz", prepared.digest)
    assert torch.equal(samples, source.read(torch.arange(1000)))
    assert torch.equal(targets, source.targets)
    assert {part: len(numbers) for part, numbers in parts.items()} == {"train": 900, "validation": 100}
    with (tmp_path / "b.npz").open("wb") as stream:
        prepared.write(stream)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_script_tells_that_its_samples_are_missing_or_others(train: Train, tmp_path: Path) -> None:
    checkpoint = train(shapes())
    file = export(checkpoint, tmp_path / "train.py")
    assert "data_of_train.npz (60 samples" in file.read_text(encoding="utf-8")
    script, data = script_of(file), tmp_path / "data_of_train.npz"
    whole = data.read_bytes()

    def put_another() -> None:
        np.savez(data, digest=np.array("another"), samples=np.zeros(3), targets=np.zeros(3))

    wrong: dict[str, Callable[[], Any]] = {
        "it holds other samples": put_another,
        "File is not a zip": lambda: data.write_bytes(whole[: len(whole) // 2]),
        "CRC": lambda: data.write_bytes(whole[:2000] + b"damaged" + whole[2007:]),
        "No such file": data.unlink,
    }
    for words, spoil in wrong.items():
        spoil()
        with pytest.raises(SystemExit, match=words) as ended:
            script["read_data"](data)
        assert str(ended.value).startswith(f"{data} cannot be used (")
    data.write_bytes(whole)
    assert len(script["read_data"](data)[0]) == 60


def test_many_samples_are_written_only_when_asked_for(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is the dataset looked at before."""
    config = small("npz_pictures", tmp_path)
    checkpoint, arrays = train(config), tmp_path / "a.npz"
    monkeypatch.setattr(prepared_tensors, "LARGE_DATA", 1000)
    moved = arrays.rename(tmp_path / "moved.npz")
    command = ["export", str(checkpoint), "--to", "script", "--out", str(tmp_path / "out" / "train.py"), "--json"]
    assert main(command) == 2
    refused = capsys.readouterr().err
    assert "the samples beside the script would take" in refused
    assert "--large-data" in refused
    assert not (tmp_path / "out").exists()
    moved.rename(arrays)
    assert main([*command, "--large-data"]) == 0
    said, files = capsys.readouterr(), sorted(path.name for path in (tmp_path / "out").iterdir())
    assert said.err.index("The samples go beside the script") < said.err.index("Exported the run")
    assert files == ["data_of_train.npz", "train.py"]


def test_what_is_not_ours_is_not_overwritten(train: Train, tmp_path: Path) -> None:
    checkpoint = train(shapes())
    (tmp_path / "data_of_train.npz").write_bytes(b"a person's")
    with pytest.raises(InputError, match="not an export of ours; choose another name for the script"):
        export_checkpoint(checkpoint, "script", tmp_path / "train.py")
    assert [path.name for path in tmp_path.iterdir()] == ["data_of_train.npz"]
    assert (tmp_path / "data_of_train.npz").read_bytes() == b"a person's"
    for _ in range(2):  # our own is replaced
        export(checkpoint, tmp_path / "again.py")


def test_a_dataset_that_became_another_is_refused(train: Train, tmp_path: Path) -> None:
    checkpoint = train(small("npz", tmp_path))
    with np.load(tmp_path / "a.npz") as arrays:
        np.savez(tmp_path / "a.npz", **{name: np.flip(array, 0) for name, array in arrays.items()})
    with pytest.raises(InputError, match="not the one that the run was trained on any more"):
        export_checkpoint(checkpoint, "script", tmp_path / "out" / "train.py")
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_where_a_sample_cannot_be_read(train: Train, tmp_path: Path) -> None:
    sections = image_dataset("classes", tmp_path / "data")
    sections["dataset"]["image_size"] = 160
    sections["loader"] = {"memory_limit_mb": 1, "cache": "off"}
    checkpoint = train(image_config(sections))

    def lose_an_image(words: str) -> None:
        next((tmp_path / "data").glob("*.png")).write_bytes(b"no image")

    with pytest.raises(TrainingError, match="is not the image it was"):
        export_checkpoint(checkpoint, "script", tmp_path / "out" / "train.py", tell=lose_an_image)
    assert not (tmp_path / "out").exists()


def test_the_file_is_an_ordinary_archive_of_arrays(train: Train, tmp_path: Path) -> None:
    export(train(shapes()), tmp_path / "train.py")
    with zipfile.ZipFile(tmp_path / "data_of_train.npz") as archive:
        assert archive.testzip() is None
    with np.load(tmp_path / "data_of_train.npz") as arrays:
        assert {*arrays} == {"samples", "targets", "train", "validation", "digest"}
