"""Scripts of every kind of data: read or made, split and trained on to the same bits as the engine's."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import first_of
from tests.training.catalog.task_samples import small as catalog_small
from tests.training.catalog.test_every_dataset import small
from tests.training.catalog.test_every_image_dataset import config as image_config
from tests.training.catalog.test_every_image_dataset import dataset as image_dataset
from tests.training.data.conftest import image
from tests.training.data.pairs_of_images import write_pairs
from tests.training.export.conftest import Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script, write_folder
from tests.training.export.test_script_tasks import WORDS, assert_same_score
from tests.training.tiny import tiny_images
from training.config import RunConfig, apply_overrides, parse_config
from training.data.exclude import sample_digests
from training.data.source import Opening
from training.data.sources import open_source
from training.exclude_list import add_to_list
from training.runs.folder import RunFolder


def changed(config: RunConfig, *overrides: str) -> RunConfig:
    data: dict[str, Any] = config.model_dump(mode="json")
    apply_overrides(data, overrides)
    return parse_config(data)


def assert_repeated(checkpoint: Path, tmp_path: Path) -> str:
    """The script of the run has the run's parts and computes what it computed; its text."""
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    printed = io.StringIO()
    with redirect_stdout(printed):
        train_by_script(file, tmp_path / "script")
    assert_same_run(checkpoint, tmp_path / "script")
    assert_same_score(checkpoint, printed.getvalue())
    report = json.loads(RunFolder(checkpoint.parent.parent).data_file.read_text())
    for part, count in report["samples"].items():
        assert f"{count} {part} samples" in printed.getvalue()
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", first_of(["moons", "npz_pictures", "npz", "circles", "blobs"], 2))
def test_made_points_and_arrays(kind: str, train: Train, tmp_path: Path) -> None:
    assert_repeated(train(small(kind, tmp_path)), tmp_path)


