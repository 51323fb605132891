"""What is found by looking at samples: parts that differ, labels that are wrong, augmentation that changes them, targets and sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.training.data.own_files import written
from tests.training.doctor.sampled import ROWS, SCORE, Change, look, mend, vectors
from tests.training.doctor.tables import honest, table_config
from tests.training.tiny import tiny
from training.config import RunConfig, parse_config
from training.doctor.quick import quick_findings
from training.engine.assemble import assemble
from training.events import Finding
from training.findings.labels import SUSPECT


def scale(x: np.ndarray, y: np.ndarray) -> None:
    x[:, 2] = 100 * x[:, 2] + 500


def rename(x: np.ndarray, y: np.ndarray) -> None:
    y[:] = (y + 1) % 4


def mislabel(x: np.ndarray, y: np.ndarray) -> None:
    wrong = np.random.default_rng(1).random(len(y)) < 0.3
    y[wrong] = np.random.default_rng(2).integers(0, 4, int(wrong.sum()))


def shift(x: np.ndarray, y: np.ndarray) -> None:
    y[:] = np.roll(y, 1)


def fade(x: np.ndarray, y: np.ndarray) -> None:
    x += np.random.default_rng(3).normal(0, 3, x.shape).astype(np.float32)


def freeze(x: np.ndarray, y: np.ndarray) -> None:
    x[:, 4] = 1.0


def exchange(x: np.ndarray, y: np.ndarray) -> None:
    late = y[len(y) // 2 :]
    late[:] = np.array([1, 0, 2, 3])[late]


def approach(x: np.ndarray, y: np.ndarray) -> None:
    late = np.arange(len(y)) >= len(y) // 2
    x[late & (y == 0), :2] = x[late & (y == 0), 1::-1]


def nothing(x: np.ndarray, y: np.ndarray) -> None:
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "held", "key"),
    [
        (nothing, nothing, ""),
        (fade, fade, ""),
        (nothing, scale, "data.parts_differ:inputs"),
        (nothing, rename, "data.parts_differ:labels"),
        (mislabel, nothing, "label.suspect"),
        (shift, shift, "label.shifted"),
        (freeze, nothing, "table.constant"),
        (exchange, nothing, "label.renamed"),
        (approach, nothing, ""),
    ],
)
def test_parts_and_labels(tmp_path: Path, train: Change, held: Change, key: str) -> None:
    assert list(look(vectors(tmp_path, train, held))) == ([key] if key else [])


def arrows(folder: Path, *overrides: str) -> RunConfig:
    """Bright corners: left or right, of images of 16 pixels."""
    numbers = np.random.default_rng(0)
    for name, column in (("a", 0), ("b", 8)):
        (folder / "i" / name).mkdir(parents=True)
        for each in range(60):
            image = numbers.integers(0, 90, (16, 16, 3), dtype=np.uint8)
            image[:8, column : column + 8] += 120
            Image.fromarray(image).save(folder / "i" / name / f"{each}.png")
    images = ("dataset.kind=image_folder", f"dataset.path={folder / 'i'}", "model.kind=small_cnn", "loop.epochs=30")
    return tiny(*images, *overrides)


def test_a_flip_that_makes_one_class_the_other(tmp_path: Path) -> None:
    config = arrows(tmp_path, "dataset.flip=true")
    [found] = look(config).values()
    assert (found.key, found.fix) == ("augment.changes_label:dataset.flip", {"dataset.flip": False})
    assert not look(mend(config, found))
    assert not look(mend(config, found).model_copy(update={"seed": 3}))


@pytest.mark.slow
def test_colors_that_are_all_there_is_and_taken_away(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    for name, channel in (("red", 0), ("green", 1), ("blue", 2)):
        (tmp_path / "i" / name).mkdir(parents=True)
        for each in range(50):
            image = numbers.integers(0, 60, (16, 16, 3), dtype=np.uint8)
            image[4:12, 4:12, channel] += (60, 31, 160)[channel]  # as bright as the others, without colors
            Image.fromarray(image).save(tmp_path / "i" / name / f"{each}.png")
    images = ("dataset.kind=image_folder", f"dataset.path={tmp_path / 'i'}", "model.kind=small_cnn", "loop.epochs=30")
    [found] = look(tiny(*images, "dataset.grayscale=1.0", "dataset.blur=0.1")).values()
    assert (found.code, dict(found.fix)) == ("augment.changes_label", {"dataset.grayscale": 0.0})
    assert not look(tiny(*images, "dataset.grayscale=0.1", "dataset.brightness=0.3", "dataset.translate=0.1"))


@pytest.mark.slow
def test_brightness_that_is_all_there_is_and_varied(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    for name, light in (("night", 70), ("dusk", 102), ("day", 134)):
        (tmp_path / "i" / name).mkdir(parents=True)
        for each in range(120):
            image = numbers.normal(light + numbers.normal(0, 7), 25, (16, 16, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(image).save(tmp_path / "i" / name / f"{each}.png")
    images = ("dataset.kind=image_folder", f"dataset.path={tmp_path / 'i'}", "model.kind=small_cnn", "loop.epochs=30")
    [found] = look(tiny(*images, "dataset.brightness=1.0")).values()
    assert (found.code, dict(found.fix)) == ("augment.changes_label", {"dataset.brightness": 0.0})
    assert not look(tiny(*images, "dataset.brightness=0.1"))


def test_values_of_other_rows(tmp_path: Path) -> None:
    numbers = np.random.default_rng(7)
    columns = dict(zip("ab", numbers.normal(size=(2, 1500)), strict=True))
    y = columns["a"] + np.sin(2 * columns["b"]) + 0.2 * numbers.normal(size=1500)
    others = numbers.random(len(y)) < 0.35
    few = ("loop.epochs=20", "model.kind=mlp", "model.hidden=[32]")
    moved = y.copy()
    moved[others] = numbers.permutation(y[others])
    assert SUSPECT.code in look(table_config(tmp_path, {**columns, "y": moved}, "y", *few))
    heavy = y + 0.5 * numbers.standard_t(2, size=len(y))
    assert SUSPECT.code not in look(table_config(tmp_path, {**columns, "y": heavy}, "y", *few))


def test_crops_of_a_few_pixels(tmp_path: Path) -> None:
    config = arrows(tmp_path, "dataset.resized_crop_scale=0.05")
    [found] = look(config).values()
    assert (found.code, found.fix) == ("augment.changes_label", {"dataset.resized_crop_scale": 0.5})
    assert not look(mend(config, found))


OWN = """import numpy as np
import torch


