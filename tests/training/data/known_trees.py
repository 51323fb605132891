"""Small sets as torchvision leaves them on the disk, made on the spot; and MATLAB files."""

from __future__ import annotations

import bz2
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.training.data.conftest import idx_bytes, picture

RANDOM = np.random.default_rng(0)
SIDE = (20, 24)
Arrays = dict[str, NDArray[Any]]


def photograph(path: Path) -> None:
    """Another one for each path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(sum(str(path.name).encode()), SIDE).save(path, {".ppm": "PPM", ".png": "PNG"}.get(path.suffix, "JPEG"))


def text(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def mat(path: Path, arrays: Arrays, packed: bool = True) -> None:
    """A MATLAB file of level 5; ``test_mat_file`` compares with what scipy writes."""
    data = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    for name, array in arrays.items():
        of, stored = {"u1": (9, 2), "u2": (11, 4), "f8": (6, 9)}[array.dtype.str[1:]]
        shape = np.array(array.shape, "<i4").tobytes()
        body = element(6, struct.pack("<II", of, 0)) + element(5, shape) + element(1, name.encode())
        whole = element(14, body + element(stored, array.tobytes(order="F")))
        data += struct.pack("<II", 15, len(zlib.compress(whole))) + zlib.compress(whole) if packed else whole
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def pixels(*shape: int) -> NDArray[np.uint8]:
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def emnist(root: Path) -> None:
    raw = root / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 30), ("test", 12)):
        (raw / f"emnist-letters-{part}-images-idx3-ubyte").write_bytes(idx_bytes(pixels(count, 6, 5)))
        labels = (1 + np.arange(count) % 26).astype(np.uint8)
        (raw / f"emnist-letters-{part}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))


def qmnist(root: Path) -> None:
    raw = root / "QMNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 9), ("test", 7)):
        (raw / f"qmnist-{part}-images-idx3-ubyte").write_bytes(idx_bytes(pixels(count, 6, 5)))
        labels = RANDOM.integers(0, 10, (count, 8)).astype(">i4")
        (raw / f"qmnist-{part}-labels-idx2-int").write_bytes(
            struct.pack(">4B2I", 0, 0, 12, 2, count, 8) + labels.tobytes()
        )


def usps(root: Path) -> None:
    for name, count in (("usps.bz2", 9), ("usps.t.bz2", 5)):
        lines = [
            " ".join([str(1 + row % 10), *(f"{place + 1}:{value:.4g}" for place, value in enumerate(values))])
            for row, values in enumerate(RANDOM.uniform(-1, 1, (count, 256)))
        ]
        (root / name).write_bytes(bz2.compress("\n".join(lines).encode()))


SVHN: dict[str, Arrays] = {part: {"X": pixels(32, 32, 3, count), "y": RANDOM.integers(1, 11, (count, 1)).astype(np.uint8)}
        for part, count in (("train", 9), ("test", 5))}  # fmt: skip


def svhn(root: Path) -> None:
    for part, arrays in SVHN.items():
        mat(root / f"{part}_32x32.mat", arrays)


def stl10(root: Path) -> None:
    place = root / "stl10_binary"
    place.mkdir()
    for part, count in (("train", 11), ("test", 4)):
        (place / f"{part}_X.bin").write_bytes(pixels(count, 3, 96, 96).tobytes())
        (place / f"{part}_y.bin").write_bytes((1 + np.arange(count) % 10).astype(np.uint8).tobytes())
    text(
        place / "class_names.txt",
        *["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"],
    )


def food(root: Path) -> None:
    for part, numbers in (("train", range(3)), ("test", range(3, 5))):
        # Not in the order of the alphabet.
        names = {kind: [f"{kind}/{kind[0]}{number}" for number in numbers] for kind in ("tacos", "apple_pie")}
        text(root / "food-101" / "meta" / f"{part}.json", json.dumps(names))
        for paths in names.values():
            for path in paths:
                photograph(root / "food-101" / "images" / f"{path}.jpg")


FLOWERS: dict[str, Arrays] = {
    "imagelabels.mat": {"labels": np.array([[7, 7, 102, 1, 102, 1]], np.uint8)},
    "setid.mat": {
        "trnid": np.array([[1, 3, 6]], np.uint16),
        "valid": np.array([[5, 2]], np.uint16),
        "tstid": np.array([[4, 6]], np.uint16),
    },
}


def flowers(root: Path) -> None:
    for name, arrays in FLOWERS.items():
        mat(root / "flowers-102" / name, arrays)
    for number in range(1, 7):
        photograph(root / "flowers-102" / "jpg" / f"image_{number:05d}.jpg")


def pets(root: Path) -> None:
    place = root / "oxford-iiit-pet"
    numbers = {"trainval": (1, 2), "test": (3,)}
    breeds = {"Abyssinian": 1, "american_bulldog": 2, "Bengal": 3}
    for part, which in numbers.items():
        lines = [f"{breed}_{number} {label} 1 1" for breed, label in breeds.items() for number in which]
        text(place / "annotations" / f"{part}.txt", *lines)
        for line in lines:
            name = line.split()[0]
            photograph(place / "images" / f"{name}.jpg")
            (place / "annotations" / "trimaps").mkdir(exist_ok=True)
            trimap = RANDOM.integers(1, 4, SIDE[::-1], dtype=np.uint8)
            Image.fromarray(trimap).save(place / "annotations" / "trimaps" / f"{name}.png")


def textures(root: Path) -> None:
    base = root / "dtd" / "dtd"
    for part, numbers in {"train": (1, 2), "val": (3,), "test": (4,)}.items():
        paths = [f"{kind}/{kind}_{number}.jpg" for kind in ("woven", "banded") for number in numbers]
        text(base / "labels" / f"{part}3.txt", *paths)
        for path in paths:
            photograph(base / "images" / path)


def signs(root: Path) -> None:
    base = root / "gtsrb"
    for kind in range(3):
        for number in range(2):
            photograph(base / "GTSRB" / "Training" / f"{kind:05d}" / f"{kind}_{number}.ppm")
        text(base / "GTSRB" / "Training" / f"{kind:05d}" / f"GT-{kind:05d}.csv", "Filename")
    lines = [f"{number:05d}.ppm;20;24;0;0;19;23;{2 - number}" for number in range(3)]
    text(base / "GT-final_test.csv", "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId", *lines)
    for number in range(3):
        photograph(base / "GTSRB" / "Final_Test" / "Images" / f"{number:05d}.ppm")


def aircraft(root: Path) -> None:
    data = root / "fgvc-aircraft-2013b" / "data"
    text(data / "families.txt", "Boeing 737", "A320")
    for number, part in enumerate(("train", "val", "test")):
        ids = [f"{number}{place}" for place in range(3)]
        text(data / f"images_family_{part}.txt", f"{ids[0]} A320", f"{ids[1]} Boeing 737", f"{ids[2]} A320")
        for each in ids:
            photograph(data / "images" / f"{each}.jpg")


def caltech101(root: Path) -> None:
    for kind in ("BACKGROUND_Google", "Faces", "ant"):
        for number in (1, 2, 3):
            photograph(root / "caltech101" / "101_ObjectCategories" / kind / f"image_{number:04d}.jpg")


def caltech256(root: Path) -> None:
    for place, kind in enumerate(("ak47", "dog"), start=1):
        for number in (1, 2, 3):
            folder = root / "caltech256" / "256_ObjectCategories" / f"{place:03d}.{kind}"
            photograph(folder / f"{place:03d}_{number:04d}.jpg")
    photograph(folder / "greg" / "vision309" / "x.jpg")  # as the real one has


def scenes(root: Path) -> None:
    text(root / "SUN397" / "ClassName.txt", "/a/abbey", "/b/bar/indoor")
    for folder in ("a/abbey", "b/bar/indoor"):
        for number in (1, 2):
            photograph(root / "SUN397" / folder / f"sun_{folder[0]}{number}.jpg")


def countries(root: Path, name: str = "country211", kinds: tuple[str, str] = ("AD", "ZW"), ending: str = "jpg") -> None:
    for part in ("train", "valid", "test"):
        for kind in kinds:
            for number in (1, 2):
                photograph(root / name / part / kind / f"{part}{number}.{ending}")


def sentences(root: Path) -> None:
    countries(root, "rendered-sst2", ("negative", "positive"), "png")


def voc(root: Path, year: int = 2012, parts: tuple[str, ...] = ("train", "val")) -> None:
    base = root / "VOCdevkit" / f"VOC{year}"
    (base / "SegmentationClass").mkdir(parents=True)
    palette = RANDOM.integers(0, 256, 768).tolist()
    for number, part in enumerate(parts):
        names = [f"2007_00{number}{place}" for place in range(3)]
        text(base / "ImageSets" / "Segmentation" / f"{part}.txt", *names)
        for name in names:
            photograph(base / "JPEGImages" / f"{name}.jpg")
            values = RANDOM.integers(0, 21, SIDE[::-1], dtype=np.uint8)
            values[:2] = 255
            mask = Image.fromarray(values)
            mask.putpalette(palette)
            mask.save(base / "SegmentationClass" / f"{name}.png")


TREES: dict[str, Callable[[Path], None]] = {
    "EMNIST": emnist,
    "QMNIST": qmnist,
    "USPS": usps,
    "SVHN": svhn,
    "STL10": stl10,
    "Food101": food,
    "Flowers102": flowers,
    "OxfordIIITPet": pets,
    "DTD": textures,
    "GTSRB": signs,
    "FGVCAircraft": aircraft,
    "Caltech101": caltech101,
    "Caltech256": caltech256,
    "SUN397": scenes,
    "Country211": countries,
    "RenderedSST2": sentences,
}
