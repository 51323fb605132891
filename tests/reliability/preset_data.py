"""Data for every preset, made on the spot or real: what it is given beside the number of steps.

Real data lie in a folder with ``mnist`` (idx files), ``cifar10-jpg.tar.xz`` (train/CLASS/NNNN.jpg and test/CLASS/NNNN.jpg),
``camvid-small.tar.xz`` (camvid-small/train and val, with images and masks each), ``tables`` (iris.csv, diamonds.csv) and ``text``
(tinyshakespeare.txt).
"""

from __future__ import annotations

import gzip
import math
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from tests.training.tiny import write_idx
from training.engine.runs.run import start_run
from training.presets import load_preset

NETWORK = """from torch import nn


def build(channels: int, classes: int):
    return nn.Sequential(nn.Conv2d(channels, 8, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, classes))
"""


def write_images(folder: Path, side: int = 48) -> Path:
    """Four classes of thirty."""
    draws = np.random.default_rng(0)
    for number in range(120):
        place = folder / f"class {number % 4}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = draws.integers(0, 128, (side, side, 3), np.uint8)
        pixels[:, :, number % 4 % 3] += 60 + 10 * (number % 4)
        Image.fromarray(pixels).save(place / f"{number:03}.png")
    return folder


def write_labels(folder: Path) -> Path:
    files = sorted(write_images(folder / "images").rglob("*.png"))
    names = ("red", "green", "blue")
    rows = [f"{file.relative_to(folder)},{' '.join(names[: index % 4])}" for index, file in enumerate(files)]
    (folder / "labels.csv").write_text("\n".join(["file,labels", *rows]))
    return folder / "labels.csv"


def write_masks(folder: Path) -> Path:
    draws = np.random.default_rng(0)
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for number in range(30):
        classes = np.zeros((64, 64), np.uint8)
        classes[number : number + 24, 8 : 40 + number] = 1 + number % 2
        pixels = draws.integers(0, 100, (64, 64, 3), np.uint8) + 50 * classes[..., None]
        Image.fromarray(pixels).save(folder / "images" / f"{number:02}.png")
        Image.fromarray(classes).save(folder / "masks" / f"{number:02}.png")
    return folder


def write_rows(file: Path, target: str) -> Path:
    draws = np.random.default_rng(0)
    numbers = draws.normal(size=(2000, 3))
    kinds = [("low", "middle", "high")[int(value)] for value in draws.integers(0, 3, 2000)]
    ends = (
        numbers.sum(1)
        if target == "value"
        else [("no", "perhaps", "yes")[int(row.sum() > 0) + (row[0] > 1)] for row in numbers]
    )
    lines = [
        f"{','.join(f'{number:.4f}' for number in row)},{kind},{end}"
        for row, kind, end in zip(numbers, kinds, ends, strict=True)
    ]
    file.write_text("\n".join([f"one,two,three,kind,{target}", *lines]))
    return file


def write_queries(file: Path) -> Path:
    draws = np.random.default_rng(0)
    lines = ["query,first,second,relevance"]
    for query in range(300):
        for row in draws.normal(size=(6, 2)):
            lines.append(f"q{query},{row[0]:.4f},{row[1]:.4f},{int(np.clip(row[0] + 1, 0, 3))}")
    file.write_text("\n".join(lines))
    return file


def make_data(name: str, folder: Path) -> list[str]:
    """What the preset is given beside the number of steps."""
    if name.startswith(("lab-", "mnist")):
        return [f"dataset.path={write_idx(folder / 'idx', 1200, 28)}"]
    if name == "distillation":
        data = f"dataset.path={write_idx(folder / 'idx', 1200, 28)}"
        teacher = start_run(
            load_preset("mnist", [data, "loop.max_steps=5", "precision.device=cpu"]), folder / "teacher"
        )
        return [data, f"objective.teacher={teacher.last_checkpoint}"]
    if name == "gpt":
        (folder / "text.txt").write_text(
            "".join(f"{line}. To be or not to be, that is question {line % 7}.\n" for line in range(4000))
        )
        return [f"dataset.path={folder / 'text.txt'}"]
    if name.startswith("table-"):
        target = "value" if name == "table-values" else "answer"
        return [f"dataset.path={write_rows(folder / 'rows.csv', target)}", f"dataset.targets={target}"]
    if name == "labels":
        return [f"dataset.path={write_labels(folder)}", "dataset.targets=labels"]
    if name == "ranking":
        return [f"dataset.path={write_queries(folder / 'results.csv')}", "dataset.targets=relevance"]
    if name == "segmentation":
        return [f"dataset.path={write_masks(folder / 'masks')}"]
    if name == "own-network":
        (folder / "network.py").write_text(NETWORK)
        return [f"dataset.path={write_images(folder / 'images')}", f"model.path={folder / 'network.py'}"]
    if name == "resnet":
        return [
            f"dataset.path={write_images(folder / 'images')}",
            "model.pretrained=",
            "optimizer.freeze=off",
            "optimizer.unfreeze_epoch=none",
            "dataset.image_size=64",
        ]
    if name == "vit":
        return [f"dataset.path={write_images(folder / 'images')}", "dataset.image_size=64", "loop.batch_size=32"]
    if name in ("pictures", "cifar10"):
        return [f"dataset.path={write_images(folder / 'images')}"]
    return []


