"""Which picture of a set belongs to which class and part, as its own lists and folders say.

A set's function reads files through ``list_files`` and ``mat_file`` alone; a setting that it needs is a parameter of the setting's name.
"""

from __future__ import annotations

import csv
import inspect
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.config.torchvision_sets import KnownSetSection
from training.data.known.list_files import (
    class_number,
    entries,
    names_by_class,
    read_lines,
    read_text,
    read_words,
    wrong,
)
from training.data.mat_file import read_arrays

_PARTS = {"train": "train", "val": "validation", "test": "test"}


@dataclass
class Listed:
    """``rows`` are (part, number of the class, path below the folder of the set), in the order of torchvision."""

    classes: tuple[str, ...] = ()
    rows: list[tuple[str, int, str]] = field(default_factory=list)


def food(place: Path) -> Listed:
    listed = Listed()
    for part in ("train", "test"):
        path = place / "food-101" / "meta" / f"{part}.json"
        names = names_by_class(path)
        listed.classes = listed.classes or tuple(sorted(names))
        for name, pictures in names.items():
            number = class_number(listed.classes, name, path)
            listed.rows += [(part, number, f"food-101/images/{picture}.jpg") for picture in pictures]
    return listed


def flowers(place: Path) -> Listed:
    labels = read_arrays(place / "imagelabels.mat", ("labels",))[0].reshape(-1).astype(int).tolist()
    names = {"trnid": "train", "valid": "validation", "tstid": "test"}
    listed = Listed()
    for part, ids in zip(names.values(), read_arrays(place / "setid.mat", tuple(names)), strict=True):
        for number in ids.reshape(-1).astype(int).tolist():
            if not 1 <= number <= len(labels) or not 1 <= labels[number - 1] <= 102:
                raise wrong(place / "setid.mat", f"the picture {number}")
            listed.rows.append((part, labels[number - 1] - 1, f"jpg/image_{number:05d}.jpg"))
    return listed


def pets(place: Path) -> Listed:
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


def textures(place: Path, partition: int) -> Listed:
    listed = Listed()
    for part, role in _PARTS.items():
        path = place / "dtd" / "labels" / f"{part}{partition}.txt"
        found = [(line.split("/")[0], line) for line in read_lines(path)]
        listed.classes = listed.classes or tuple(sorted({name for name, _ in found}))
        listed.rows += [(role, class_number(listed.classes, name, path), f"dtd/images/{line}") for name, line in found]
    return listed


def signs(place: Path) -> Listed:
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


def aircraft(place: Path, annotation_level: str) -> Listed:
    data = place / "fgvc-aircraft-2013b" / "data"
    file = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}[annotation_level]
    listed = Listed(tuple(read_lines(data / f"{file}.txt")))
    for part, role in _PARTS.items():
        path = data / f"images_{annotation_level}_{part}.txt"
        for line in read_lines(path):
            picture, _, name = line.partition(" ")
            number = class_number(listed.classes, name, path)
            listed.rows.append((role, number, f"fgvc-aircraft-2013b/data/images/{picture}.jpg"))
    return listed


def scenes(place: Path) -> Listed:
    path = place / "SUN397" / "ClassName.txt"
    listed = Listed(tuple(line[3:] for line in read_lines(path)))
    for number, line in enumerate(read_lines(path)):
        folder = f"SUN397{line}"
        names = entries(place / folder, lambda entry: entry.name.startswith("sun_") and entry.suffix == ".jpg")
        listed.rows += [("train", number, f"{folder}/{name}") for name in names]
    return listed


def places(place: Path) -> Listed:
    """The pictures of 256 pixels."""
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


def species(place: Path, name: str) -> Listed:
    """From 2021 on a folder for each species; before that in folders of larger groups, in 2018 and 2019 with numbers."""
    version = {"INaturalist2021": "2021_train", "INaturalist2021Mini": "2021_train_mini"}.get(name, name[-4:])
    if not version.startswith("2021"):
        return grouped_folders(place, version, ".jpg", version != "2017")
    listed = class_folders(place, version, ".jpg")
    if (place / "2021_valid").exists():
        held = class_folders(place, "2021_valid", ".jpg")
        numbers = [class_number(listed.classes, kind, place / "2021_valid") for kind in held.classes]
        listed.rows += [("validation", numbers[number], picture) for _, number, picture in held.rows]
    return listed


