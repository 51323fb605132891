"""Which picture of a set belongs to which class and part, as its own lists and folders say."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from training.config.torchvision_sets import TorchvisionDataset
from training.data.known.flowers import FLOWERS
from training.data.known.place import AGAIN
from training.data.mat_file import read_arrays
from training.errors import InputError
from training.reading import MEGABYTE, parse_json, read_bytes, visible

_MOST_LIST = 64 * MEGABYTE
_PARTS = {"train": "train", "val": "validation", "test": "test"}


@dataclass
class Listed:
    """``rows`` are (part, number of the class, path below the folder of the set), in the order of torchvision."""

    classes: tuple[str, ...] = ()
    rows: list[tuple[str, int, str]] = field(default_factory=list)


def food(place: Path, dataset: TorchvisionDataset) -> Listed:
    listed = Listed()
    for part in ("train", "test"):
        path = place / "food-101" / "meta" / f"{part}.json"
        try:
            names = parse_json(_text(path))
            found = [(name, str(picture)) for name, pictures in names.items() for picture in pictures]
        except (ValueError, AttributeError, TypeError) as error:
            raise InputError(f"{path} is no list of pictures by class ({error}).", AGAIN) from error
        listed.classes = listed.classes or tuple(sorted(names))
        for name, picture in found:
            number = _number(listed.classes, name, path)
            listed.rows.append((part, number, f"food-101/images/{picture}.jpg"))
    return listed


def flowers(place: Path, dataset: TorchvisionDataset) -> Listed:
    labels = read_arrays(place / "imagelabels.mat", ("labels",))[0].reshape(-1).astype(int).tolist()
    names = {"trnid": "train", "valid": "validation", "tstid": "test"}
    listed = Listed(FLOWERS)
    for part, ids in zip(names.values(), read_arrays(place / "setid.mat", tuple(names)), strict=True):
        for number in ids.reshape(-1).astype(int).tolist():
            if not 1 <= number <= len(labels) or not 1 <= labels[number - 1] <= len(FLOWERS):
                raise InputError(f"{place / 'setid.mat'} names the picture {number}, of which no class is told.", AGAIN)
            listed.rows.append((part, labels[number - 1] - 1, f"jpg/image_{number:05d}.jpg"))
    return listed


def pets(place: Path, dataset: TorchvisionDataset) -> Listed:
    listed = Listed()
    for part, file in (("train", "trainval"), ("test", "test")):
        path = place / "annotations" / f"{file}.txt"
        found: dict[int, str] = {}
        for name, label, *_ in _words(path, 4):
            if not label.isdecimal() or int(label) < 1:
                raise _wrong(path, f"{name} {label}")
            found[int(label)] = " ".join(word.title() for word in name.rpartition("_")[0].split("_"))
            listed.rows.append((part, int(label) - 1, f"images/{name}.jpg"))
        listed.classes = listed.classes or tuple(found[label] for label in sorted(found))
    return listed


def textures(place: Path, dataset: TorchvisionDataset) -> Listed:
    listed = Listed()
    for part, role in _PARTS.items():
        path = place / "dtd" / "labels" / f"{part}{dataset.partition}.txt"
        found = [(line.split("/")[0], line) for line in _lines(path)]
        listed.classes = listed.classes or tuple(sorted({name for name, _ in found}))
        listed.rows += [(role, _number(listed.classes, name, path), f"dtd/images/{line}") for name, line in found]
    return listed


def signs(place: Path, dataset: TorchvisionDataset) -> Listed:
    listed = class_folders(place, "GTSRB/Training", ".ppm")
    path = place / "GT-final_test.csv"
    if not path.exists():  # torchvision fetches the two parts one by one
        return listed
    for row in csv.DictReader(io.StringIO(_text(path)), delimiter=";", skipinitialspace=True):
        name, label = str(row.get("Filename")), str(row.get("ClassId"))
        if not label.isdecimal() or int(label) >= len(listed.classes):
            raise _wrong(path, f"{name} {label}")
        listed.rows.append(("test", int(label), f"GTSRB/Final_Test/Images/{name}"))
    return listed


def aircraft(place: Path, dataset: TorchvisionDataset) -> Listed:
    level = dataset.annotation_level
    data = place / "fgvc-aircraft-2013b" / "data"
    file = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}[level]
    listed = Listed(tuple(_lines(data / f"{file}.txt")))
    for part, role in _PARTS.items():
        path = data / f"images_{level}_{part}.txt"
        for line in _lines(path):
            picture, _, name = line.partition(" ")
            number = _number(listed.classes, name, path)
            listed.rows.append((role, number, f"fgvc-aircraft-2013b/data/images/{picture}.jpg"))
    return listed


def scenes(place: Path, dataset: TorchvisionDataset) -> Listed:
    path = place / "SUN397" / "ClassName.txt"
    listed = Listed(tuple(line[3:] for line in _lines(path)))
    for number, line in enumerate(_lines(path)):
        folder = f"SUN397{line}"
        names = _entries(place / folder, lambda entry: entry.name.startswith("sun_") and entry.suffix == ".jpg")
        listed.rows += [("train", number, f"{folder}/{name}") for name in names]
    return listed


def class_folders(place: Path, folder: str, ending: str, *but: str) -> Listed:
    """Folders of classes in ``folder``, without those called ``but``."""
    listed = Listed(tuple(name for name in _entries(place / folder, Path.is_dir) if name not in but))
    for number, name in enumerate(listed.classes):
        pictures = _entries(place / folder / name, lambda entry: entry.suffix == ending)
        listed.rows += [("train", number, f"{folder}/{name}/{picture}") for picture in pictures]
    return listed


LISTS: dict[str, Callable[[Path, TorchvisionDataset], Listed]] = {
    "Food101": food,
    "Flowers102": flowers,
    "OxfordIIITPet": pets,
    "DTD": textures,
    "GTSRB": signs,
    "FGVCAircraft": aircraft,
    "SUN397": scenes,
    "Caltech101": lambda place, _: class_folders(place, "101_ObjectCategories", ".jpg", "BACKGROUND_Google"),
    "Caltech256": lambda place, _: class_folders(place, "256_ObjectCategories", ".jpg"),
}


def masked_pictures(name: str, place: Path) -> Iterator[tuple[str, str, str]]:
    """(part, picture, mask) of a set with masks."""
    if name == "OxfordIIITPet":
        for part, file in (("train", "trainval"), ("test", "test")):
            for picture, *_ in _words(place / "annotations" / f"{file}.txt", 4):
                yield part, f"images/{picture}.jpg", f"annotations/trimaps/{picture}.png"
        return
    base = f"VOCdevkit/{name}"
    for part, role in _PARTS.items():
        path = place / base / "ImageSets" / "Segmentation" / f"{part}.txt"
        if part == "test" and not path.exists():  # published for some years only, and in an archive of its own
            continue
        for picture in _lines(path):
            yield role, f"{base}/JPEGImages/{picture}.jpg", f"{base}/SegmentationClass/{picture}.png"


def _words(path: Path, count: int) -> Iterator[list[str]]:
    for line in _lines(path):
        words = line.split()
        if len(words) != count:
            raise _wrong(path, line)
        yield words


def _lines(path: Path) -> list[str]:
    """The lines of a text that are not empty."""
    return [line.strip() for line in _text(path).splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        return read_bytes(path, _MOST_LIST).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}).", AGAIN) from error


def _entries(folder: Path, wanted: Callable[[Path], bool]) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if wanted(entry))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read: {error.strerror or error}.", "Delete the set, and get it again."
        ) from error


def _number(classes: tuple[str, ...], name: str, path: Path) -> int:
    try:
        return classes.index(name)
    except ValueError as error:
        raise _wrong(path, name) from error


def _wrong(path: Path, line: str) -> InputError:
    return InputError(f"{path} is damaged: it has a line that names no class, {visible(line, 80)!r}.", AGAIN)
