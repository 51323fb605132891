"""Which image of a set belongs to which class and part, as its own lists and folders say.

A set's function reads files through ``list_files`` and ``mat_file`` alone, or lets torchvision's class do it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.config.sections.data.torchvision_sets import KnownSetSection, TorchvisionDataset
from training.data.arrays.mat_file import read_arrays, read_list
from training.data.torchvision_sets.from_torchvision import list_parts
from training.data.torchvision_sets.list_files import (
    Listed,
    class_number,
    entries,
    read_lines,
    read_text,
    read_words,
    wrong,
)

_PARTS = {"train": "train", "val": "validation", "test": "test"}
_FACE_PARTS = {"0": "train", "1": "validation", "2": "test"}


def food(place: Path, dataset: KnownSetSection) -> Listed:
    return list_parts("Food101", place, {"train": "train", "test": "test"})


def aircraft(place: Path, dataset: TorchvisionDataset) -> Listed:
    return list_parts("FGVCAircraft", place, _PARTS, annotation_level=dataset.annotation_level)


def flowers(place: Path, dataset: KnownSetSection) -> Listed:
    labels = read_arrays(place / "imagelabels.mat", ("labels",))[0].reshape(-1).astype(int).tolist()
    names = {"trnid": "train", "valid": "validation", "tstid": "test"}
    from torchvision.datasets import Flowers102  # it takes as long to load as torch itself

    listed = Listed(tuple(Flowers102.classes))
    for part, ids in zip(names.values(), read_arrays(place / "setid.mat", tuple(names)), strict=True):
        for number in ids.reshape(-1).astype(int).tolist():
            if not 1 <= number <= len(labels) or not 1 <= labels[number - 1] <= 102:
                raise wrong(place / "setid.mat", f"the image {number}")
            listed.rows.append((part, labels[number - 1] - 1, f"jpg/image_{number:05d}.jpg"))
    return listed


def pets(place: Path, dataset: KnownSetSection) -> Listed:
    listed = Listed()
    for part, file in (("train", "trainval"), ("test", "test")):
        path = place / "annotations" / f"{file}.txt"
        found: dict[int, str] = {}
        for name, label, *_ in read_words(path, 4):
            if not label.isdecimal() or int(label) < 1:
                raise wrong(path, f"{name} {label}")
            found[int(label)] = " ".join(word.title() for word in name.rpartition("_")[0].split("_"))
            listed.rows.append((part, int(label) - 1, f"images/{name}.jpg"))
        listed.classes = listed.classes or tuple(found[label] for label in sorted(found))
    return listed


def textures(place: Path, dataset: TorchvisionDataset) -> Listed:
    listed = Listed()
    for part, role in _PARTS.items():
        path = place / "dtd" / "labels" / f"{part}{dataset.partition}.txt"
        found = [(line.split("/")[0], line) for line in read_lines(path)]
        listed.classes = listed.classes or tuple(sorted({name for name, _ in found}))
        listed.rows += [(role, class_number(listed.classes, name, path), f"dtd/images/{line}") for name, line in found]
    return listed


def signs(place: Path, dataset: KnownSetSection) -> Listed:
    listed = class_folders(place, "GTSRB/Training", ".ppm")
    path = place / "GT-final_test.csv"
    if not path.exists():  # torchvision fetches the two parts one by one
        return listed
    for row in csv.DictReader(io.StringIO(read_text(path)), delimiter=";", skipinitialspace=True):
        name, label = str(row.get("Filename")), str(row.get("ClassId"))
        if not label.isdecimal() or int(label) >= len(listed.classes):
            raise wrong(path, f"{name} {label}")
        listed.rows.append(("test", int(label), f"GTSRB/Final_Test/Images/{name}"))
    return listed


def scenes(place: Path, dataset: KnownSetSection) -> Listed:
    path = place / "SUN397" / "ClassName.txt"
    listed = Listed(tuple(line[3:] for line in read_lines(path)))
    for number, line in enumerate(read_lines(path)):
        folder = f"SUN397{line}"
        names = entries(place / folder, lambda entry: entry.name.startswith("sun_") and entry.suffix == ".jpg")
        listed.rows += [("train", number, f"{folder}/{name}") for name in names]
    return listed


def places(place: Path, dataset: KnownSetSection) -> Listed:
    """The images of 256 pixels."""
    path = place / "categories_places365.txt"
    numbered = sorted((int(label) if label.isdecimal() else -1, name) for name, label in read_words(path, 2))
    listed = Listed(tuple(name for _, name in numbered))
    if [number for number, _ in numbered] != list(range(len(numbered))):
        raise wrong(path, "the classes are not numbered from 0")
    parts = (("train", "train_standard", "data_256_standard"), ("validation", "val", "val_256"))
    for part, file, folder in parts:
        if part == "validation" and not (place / folder).exists():  # torchvision fetches the two parts one by one
            continue
        path = place / f"places365_{file}.txt"
        for picture, label in read_words(path, 2):
            if not label.isdecimal() or int(label) >= len(listed.classes):
                raise wrong(path, f"{picture} {label}")
            listed.rows.append((part, int(label), f"{folder}/{picture.lstrip('/')}"))
    return listed


def species(place: Path, dataset: KnownSetSection) -> Listed:
    """From 2021 on a folder for each species; before that in folders of larger groups, in 2018 and 2019 with numbers."""
    version = dataset.name.removeprefix("INaturalist")
    version = {"2021": "2021_train", "2021Mini": "2021_train_mini"}.get(version, version)
    if not version.startswith("2021"):
        return list_grouped_folders(place, version, ".jpg", version != "2017")
    listed = class_folders(place, version, ".jpg")
    if (place / "2021_valid").exists():
        held = class_folders(place, "2021_valid", ".jpg")
        numbers = [class_number(listed.classes, kind, place / "2021_valid") for kind in held.classes]
        listed.rows += [("validation", numbers[number], picture) for _, number, picture in held.rows]
    return listed


def characters(place: Path, dataset: KnownSetSection) -> Listed:
    """Those of the alphabets to learn from: the makers' others have no character in common with them."""
    return list_grouped_folders(place, "images_background", ".png", False)


