"""Small sets as torchvision leaves them on the disk, made on the spot."""

from __future__ import annotations

import bz2
import json
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.training.data.conftest import idx_bytes, image
from tests.training.data.mat_files import HEAD, Arrays, mat, nested

RANDOM = np.random.default_rng(0)
SIDE = (20, 24)


def photograph(path: Path) -> None:
    """Another one for each path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image(sum(str(path.name).encode()), SIDE).save(path, {".ppm": "PPM", ".png": "PNG"}.get(path.suffix, "JPEG"))


def text(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


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


def imagenet(root: Path) -> None:
    for part in ("train", "val"):
        for kind in ("n01440764", "n01443537"):
            for number in range(2):
                photograph(root / "imagenet" / part / kind / f"{part}_{kind}_{number}.JPEG")


def places(root: Path) -> None:
    base = root / "places365"
    text(base / "categories_places365.txt", "/a/abbey 0", "/b/bar/indoor 1")
    trained = ["/b/bar/indoor/00000002.jpg", "/a/abbey/00000001.jpg", "/a/abbey/00000002.jpg"]
    text(base / "places365_train_standard.txt", *(f"{path} {int('bar' in path)}" for path in trained))
    text(base / "places365_val.txt", *(f"Places365_val_0000000{number}.jpg {number % 2}" for number in range(3)))
    for path in trained:
        photograph(base / "data_256_standard" / path[1:])
    for number in range(3):
        photograph(base / "val_256" / f"Places365_val_0000000{number}.jpg")


def species_before(year: int, root: Path) -> None:
    named = {"Aves": ["0002", "10"], "Plantae": ["1", "0"]} if year > 2017 else {"Aves": ["b", "a"], "Plantae": ["c"]}
    if year > 2017:
        named["Fungi"] = [str(number) for number in range(3, 10)]
    for group, kinds in named.items():
        for kind in kinds:
            for number in (1, 2):
                photograph(root / "inaturalist" / str(year) / group / kind / f"{kind}{number}.jpg")


def species(root: Path, version: str = "2021_train") -> None:
    for part in (version, "2021_valid"):
        for place, kind in enumerate(("Animalia_Annelida_C_O_F_G_worm", "Plantae_P_C_O_F_G_moss")):
            for number in (1, 2):
                photograph(root / "inaturalist" / part / f"{place:05d}_{kind}" / f"{part}{place}{number}.jpg")


CARS: dict[str, Any] = {
    "cars_meta": {"class_names": np.array(["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "smart fortwo"])},
    "cars_train_annos": {
        "annotations": [{"fname": f"0000{number}.jpg", "class": 3 - number % 3} for number in range(4)]
    },
    "cars_test_annos_withlabels": {"annotations": [{"fname": f"0100{number}.jpg", "class": 2} for number in range(2)]},
}


def cars(root: Path) -> None:
    base = root / "stanford_cars"
    for name, arrays in CARS.items():
        path = base / ("" if "withlabels" in name else "devkit") / f"{name}.mat"
        path.parent.mkdir(parents=True, exist_ok=True)
        for array, values in arrays.items():
            path.write_bytes(HEAD + nested(values, array))
        for car in arrays.get("annotations", ()):
            photograph(base / ("cars_train" if "train" in name else "cars_test") / car["fname"])


def celebrities(root: Path) -> None:
    base = root / "celeba"
    names = [f"{number:06d}.jpg" for number in range(1, 8)]
    signs = RANDOM.choice(["1", "-1"], (7, 4)).tolist()
    signs[0] = ["1"] * 4
    text(
        base / "list_attr_celeba.txt",
        "7",
        "5_o_Clock_Shadow Bald Smiling Young ",
        *(f"{name}  {'  '.join(row)}" for name, row in zip(names, signs, strict=True)),
    )
    text(
        base / "list_eval_partition.txt", *(f"{name} {int(part)}" for name, part in zip(names, "0022011", strict=True))
    )
    text(base / "identity_CelebA.txt", *(f"{name} 5" for name in names))
    for file, columns in (("list_bbox_celeba", 4), ("list_landmarks_align_celeba", 10)):
        text(base / f"{file}.txt", "7", "x", *(f"{name} {'1 ' * columns}".strip() for name in names))
    for name in names:
        photograph(base / "img_align_celeba" / name)


def faces(root: Path, name: str = "fer2013.csv") -> None:
    rows = [
        (number % 7, " ".join(map(str, pixels(48 * 48).tolist())), usage)
        for number, usage in enumerate(["Training", "PublicTest", "Training", "PrivateTest"])
    ]
    own = {
        "fer2013.csv": ("emotion,pixels,Usage", "{0},{1},{2}"),
        "icml_face_data.csv": ("emotion, Usage, pixels", "{0},{2},{1}"),
        "train.csv": ("emotion,pixels", "{0},{1}"),
    }
    header, line = own[name]
    text(root / "fer2013" / name, header, *(line.format(*row) for row in rows))


def people(root: Path) -> None:
    base = root / "lfw-py"
    text(base / "lfw-names.txt", "AJ_Cook\t1", "Aaron_Peirsol\t2", "Zico\t3")
    text(base / "people.txt", "2", "2", "Zico\t3", "AJ_Cook\t1", "1", "Aaron_Peirsol\t2")
    for name, count in (("AJ_Cook", 1), ("Aaron_Peirsol", 2), ("Zico", 3)):
        for number in range(1, count + 1):
            photograph(base / "lfw_funneled" / name / f"{name}_{number:04d}.jpg")


def characters(root: Path) -> None:
    for alphabet in ("Tengwar", "Arcadian"):
        for kind in ("character02", "character01"):
            for number in (1, 2):
                path = root / "omniglot-py" / "images_background" / alphabet / kind / f"{alphabet}{kind}_{number}.png"
                photograph(path)
                Image.open(path).convert("1").save(path)


def semeion(root: Path) -> None:
    points, classes = RANDOM.integers(0, 2, (12, 256)), np.eye(10, dtype=int)[np.arange(12) % 10]
    text(
        root / "semeion.data",
        *(
            " ".join(f"{point:.4f}" for point in row[:256]) + " " + " ".join(map(str, row[256:])) + " "
            for row in np.concatenate([points, classes], 1).tolist()
        ),
    )


def streets(root: Path) -> None:
    for part in ("train", "val", "test"):
        for city in ("ulm", "aachen"):
            for shot in (f"{city}_000000_000019", f"{city}_000001_000019"):
                photograph(root / "cityscapes" / "leftImg8bit" / part / city / f"{shot}_leftImg8bit.png")
                labels = RANDOM.integers(0, 34, SIDE[::-1], dtype=np.uint8)
                path = root / "cityscapes" / "gtFine" / part / city / f"{shot}_gtFine_labelIds.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(labels).save(path)


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
    "ImageNet": imagenet,
    "Places365": places,
    "INaturalist2017": partial(species_before, 2017),
    "INaturalist2018": partial(species_before, 2018),
    "INaturalist2019": partial(species_before, 2019),
    "INaturalist2021": species,
    "INaturalist2021Mini": partial(species, version="2021_train_mini"),
    "LFWPeople": people,
    "Omniglot": characters,
}

OWN_FORMS: dict[str, Callable[[Path], None]] = {
    "StanfordCars": cars,
    "CelebA": celebrities,
    "FER2013": faces,
    "SEMEION": semeion,
}
"""Those of which each has a form of its own."""