def test_arrays_with_parts_of_their_own(train: Train, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    shapes = {"train": 30, "val": 8, "test": 9}
    arrays: dict[str, Any] = {
        f"x_{part}": draw.integers(0, 256, (count, 3, 8, 8), np.uint8) for part, count in shapes.items()
    }
    arrays |= {f"y_{part}": np.array(["b", "a", "c"])[np.arange(count) % 3] for part, count in shapes.items()}
    np.savez(tmp_path / "a.npz", **arrays)
    for validation in ("auto", "split", "test"):
        config = changed(small("npz_pictures", tmp_path), f"dataset.validation={validation}")
        np.savez(tmp_path / "a.npz", **arrays)
        (tmp_path / validation).mkdir()
        assert_repeated(train(config), tmp_path / validation)


@pytest.mark.parametrize("kind", first_of(["labels", "values", "classes"], 2))
def test_images_of_a_table(kind: str, train: Train, tmp_path: Path) -> None:
    sections = image_dataset(kind, tmp_path / "data")
    text = (tmp_path / "data" / "table.csv").read_text()
    (tmp_path / "data" / "table.csv").write_text(text + "\nnot there.png,light,red,1,2\n./03.png,dark,red,1,2\n")
    assert_repeated(train(image_config(sections)), tmp_path)


@pytest.mark.parametrize(
    "settings",
    first_of(
        [
            ("split_column=part", "validation=test", "duplicates=drop_from_validation"),
            ("split_column=part", "validation=split", "group_column=query"),
            ("group_column=gappy", "test_fraction=0.2", "duplicates=drop_from_validation"),
            ("split_column=part", "duplicates=drop_from_validation"),
            ("test_fraction=0.3", "split_seed=3"),
        ],
        3,
    ),
    ids=" ".join,
)
def test_rows_are_split_as_the_run_splits_them(settings: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    config = small("table", tmp_path)
    names, *lines = (tmp_path / "t.csv").read_text().splitlines()
    words = ("Train", "val", "dev", "training", "train")
    rows = [f"{line},{words[row % 5] if row < 70 else 'test'}" for row, line in enumerate(lines)]
    rows += [f"{line},val" for line in lines[2:4]] + [f"{line},Test" for line in lines[3:6]]  # the same rows once more
    (tmp_path / "t.csv").write_text("\n".join([f"{names},part", *rows]) + "\n")
    named = {setting.partition("=")[2] for setting in settings}
    ignored = [name for name in ("query", "grade", "part") if name not in named]
    overrides = [f"dataset.{setting}" for setting in settings]
    assert_repeated(train(changed(config, f"dataset.ignored={ignored}", *overrides)), tmp_path)


@pytest.mark.parametrize("form", first_of(["%d.%m.%Y %H:%M", "%Y-%m-%d", "%Y%m%d"]))
def test_rows_are_split_by_time_as_the_run_splits_them(form: str, train: Train, tmp_path: Path) -> None:
    config = small("table", tmp_path)
    names, *lines = (tmp_path / "t.csv").read_text().splitlines()
    day = datetime(2024, 1, 25)
    rows = [f"{line},{day + timedelta(days=37 * row % 50):{form}}" for row, line in enumerate(lines)]
    (tmp_path / "t.csv").write_text("\n".join([f"{names},when", *rows]) + "\n")
    more = ["dataset.time_column=when", "dataset.ignored=query, grade", "dataset.test_fraction=0.15"]
    text = assert_repeated(train(changed(config, *more)), tmp_path)
    assert "hold_back_newest" in text
    assert "SPLIT_SEED" not in text


def test_copies_and_excluded_samples_are_left_out(idx_folder: Path, train: Train, tmp_path: Path) -> None:
    """Of images in files by the files, those to validate on elsewhere; of others by their pixels."""
    folder, held = tmp_path / "pictures", tmp_path / "held" / "out"
    for number in range(24):
        place = (folder if number < 16 else held) / ("light", "dark")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        image(number if number < 20 else number - 16).save(place / f"{number:02}.png")
    sections = image_dataset("classes", tmp_path / "data")
    for number in (3, 9, 14):
        (tmp_path / "data" / f"{number:02}.png").write_bytes((tmp_path / "data" / "00.png").read_bytes())
    images = {"kind": "image_folder", "path": str(folder), "validation_path": str(held)}
    folders = {"dataset": images, "model": sections["model"]}
    (tmp_path / "arrays").mkdir()
    arrays = small("npz_pictures", tmp_path / "arrays")
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "arrays" / "a.npz", x=np.concatenate([pixels, pixels[:20]]), y=np.arange(80) % 3)
    for name, config in (
        ("arrays", arrays),
        ("folder", image_config(folders)),
        ("table", image_config(sections)),
        ("idx", tiny_images(idx_folder, "precision.device=cpu", "loop.epochs=1")),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        source = open_source(config.dataset, Opening())
        listed = sample_digests(source, torch.tensor([2, 5]))
        add_to_list(tmp_path / name / "exclude.txt", dict.fromkeys(listed, ""))
        exclude = f"dataset.exclude={tmp_path / name / 'exclude.txt'}"
        text = assert_repeated(
            train(changed(config, "dataset.duplicates=drop_from_validation", exclude)), tmp_path / name
        )
        by_itself = name in ("folder", "idx")  # the others' file has the parts as they are
        assert ("drop_copies" in text) == ("EXCLUDED = [2, 5" in text) == by_itself


def test_excluded_rows_are_left_out(train: Train, tmp_path: Path) -> None:
    config = small("table", tmp_path)
    listed = sample_digests(open_source(config.dataset, Opening()), torch.tensor([1, 7]))
    add_to_list(tmp_path / "exclude.txt", dict.fromkeys(listed, ""))
    text = assert_repeated(train(changed(config, f"dataset.exclude={tmp_path / 'exclude.txt'}")), tmp_path)
    assert "EXCLUDED = [1, 7]" in text


SEGMENTED: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "indices, geometry": ("L", "sky\nroad\ntree\n", ("ignore_index=1", "rotation=20.0", "hue=0.2")),
    "palette": ("P", None, ("validation=split", "image_size=[16, 12]", "unknown=ignore")),
    "colors": (
        "RGB",
        "sky 0 0 0\nroad 200 40 30\ntree 20 60 220\n",
        ("color=grey", "duplicates=drop_from_validation"),
    ),
    "an unknown color": ("RGB", "sky 0 0 0\nroad 200 40 30\n", ("unknown=ignore", "perspective=0.3", "erasing=0.5")),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", SEGMENTED)
def test_images_with_masks(way: str, train: Train, tmp_path: Path) -> None:
    mode, classes, settings = SEGMENTED[way]
    folder = write_pairs(tmp_path / "data", mode, classes, size=(18, 21))
    (folder / "train" / "images" / "broken.png").write_bytes(b"no picture")
    (folder / "train" / "masks" / "000.png").rename(folder / "train" / "masks" / "000_mask.png")
    (folder / "val" / "masks" / "013.png").unlink()
    for part in ("images", "masks"):  # a copy of what is trained on
        source = next((folder / "train" / part).glob("001.png"))
        (folder / "val" / part / "copy.png").write_bytes(source.read_bytes())
    sections = image_dataset("segmentation", tmp_path / "other")
    sections["dataset"] = {"kind": "segmentation", "path": str(folder)}
    config = image_config(sections)
    assert_repeated(train(changed(config, *(f"dataset.{setting}" for setting in settings))), tmp_path)


def test_arrays_with_masks(train: Train, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    masks = draw.integers(0, 3, (24, 16, 16), dtype=np.uint8)
    masks[:, 0] = 255
    np.savez(tmp_path / "a.npz", x=draw.integers(0, 256, (24, 16, 16), dtype=np.uint8), y=masks)
    sections = image_dataset("segmentation", tmp_path / "other")
    sections["dataset"] = {"kind": "npz_pictures", "path": str(tmp_path / "a.npz"), "rotation": 10.0}
    assert_repeated(train(image_config(sections)), tmp_path)


def test_classes_are_drawn_alike(train: Train, tmp_path: Path) -> None:
    """In the second epoch, too, in which a rare class has come round several times."""
    config = changed(small("npz", tmp_path), "loader.sampling=balanced", "loop.max_steps=14")
    np.savez(tmp_path / "a.npz", x=np.arange(160.0).reshape(80, 2), y=np.minimum(np.arange(80) % 20, 2))
    assert_repeated(train(config), tmp_path)


TEXTS: dict[str, tuple[str, ...]] = {
    "byte pairs": ("vocabulary=bpe", "vocabulary_size=300"),
    "a folder": ("path={folder}/train", "validation_path={folder}/other.txt", "vocabulary=bpe", "vocabulary_size=280"),
    "in another encoding": ("path={folder}/latin.txt", "encoding=latin-1"),
}


@pytest.mark.parametrize("way", TEXTS)
def test_texts(way: str, train: Train, tmp_path: Path) -> None:
    """With a mark of Unicode at the start, line ends of two kinds, and a file whose last line has no end."""
    whole = "".join(f"{number}. Für Elise, {WORDS}\r\n" for number in range(30))
    folder = tmp_path / "texts"
    (folder / "train" / "deeper").mkdir(parents=True)
    (folder / "train" / "b.txt").write_bytes(b"\xef\xbb\xbf" + whole.encode() + b"no end")
    (folder / "train" / "deeper" / "a.TXT").write_text("Then another night. " * 20)
    (folder / "train" / ".hidden.txt").write_text("hidden")
    (folder / "other.txt").write_bytes(whole[:1500].encode())
    (folder / "latin.txt").write_bytes(whole.encode("latin-1"))
    config = catalog_small("language_model", tmp_path)
    settings = (setting.format(folder=folder) for setting in ("path={folder}/train/b.txt", *TEXTS[way]))
    assert_repeated(train(changed(config, *(f"dataset.{setting}" for setting in settings))), tmp_path)


RANKED: dict[str, tuple[str, ...]] = {
    "ranked": ("checkpoints.monitor=val/mrr",),
    "ranking": ("dataset.max_items=3", "dataset.split_column=part", "dataset.duplicates=drop_from_validation"),
}


@pytest.mark.parametrize("kind", RANKED)
def test_queries_with_their_items(kind: str, train: Train, tmp_path: Path) -> None:
    config = small(kind, tmp_path)
    if kind == "ranking":
        names, *lines = (tmp_path / "t.csv").read_text().splitlines()
        rows = [f"{line},{'val' if row >= 60 else 'train'}" for row, line in enumerate(lines)]
        rows += [f"{line.rpartition(',')[0]},again,val" for line in lines[8:12]] + [
            f"{lines[0].rpartition(',')[0]},alone,train"
        ]
        (tmp_path / "t.csv").write_text("\n".join([f"{names},part", *rows]) + "\n")
    assert_repeated(train(changed(config, *RANKED[kind])), tmp_path)


@pytest.mark.parametrize("kind", ["idx", "image_folder", "table", "text"])
def test_data_that_is_not_there_is_told_in_a_sentence(
    kind: str, train: Train, idx_folder: Path, tmp_path: Path
) -> None:
    if kind in ("idx", "image_folder"):
        folder = idx_folder if kind == "idx" else write_folder(tmp_path / "images")
        config = tiny_images(folder, "precision.device=cpu", f"dataset.kind={kind}", "schedule.warmup=0")
    else:
        config = small("table", tmp_path) if kind == "table" else catalog_small("language_model", tmp_path)
    file = export(train(config), tmp_path / "train.py")
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(SystemExit, match=r"; say where the data is with --data\.$") as ended:
            train_by_script(file, tmp_path / "run", "--data", str(place))
        assert str(ended.value).startswith(str(place))


def test_a_damaged_idx_file_is_told_in_a_sentence(images: Path, idx_folder: Path, tmp_path: Path) -> None:
    file = export(images, tmp_path / "train.py")
    name = "t10k-images-idx3-ubyte.gz"
    packed, folder = (idx_folder / name).read_bytes(), tmp_path / "damaged"
    shutil.copytree(idx_folder, folder)
    plain = gzip.decompress(packed)
    for damaged in (packed[:-20], packed[:40] + b"?" * 20 + packed[60:], b"", plain[:9], plain[:-1]):
        (folder / name).write_bytes(damaged)
        with pytest.raises(SystemExit, match=r"damaged cannot be used \(.+\); say where the data is with --data\.$"):
            train_by_script(file, tmp_path / "run", "--data", str(folder))


def test_idx_files_are_read_by_the_names_that_they_have(train: Train, idx_folder: Path, tmp_path: Path) -> None:
    """Plain, gzipped, or as some unpackers call them; without the data by the names of the format."""
    folder = tmp_path / "idx"
    folder.mkdir()
    for file in idx_folder.iterdir():
        name = file.name.removesuffix(".gz").replace("-idx", ".idx" if "images" in file.name else "-idx")
        (folder / name).write_bytes(gzip.decompress(file.read_bytes()))
    checkpoint = train(tiny_images(folder, "precision.device=cpu", "loop.epochs=1"))
    assert "'train-images.idx3-ubyte', 'train-labels-idx1-ubyte'" in assert_repeated(checkpoint, tmp_path)
    for file in folder.iterdir():  # packed since
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    train_by_script(tmp_path / "train.py", tmp_path / "packed")
    assert_same_run(checkpoint, tmp_path / "packed")
    shutil.rmtree(folder)
    (tmp_path / "train.py").unlink()
    text = export(checkpoint, tmp_path / "train.py").read_text(encoding="utf-8")
    assert "'train-images-idx3-ubyte', 'train-labels-idx1-ubyte'" in text


def test_a_folder_of_texts_that_is_none_is_told_in_a_sentence(train: Train, tmp_path: Path) -> None:
    config = catalog_small("language_model", tmp_path)
    folder, empty = tmp_path / "texts", tmp_path / "empty"
    for place in (folder, empty):
        place.mkdir()
    shutil.copyfile(config.model_dump()["dataset"]["path"], folder / "one.txt")
    file = export(train(changed(config, f"dataset.path={folder}")), tmp_path / "train.py")
    for place in (empty, tmp_path / "nowhere", folder / "one.txt"):
        with pytest.raises(SystemExit, match=r"cannot be used \(it is no folder with text in it\)"):
            train_by_script(file, tmp_path / "run", "--data", str(place))


def test_a_text_that_is_too_short_is_told_in_a_sentence(train: Train, tmp_path: Path) -> None:
    file = export(train(catalog_small("language_model", tmp_path)), tmp_path / "train.py")
    for number, text in enumerate(("", "short")):
        place = tmp_path / f"{number}.txt"
        place.write_text(text)
        with pytest.raises(
            SystemExit, match=r"cannot be used \(one of its texts has \d tokens, but a window needs \d+\)"
        ):
            train_by_script(file, tmp_path / "run", "--data", str(place))