def people(place: Path, dataset: KnownSetSection) -> Listed:
    listed = Listed(tuple(line.split()[0] for line in read_lines(place / "lfw-names.txt")))
    numbers = {name: number for number, name in enumerate(listed.classes)}
    for line in read_lines(place / "people.txt"):
        name, *count = line.split()
        if not count:  # how many parts there are, or how many people in one
            continue
        if name not in numbers or not count[0].isdecimal():
            raise wrong(place / "people.txt", line)
        for number in range(1, int(count[0]) + 1):
            listed.rows.append(("train", numbers[name], f"lfw_funneled/{name}/{name}_{number:04d}.jpg"))
    return listed


def cars(place: Path, dataset: KnownSetSection) -> Listed:
    """From records of MATLAB (ai.stanford.edu/~jkrause/cars/car_dataset.html)."""
    listed = Listed(tuple(str(name) for name in read_list(place / "devkit" / "cars_meta.mat", "class_names")))
    tested = place / "cars_test_annos_withlabels.mat"
    for part, path in (("train", place / "devkit" / "cars_train_annos.mat"), ("test", tested)):
        if part == "test" and not (path.exists() and (place / "cars_test").exists()):
            continue
        for car in read_list(path, "annotations"):
            name, label = (car.get("fname"), car.get("class")) if isinstance(car, dict) else (None, None)
            number = int(label.flat[0]) if isinstance(label, np.ndarray) and label.size == 1 else 0
            if not isinstance(name, str) or not 1 <= number <= len(listed.classes):
                raise wrong(path, f"{name} {number}")
            listed.rows.append((part, number - 1, f"cars_{part}/{name}"))
    return listed


def faces(place: Path) -> tuple[Listed, Tensor]:
    """The attributes of CelebA as classes, and rows that stand where the class would; float32 (rows, attributes) of 0 and 1."""
    path, parts = place / "list_attr_celeba.txt", place / "list_eval_partition.txt"
    lines = read_lines(path)  # of which the first says how many there are
    listed = Listed(tuple(lines[1].split() if len(lines) > 1 else ()))
    part_of = {image: _FACE_PARTS.get(number) for image, number in read_words(parts, 2)}
    signs = bytearray()  # a byte for each: eight million numbers of Python would take seconds and a gigabyte
    for row, line in enumerate(lines[2:]):
        image, *words = line.split()
        part = part_of.get(image)
        if part is None:
            raise wrong(parts, f"{image} is of no part")
        if len(words) != len(listed.classes) or not {"1", "-1"}.issuperset(words):
            raise wrong(path, line)
        signs += bytes(map("1".__eq__, words))
        listed.rows.append((part, row, f"img_align_celeba/{image}"))
    table = np.frombuffer(signs, np.uint8).reshape(len(listed.rows), len(listed.classes))
    return listed, torch.from_numpy(table.astype(np.float32))