class Rows(torch.utils.data.Dataset):
    def __init__(self, split):
        numbers = np.random.default_rng(split == "train")
        self.y = numbers.integers(0, 2, 200)
        self.x = numbers.normal(size=(200, 3, 6)).astype("float32") + self.y[:, None, None]
        CHANGE

    def __len__(self):
        return 200

    def __getitem__(self, index):
        return torch.from_numpy(self.x[index]), int(self.y[index])


def build(split: str):
    return Rows(split) if split in ("train", "validation") else None
"""


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("", ""),
        ("self.x[:, 1:] = 3", "table.constant"),
        ("self.x[:, 1:] = 0", ""),
        ("self.x *= 1 if split == 'train' else -1; self.x += 9 * (split == 'train')", "data.parts_differ:inputs"),
    ],
)
def test_samples_of_a_dataset_of_ones_own(tmp_path: Path, change: str, key: str) -> None:
    dataset = written(tmp_path, OWN.replace("CHANGE", change))
    config = parse_config({"dataset": dataset, "model": {"kind": "mlp", "hidden": [8]}, "loop": {"epochs": 40}})
    found = look(config)
    assert list(found) == ([key] if key else [])


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        (("model.kind=torchvision",), "data.images_too_small"),
        (("dataset.image_size=64", "model.kind=torchvision"), ""),
    ],
)
def test_images_too_small_for_the_network(tmp_path: Path, overrides: tuple[str, ...], code: str) -> None:
    assert [item.code for item in look(arrows(tmp_path, *overrides)).values()] == ([code] if code else [])


def test_images_resized_to_next_to_nothing(tmp_path: Path) -> None:
    arrows(tmp_path)
    for path in (tmp_path / "i").rglob("*.png"):
        Image.open(path).resize((100, 80)).save(path)
    few = ("dataset.kind=image_folder", f"dataset.path={tmp_path / 'i'}", "model.kind=mlp", "loop.epochs=30")
    config = tiny(*few, "dataset.image_size=8")
    [found] = look(config).values()
    assert (found.code, found.fix) == ("data.images_shrunk", {"dataset.image_size": 32})
    assert not look(mend(config, found))


FAR = np.where(np.arange(len(SCORE)) % 150 == 7, 1e4, SCORE)


@pytest.mark.parametrize(
    ("y", "overrides", "key"),
    [
        (SCORE, (), ""),
        (SCORE * 5000 + 9000, (), ""),
        (SCORE * 5000 + 9000, ("objective.standardise=false",), "data.scale:targets"),
        (SCORE / 5000, ("objective.standardise=false",), "data.scale:targets"),
        (SCORE, ("objective.standardise=false",), ""),
        (np.exp(SCORE), (), ""),
        (FAR, (), "data.outliers"),
        (FAR, ("objective.loss=huber",), ""),
        (np.maximum(SCORE - 1, 0), ("objective.loss=l1",), "loss.median"),
        (SCORE, ("objective.loss=l1",), ""),
    ],
)
def test_values_to_predict(tmp_path: Path, y: np.ndarray, overrides: tuple[str, ...], key: str) -> None:
    config = table_config(tmp_path, {**honest(), "y": y}, "y", "loop.epochs=20", *overrides)
    found = look(config)
    assert list(found) == ([key] if key else [])
    if key:
        assert not look(mend(config, found[key]))


@pytest.mark.parametrize(
    ("weights", "found"), [("[1, 9]", True), ("[9, 1]", False), ("[1, 1]", False), ("[2, 1]", False)]
)
def test_weights_that_go_against_the_counts(tmp_path: Path, weights: str, found: bool) -> None:
    rare = {**honest(), "y": np.where(SCORE > 1.6, "a rare one", "usual")}
    if weights == "[1, 9]":
        rare["y"] = np.where(SCORE > 1.6, "z rare one", "usual")
        weights = "[9, 1]"
    config = table_config(tmp_path, rare, "y", "loop.epochs=20", f"objective.class_weights={weights}")
    told = look(config)
    assert ("loss.class_weights:objective.class_weights" in told) is found
    if found:
        assert "loss.class_weights:objective.class_weights" not in look(mend(config, next(iter(told.values()))))


def test_equal_rows_with_other_values(tmp_path: Path) -> None:
    a = np.arange(ROWS) // 2 * 1.7 + np.arange(ROWS) % 2 * (np.arange(ROWS) > 60)
    y = np.where(np.arange(ROWS) % 2, 4.0, -4.0)
    told = look(table_config(tmp_path, {"a": a, "b": np.cos(a), "y": y}, "y", "loop.epochs=20"))
    assert list(told) == ["data.conflicting_labels"]
    assert "another value" in told["data.conflicting_labels"].title


def test_lists_that_are_mostly_padding(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0)
    sizes = [30, *[4] * 59]
    rows = [
        (query, value, grade)
        for query, size in enumerate(sizes)
        for grade, value in enumerate(numbers.normal(size=size))
    ]
    text = "".join(f"{query},{value},{grade}\n" for query, value, grade in rows)
    (tmp_path / "t.csv").write_text("query,x,grade\n" + text)
    config = tiny(
        *("dataset.kind=ranking", f"dataset.path={tmp_path / 't.csv'}", "dataset.query_column=query"),
        *('dataset.targets=["grade"]', "dataset.max_items=32", "model.kind=tabular", "objective.kind=ranking"),
    )

    def padding(config: RunConfig) -> list[Finding]:
        session = assemble(config, lambda text, share: None)
        with session.data:
            return [item for item in quick_findings(session) if item.code == "text.padding"]

    [found] = padding(config)
    assert "of the places in the lists are padding: 95 % of the queries have 4 items or fewer" in found.title
    assert found.fix == {"dataset.max_items": 4}
    assert not padding(mend(config, found))