ATTRIBUTES = {
    "airplane": "machine flies",
    "automobile": "machine wheels",
    "bird": "animal flies",
    "cat": "animal pet",
    "deer": "animal hooves",
    "dog": "animal pet",
    "frog": "animal",
    "horse": "animal hooves",
    "ship": "machine",
    "truck": "machine wheels",
}
"""Labels of CIFAR-10's classes, for a table of images that carry several."""
TRAINED, HELD = 200, 50
"""Images of a class that are unpacked."""
DIGITS = 12_000
"""Images of MNIST that are taken."""


def unpack_cifar(archive: Path, folder: Path) -> Path:
    """The first images of each class, those of the test as the validation part: ``folder``/train and ``folder``/val."""
    places = {"train": ("train", TRAINED), "test": ("val", HELD)}
    with tarfile.open(archive) as archived:
        for member in archived:
            part, _, rest = member.name.partition("/")
            place, most = places.get(part, ("", 0))
            if member.isfile() and rest[-8:-4].isdecimal() and int(rest[-8:-4]) < most:
                file = folder / place / rest
                file.parent.mkdir(parents=True, exist_ok=True)
                stream = archived.extractfile(member)
                assert stream is not None
                file.write_bytes(stream.read())
    return folder


def cut_mnist(given: Path, folder: Path) -> Path:
    """The first DIGITS images of both parts, as idx files."""
    folder.mkdir()
    for file in given.glob("*-ubyte*"):
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        sizes = [int.from_bytes(data[4 * place : 4 * place + 4], "big") for place in range(1, 1 + data[3])]
        count = min(DIGITS, sizes[0])
        start = 4 + 4 * len(sizes)
        body = data[start : start + count * math.prod(sizes[1:])]
        (folder / file.name.removesuffix(".gz")).write_bytes(data[:4] + count.to_bytes(4, "big") + data[8:start] + body)
    return folder


def take_real_data(name: str, real: Path, folder: Path) -> list[str]:
    """What the preset is given of the real data in ``real``; those of ``make_data`` where there are none of its kind."""
    digits = f"dataset.path={folder / 'mnist'}"
    if name.startswith(("lab-", "mnist", "distillation")):
        cut_mnist(real / "mnist", folder / "mnist")
    if name.startswith(("lab-", "mnist")):
        return [digits]
    if name == "distillation":
        teacher = start_run(
            load_preset("mnist", [digits, "loop.max_steps=60", "precision.device=cpu"]),
            folder / "teacher",
        )
        return [digits, f"objective.teacher={teacher.last_checkpoint}"]
    if name == "gpt":
        return [f"dataset.path={real / 'text' / 'tinyshakespeare.txt'}"]
    if name == "table-classes":
        return [f"dataset.path={real / 'tables' / 'iris.csv'}", "dataset.targets=species"]
    if name == "table-values":
        return [f"dataset.path={real / 'tables' / 'diamonds.csv'}", "dataset.targets=price"]
    if name == "segmentation":
        with tarfile.open(real / "camvid-small.tar.xz") as archived:
            archived.extractall(folder, filter="data")
        return [f"dataset.path={folder / 'camvid-small'}", "dataset.ignore_index=11", "dataset.image_size=[60, 80]"]
    if name in ("cifar10", "labels", "own-network", "pictures", "resnet", "vit"):
        return _take_cifar(name, unpack_cifar(real / "cifar10-jpg.tar.xz", folder / "cifar"), folder)
    return make_data(name, folder)


def _take_cifar(name: str, images: Path, folder: Path) -> list[str]:
    if name == "cifar10":
        return [f"dataset.path={images}", "loop.batch_size=125"]
    if name == "labels":
        rows = [f"{file.relative_to(folder)},{ATTRIBUTES[file.parent.name]}" for file in sorted(images.rglob("*.jpg"))]
        (folder / "labels.csv").write_text("\n".join(["file,labels", *rows]))
        return [f"dataset.path={folder / 'labels.csv'}", "dataset.targets=labels", "dataset.image_size=32"]
    given = [f"dataset.path={images / 'train'}"]
    if name == "own-network":
        (folder / "network.py").write_text(NETWORK)
        return [*given, f"model.path={folder / 'network.py'}", "dataset.image_size=32"]
    if name == "resnet":
        return [
            *given,
            "model.pretrained=",
            "optimizer.freeze=off",
            "optimizer.unfreeze_epoch=none",
            "dataset.image_size=64",
        ]
    return [
        *given,
        "dataset.image_size=64" if name == "vit" else "dataset.image_size=32",
        *["loop.batch_size=32"] * (name == "vit"),
    ]