def list_grouped_folders(place: Path, folder: str, ending: str, numbered: bool) -> Listed:
    """Folders of classes in folders of groups, in the order of their paths, or of the numbers that the classes are called."""
    groups = {name: entries(place / folder / name, Path.is_dir) for name in entries(place / folder, Path.is_dir)}
    names = [f"{group}/{name}" for group, within in groups.items() for name in within]
    if numbered:
        for name in names:
            if not name.rpartition("/")[2].isdecimal():
                raise wrong(place / folder, name)
        names.sort(key=lambda name: int(name.rpartition("/")[2]))
    return list_folders(place, folder, ending, names)


def class_folders(place: Path, folder: str, ending: str, but: str = "") -> Listed:
    """Folders of classes in ``folder``, without the one called ``but``."""
    return list_folders(place, folder, ending, [name for name in entries(place / folder, Path.is_dir) if name != but])


def list_folders(place: Path, folder: str, ending: str, names: list[str]) -> Listed:
    """A class for each of the folders ``names`` in ``folder``."""
    listed = Listed(tuple(names))
    for number, name in enumerate(names):
        images = entries(place / folder / name, lambda entry: entry.suffix == ending)
        listed.rows += [("train", number, f"{folder}/{name}/{image}") for image in images]
    return listed


LISTS: dict[str, Callable[[Path, Any], Listed]] = {
    "Food101": food,
    "Flowers102": flowers,
    "OxfordIIITPet": pets,
    "DTD": textures,
    "GTSRB": signs,
    "FGVCAircraft": aircraft,
    "SUN397": scenes,
    "Caltech101": lambda place, _: class_folders(place, "101_ObjectCategories", ".jpg", "BACKGROUND_Google"),
    "Caltech256": lambda place, _: class_folders(place, "256_ObjectCategories", ".jpg"),
    "Places365": places,
    "INaturalist2017": species,
    "INaturalist2018": species,
    "INaturalist2019": species,
    "INaturalist2021": species,
    "INaturalist2021Mini": species,
    "StanfordCars": cars,
    "LFWPeople": people,
    "Omniglot": characters,
}


def pet_masks(place: Path, dataset: KnownSetSection) -> Iterator[tuple[str, str, str]]:
    """(part, image, mask), as for the others with masks."""
    for part, file in (("train", "trainval"), ("test", "test")):
        for picture, *_ in read_words(place / "annotations" / f"{file}.txt", 4):
            yield part, f"images/{picture}.jpg", f"annotations/trimaps/{picture}.png"


def voc_masks(place: Path, dataset: KnownSetSection) -> Iterator[tuple[str, str, str]]:
    base = f"VOCdevkit/{dataset.name}"
    for part, role in _PARTS.items():
        path = place / base / "ImageSets" / "Segmentation" / f"{part}.txt"
        if part == "test" and not path.exists():  # published for some years only, and in an archive of its own
            continue
        for picture in read_lines(path):
            yield role, f"{base}/JPEGImages/{picture}.jpg", f"{base}/SegmentationClass/{picture}.png"


def street_masks(place: Path, dataset: KnownSetSection) -> Iterator[tuple[str, str, str]]:
    """Without the test part, whose masks its makers keep."""
    for part, role in (("train", "train"), ("val", "validation")):
        for city in entries(place / "leftImg8bit" / part, Path.is_dir):
            folder = f"leftImg8bit/{part}/{city}"
            for picture in entries(place / folder, lambda entry: entry.suffix == ".png"):
                shot = picture.partition("_leftImg8bit")[0]
                yield role, f"{folder}/{picture}", f"gtFine/{part}/{city}/{shot}_gtFine_labelIds.png"


MASK_LISTS: dict[str, Callable[[Path, KnownSetSection], Iterator[tuple[str, str, str]]]] = {
    "OxfordIIITPet": pet_masks,
    "VOC2007": voc_masks,
    "VOC2012": voc_masks,
    "Cityscapes": street_masks,
}
