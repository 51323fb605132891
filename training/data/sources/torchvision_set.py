"""``torchvision`` and ``torchvision_segmentation``: datasets that torchvision knows by name, fetched once or found where torchvision put them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from training.config.sections.data.dataset import ImageFolderDataset
from training.config.sections.data.torchvision_sets import TorchvisionDataset, TorchvisionSegmentationDataset
from training.data.class_choice import choose_classes
from training.data.images.folder import Listing, look_up
from training.data.images.images import Images, choose_form, digest_labels, open_images
from training.data.images.masks import UNKNOWN, MaskForm
from training.data.source import Opening, Source
from training.data.sources.idx import IDX_FORMS, MNIST_FILES, find_idx, open_idx_folder
from training.data.sources.image_folder import open_image_folder
from training.data.sources.packed import Packed
from training.data.sources.segmentation import Segmentation
from training.data.torchvision_sets import KNOWN_SETS, MASKED, KnownSet
from training.data.torchvision_sets.arrays import READERS, read_cifar100_names
from training.data.torchvision_sets.list_files import Listed
from training.data.torchvision_sets.lists import LISTS, MASK_LISTS, faces
from training.data.torchvision_sets.place import AGAIN, bring, root_of
from training.data.torchvision_sets.small import EMNIST_CLASSES
from training.errors import InputError
from training.facts import IGNORED_PIXEL

if TYPE_CHECKING:
    from training.data.sources.image_table import ImageTable


def open_torchvision_set(dataset: TorchvisionDataset, opening: Opening) -> Source:
    known = KNOWN_SETS[dataset.name]
    if known.form == "idx":
        return _open_idx(dataset, known, opening)
    place = bring(dataset, known, opening)
    if known.form == "folder":
        return _open_folder(dataset, known, place, opening)
    if known.form == "faces":
        return _open_faces(dataset, place, opening)
    if known.form == "list":
        return _open_listed(LISTS[dataset.name](place, dataset), place, dataset, opening)
    opening.report_progress(f"reading {dataset.name}", None)
    folder = place / known.files[0].makes
    packed = Packed(READERS[dataset.name], folder, known.classes or read_cifar100_names(folder), opening.check)
    packed.keep_classes(dataset)
    return packed


def _open_idx(dataset: TorchvisionDataset, known: KnownSet, opening: Opening) -> Packed:
    emnist, files = dataset.name == "EMNIST", idx_files(dataset)
    root = root_of(dataset)
    place = idx_folder(root, known, files[0][1])
    if place is None or (not emnist and _is_half(place, dataset)):  # a download was ended in between, perhaps
        place = bring(dataset, known, opening, place)
        place = idx_folder(place, known, files[0][1]) or place
    # Which tells a damaged file by itself; one that was packed again is as good as the published one.
    source = open_idx_folder(place, files)
    classes = EMNIST_CLASSES[dataset.emnist_split] if emnist else known.classes
    if classes:
        if len(source.classes) > len(classes):
            raise InputError(
                f"{place} names class {len(source.classes) - 1}, but {dataset.name} has {len(classes)} classes.",
                "Use the files of this set.",
            )
        source.classes = classes
    if emnist:
        source.notes += ("the letters lie on their side, as in torchvision",)
    source.keep_classes(dataset)
    return source


def _is_half(place: Path, dataset: TorchvisionDataset) -> bool:
    """Whether files are missing. A person's own folder may go without the test part, unless the settings ask for it."""
    there = {part: [find_idx(place, f"{prefix}-{form}") for form in IDX_FORMS] for part, prefix in MNIST_FILES}
    needs_test = not dataset.path or dataset.validation == "test" or any(there["test"])
    return not all(there["train"]) or (needs_test and not all(there["test"]))


def idx_files(dataset: TorchvisionDataset) -> tuple[tuple[str, str], ...]:
    """Each part, and with what the names of its files begin."""
    if dataset.name != "EMNIST":
        return MNIST_FILES
    return tuple((part, f"emnist-{dataset.emnist_split}-{part}") for part in ("train", "test"))


def idx_folder(root: Path, known: KnownSet, prefix: str) -> Path | None:
    """Where the training images lie, packed or not; ``gzip`` is what the archive of EMNIST makes."""
    folders = (root / known.folder, root / Path(known.folder).name, root)
    for place in (within for folder in folders for within in (folder, folder / "gzip")):
        if any(place.glob(f"{prefix}-images*idx3-ubyte*")):
            return place
    return None


