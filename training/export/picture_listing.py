"""What the script of a run says about its pictures."""

from __future__ import annotations

from pathlib import Path

from training.config.dataset import IdxDataset, ImageFolderDataset
from training.config.pictures import ImageTableDataset, SegmentationDataset
from training.config.tables import MISSING_MARKS
from training.data.folder import Listing, list_folder
from training.data.mask_folder import ENDINGS, find_places
from training.data.masks import Color
from training.data.source import Opening, silent
from training.data.sources.idx import MNIST_FILES
from training.data.sources.image_table import find_image_roles, open_image_table
from training.data.sources.segmentation import BLACK_AND_WHITE, BLACK_AND_WHITE_NAMES, find_class_list
from training.data.table_file import read_table
from training.errors import InputError
from training.export.dataset_again import looking_again
from training.export.material import Material
from training.export.table_listing import part_words, table_facts, table_settings
from training.export.written import Described, Setting, code, setting
from training.facts import IGNORED_PIXEL
from training.runs.folder import read_json


def describe_idx(material: Material, dataset: IdxDataset) -> Described:
    return {"parts": idx_parts(material, Path(dataset.path), MNIST_FILES)}, []


def idx_parts(material: Material, folder: Path, files: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Those of ``files`` (part, start of its files' names) that the run had."""
    report = read_json(material.run.data_file)
    known = report.get("samples", {}) if report else {}
    tested = getattr(material.config.dataset, "validation", "") == "test" or "test" in known
    parts = dict(files)
    if not tested and (known or not any(folder.glob(f"{parts['test']}-*"))):
        del parts["test"]
    return parts


def describe_image_folder(material: Material, dataset: ImageFolderDataset) -> Described:
    with looking_again():
        listing = list_folder(Path(dataset.path), silent)
    return folder_facts(material, listing, list(material.facts.names))


def folder_facts(material: Material, listing: Listing, classes: list[str]) -> Described:
    """Of class folders; ``classes`` are those of the training part, in their order."""
    parts: dict[str, str] = {}
    for path, owner in zip(listing.paths, listing.owners, strict=True):
        part = listing.groups[owner][0]
        parts.setdefault(part, Path(path).parts[0])
    divided = any(note.startswith("parts found") for note in listing.notes)
    return {"parts": parts if divided else {"train": "."}}, [("", "CLASSES", classes), *size_settings(material)]


def describe_image_table(material: Material, dataset: ImageTableDataset) -> Described:
    path = Path(dataset.path)
    with looking_again():
        source = open_image_table(dataset, Opening(check=False))
        frame = read_table(path, MISSING_MARKS, "auto")
        file_column, targets = find_image_roles(frame, dataset)
        facts = table_facts(path, "auto")
        words = part_words(frame, dataset.split_column)
    facts |= {
        "parts": {part: words.get(part, []) for part in source.parts},
        "split_column": dataset.split_column,
        "grouped": dataset.group_column is not None,
        "images": dataset.images is not None,
        "file_ending": dataset.file_ending,
        "separated": "",
    }
    if dataset.label_separator != "none":
        facts["separated"] = "None" if dataset.label_separator == "space" else code(dataset.label_separator)
    settings: list[Setting] = []
    if dataset.images is not None:
        settings.append(("The folder of the pictures.", "IMAGES", code(dataset.images)))
    settings.append(("The column that names the pictures.", "FILE_COLUMN", code(file_column)))
    settings += [setting(dataset, "file_ending")] * bool(dataset.file_ending)
    settings += table_settings(facts, MISSING_MARKS)
    settings.append(("What to predict.", "TARGETS", list(targets)))
    named = {"class": "CLASSES", "labels": "LABELS"}.get(material.facts.target)
    if named:
        settings.append(("", named, list(material.facts.names)))
    return facts, [*settings, *size_settings(material)]


def describe_segmentation(material: Material, dataset: SegmentationDataset) -> Described:
    root, names = Path(dataset.path), material.facts.names
    with looking_again():
        places = list(find_places(root))
        listed = find_class_list(dataset, root)
    parts = {part: [Path(images).as_posix(), Path(masks).as_posix()] for part, images, masks in places}
    if len(parts) < len(places) or not places:
        what = "two pairs of folders for one part" if places else "no pair of folders images and masks"
        raise InputError(f"dataset.path: {root} holds {what}, so no script can be written; look at the folder.")
    colors = listed.colors if listed else BLACK_AND_WHITE if names == BLACK_AND_WHITE_NAMES else ()
    values = list(range(len(listed.names))) if listed else [0, 1] if colors else [int(name) for name in names]
    learnt = [value for value in values if value != dataset.ignore_index]
    numbers = {value: learnt.index(value) if value in learnt else IGNORED_PIXEL for value in values}
    if dataset.ignore_index is not None:
        numbers[dataset.ignore_index] = IGNORED_PIXEL
    numbers[IGNORED_PIXEL] = IGNORED_PIXEL
    of_color = {color: numbers[value] for value, color in enumerate(colors)}
    more, settings = mask_facts(of_color, numbers, dataset.unknown == "ignore")
    settings.append(("What may follow a picture's name in that of its mask.", "MASK_ENDINGS", ["", *ENDINGS]))
    return {"parts": parts, **more}, [*settings, *size_settings(material)]


def mask_facts(colors: dict[Color, int], indices: dict[int, int], ignores_unknown: bool) -> Described:
    """Of masks that are read by ``colors``, if any, else by ``indices``: the class number of each."""
    grey = all(red == green == blue for red, green, blue in colors)
    settings: list[Setting] = []
    if colors:
        settings.append(("The class of each colour in the masks; 255 is none that is learnt.", "COLORS", colors))
    if not colors or not grey:
        settings.append(("The class of each value in the masks; 255 is none that is learnt.", "INDICES", indices))
    return {"colors": bool(colors), "grey": grey, "ignores_unknown": ignores_unknown}, settings


def size_settings(material: Material) -> list[Setting]:
    return [("", "HEIGHT", material.facts.shape[1]), ("", "WIDTH", material.facts.shape[2])]