def characters(place: Path) -> Listed:
    """Those of the alphabets to learn from: the makers' others have no character in common with them."""
    return grouped_folders(place, "images_background", ".png", False)


def people(place: Path) -> Listed:
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


def grouped_folders(place: Path, folder: str, ending: str, numbered: bool) -> Listed:
    """Folders of classes in folders of groups, in the order of their paths, or of the numbers that the classes are called."""
    groups = {name: entries(place / folder / name, Path.is_dir) for name in entries(place / folder, Path.is_dir)}
    names = [f"{group}/{name}" for group, within in groups.items() for name in within]
    if numbered:
        for name in names:
            if not name.rpartition("/")[2].isdecimal():
                raise wrong(place / folder, name)
        names.sort(key=lambda name: int(name.rpartition("/")[2]))
    listed = Listed(tuple(names))
    for number, name in enumerate(names):
        pictures = entries(place / folder / name, lambda entry: entry.suffix == ending)
        listed.rows += [("train", number, f"{folder}/{name}/{picture}") for picture in pictures]
    return listed


def class_folders(place: Path, folder: str, ending: str, *but: str) -> Listed:
    """Folders of classes in ``folder``, without those called ``but``."""
    listed = Listed(tuple(name for name in entries(place / folder, Path.is_dir) if name not in but))
    for number, name in enumerate(listed.classes):
        pictures = entries(place / folder / name, lambda entry: entry.suffix == ending)
        listed.rows += [("train", number, f"{folder}/{name}/{picture}") for picture in pictures]
    return listed


def caltech101(place: Path) -> Listed:
    return class_folders(place, "101_ObjectCategories", ".jpg", "BACKGROUND_Google")


def caltech256(place: Path) -> Listed:
    return class_folders(place, "256_ObjectCategories", ".jpg")


LISTS: dict[str, Callable[..., Listed]] = {
    "Food101": food,
    "Flowers102": flowers,
    "OxfordIIITPet": pets,
    "DTD": textures,
    "GTSRB": signs,
    "FGVCAircraft": aircraft,
    "SUN397": scenes,
    "Caltech101": caltech101,
    "Caltech256": caltech256,
    "Places365": places,
    "INaturalist2017": species,
    "INaturalist2018": species,
    "INaturalist2019": species,
    "INaturalist2021": species,
    "INaturalist2021Mini": species,
    "LFWPeople": people,
    "Omniglot": characters,
}


def pet_masks(place: Path) -> Iterator[tuple[str, str, str]]:
    """(part, picture, mask), as for the others with masks."""
    for part, file in (("train", "trainval"), ("test", "test")):
        for picture, *_ in read_words(place / "annotations" / f"{file}.txt", 4):
            yield part, f"images/{picture}.jpg", f"annotations/trimaps/{picture}.png"


def voc_masks(place: Path, name: str) -> Iterator[tuple[str, str, str]]:
    base = f"VOCdevkit/{name}"
    for part, role in _PARTS.items():
        path = place / base / "ImageSets" / "Segmentation" / f"{part}.txt"
        if part == "test" and not path.exists():  # published for some years only, and in an archive of its own
            continue
        for picture in read_lines(path):
            yield role, f"{base}/JPEGImages/{picture}.jpg", f"{base}/SegmentationClass/{picture}.png"


def street_masks(place: Path) -> Iterator[tuple[str, str, str]]:
    """Without the test part, whose masks its makers keep."""
    for part, role in (("train", "train"), ("val", "validation")):
        for city in entries(place / "leftImg8bit" / part, Path.is_dir):
            folder = f"leftImg8bit/{part}/{city}"
            for picture in entries(place / folder, lambda entry: entry.suffix == ".png"):
                shot = picture.partition("_leftImg8bit")[0]
                yield role, f"{folder}/{picture}", f"gtFine/{part}/{city}/{shot}_gtFine_labelIds.png"


MASK_LISTS: dict[str, Callable[..., Iterator[tuple[str, str, str]]]] = {
    "OxfordIIITPet": pet_masks,
    "VOC2007": voc_masks,
    "VOC2012": voc_masks,
    "Cityscapes": street_masks,
}


def asked_for(function: Callable[..., Any], dataset: KnownSetSection) -> dict[str, Any]:
    """The settings that one of these functions has as parameters, beside the place."""
    return {name: getattr(dataset, name) for name in list(inspect.signature(function).parameters)[1:]}