def _open_folder(dataset: TorchvisionDataset, known: KnownSet, place: Path, opening: Opening) -> Images:
    folder = place / known.files[0].makes
    taken = {name: getattr(dataset, name) for name in ("image_size", "validation", "classes")}
    classes = _imagenet() if dataset.name == "ImageNet" else known.classes
    return open_image_folder(ImageFolderDataset.model_validate({"path": str(folder), **taken}), opening, classes)


def _imagenet() -> tuple[str, ...]:
    """The classes as torchvision's weights have learned them."""
    from torchvision.models import ResNet18_Weights

    return tuple(ResNet18_Weights.IMAGENET1K_V1.meta["categories"])


def _open_faces(dataset: TorchvisionDataset, place: Path, opening: Opening) -> ImageTable:
    from training.data.sources.image_table import ImageTable, Labels  # with polars, which no other set needs

    listed, signs = faces(place)
    listing, rows = _list_rows(listed, place, opening)
    opened = open_images(listing, choose_form(listing, dataset.image_size), opening)
    if "train" not in opened.parts:
        raise InputError(f"{place} holds no image to train on that can be read.", AGAIN)
    return ImageTable(opened, Labels("labels", listed.classes, signs[rows], None))


_ADVICE = "Delete the set, and get it again."


def _open_listed(listed: Listed, place: Path, dataset: TorchvisionDataset, opening: Opening) -> Images:
    listing, numbers = _list_rows(listed, place, opening)
    classes, targets, choice = listed.classes, torch.tensor(numbers, dtype=torch.int64), None
    if "train" in (parts := listing.parts()):
        choice = choose_classes(dataset, classes, targets, parts)
    if choice is not None:
        listing, classes, targets = listing.narrow(choice.samples.tolist(), choice.note), choice.names, choice.targets
    opened = open_images(listing, choose_form(listing, dataset.image_size), opening)
    targets = targets[torch.from_numpy(opened.good)]
    source = Images(opened, classes, targets, digest_labels(opened, targets, classes))
    if choice is not None:
        source.class_choices = choice.choices
    if "train" not in source.parts or len(targets[source.parts["train"]].unique()) < 2:
        first = f" ({source.skipped[0].path}: {source.skipped[0].reason})" if source.skipped else ""
        raise InputError(f"{place} holds no images of two classes to train on{first}.", _ADVICE)
    return source


def _list_rows(listed: Listed, place: Path, opening: Opening) -> tuple[Listing, list[int]]:
    """The images that are there, and the number that each has in its row."""
    opening.report_progress("listing the images", None)
    parts = list(dict.fromkeys(part for part, _, _ in listed.rows))
    listing = Listing(place, groups=[(part, "") for part in parts])
    numbers: list[int] = []
    for part, number, path in listed.rows:
        reason, status = look_up(place, path)
        if status is None or reason:
            listing.skip(path, reason)
            continue
        listing.add(path, status, parts.index(part))
        numbers.append(number)
    return listing, numbers


_TRIMAP = MaskForm((UNKNOWN, 0, 1, IGNORED_PIXEL))
"""Of the pets: 1 is the animal, 2 what is behind it, 3 the outline, which is neither."""

_LEARNED = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
_STREETS = MaskForm(tuple(_LEARNED.index(label) if label in _LEARNED else IGNORED_PIXEL for label in range(34)))
"""Of Cityscapes: the labels that its makers judge by; the others are ignored."""


def mask_form(dataset: TorchvisionSegmentationDataset) -> MaskForm:
    """What the masks' values mean."""
    own = {"OxfordIIITPet": _TRIMAP, "Cityscapes": _STREETS}
    return own.get(dataset.name) or MaskForm.of(len(MASKED[dataset.name].classes))


def open_torchvision_masks(dataset: TorchvisionSegmentationDataset, opening: Opening) -> Segmentation:
    known = MASKED[dataset.name]
    place = bring(dataset, known, opening)
    opening.report_progress("listing the images", None)
    listing, masks = Listing(place), Listing(place)
    parts: list[str] = []
    for part, image, mask in MASK_LISTS[dataset.name](place, dataset):
        (reason, status), (missing, mask_status) = look_up(place, image), look_up(place, mask)
        if status is None or mask_status is None or reason or missing:
            listing.skip(image, reason or f"its mask {mask}: {missing}")
            continue
        if part not in parts:
            parts.append(part)
            listing.groups.append((part, ""))
        listing.add(image, status, parts.index(part))
        masks.groups = listing.groups
        masks.add(mask, mask_status)
    listing.masks = masks
    form = mask_form(dataset)
    opened = open_images(listing, choose_form(listing, dataset.image_size, mask=form), opening)
    return Segmentation(opened, known.classes, f"{form} {known.classes}", None, False)
