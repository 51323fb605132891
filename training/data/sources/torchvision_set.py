"""``torchvision``: datasets that torchvision knows by name, fetched once or found where torchvision put them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from training.config.dataset import ImageFolderDataset
from training.config.torchvision_sets import TorchvisionDataset
from training.data.known import KNOWN_SETS, KnownSet
from training.data.known.cars import cars
from training.data.known.faces import faces
from training.data.known.fer import Fer
from training.data.known.lists import LISTS, asked_for
from training.data.known.place import AGAIN, bring, root_of
from training.data.known.qmnist import Qmnist
from training.data.known.records import Cifar, Stl
from training.data.known.semeion import Semeion
from training.data.known.small import EMNIST_CLASSES
from training.data.known.svhn import Svhn
from training.data.known.usps import Usps
from training.data.source import Opening
from training.data.sources.idx import IDX_FORMS, MNIST_FILES, Idx, find_idx
from training.data.sources.image_folder import ImageFolder, open_image_folder
from training.data.sources.image_table import ImageTable, Labels
from training.data.sources.listed import ListedPictures, open_listed, open_rows
from training.data.sources.packed import Packed, Reader
from training.errors import InputError

_READERS: dict[str, Callable[[Path], Reader]] = {
    "svhn": Svhn,
    "usps": Usps,
    "qmnist": Qmnist,
    "semeion": Semeion,
    "fer": Fer,
}


def open_torchvision_set(
    dataset: TorchvisionDataset, opening: Opening
) -> Idx | Packed | ImageFolder | ListedPictures | ImageTable:
    known = KNOWN_SETS[dataset.name]
    if known.form == "idx":
        return _open_idx(dataset, known, opening)
    place = bring(dataset, known, opening)
    if known.form == "folder":
        return _open_folder(dataset, known, place, opening)
    if known.form == "cars":
        return open_listed(cars(place), place, dataset.image_size, opening)
    if known.form == "faces":
        return _open_faces(dataset, place, opening)
    if known.form == "list":
        listed = LISTS[dataset.name](place, **asked_for(LISTS[dataset.name], dataset))
        listed.classes = listed.classes or known.classes
        return open_listed(listed, place, dataset.image_size, opening)
    opening.report_progress(f"reading {dataset.name}", None)
    return _open_packed(dataset, known, place, opening)


def _open_idx(dataset: TorchvisionDataset, known: KnownSet, opening: Opening) -> Idx:
    emnist, files = dataset.name == "EMNIST", idx_files(dataset)
    root = root_of(dataset)
    place = idx_folder(root, known, files[0][1])
    if place is None or (not emnist and _is_half(place, dataset)):  # a download was ended in between, perhaps
        place = bring(dataset, known, opening, place)
        place = idx_folder(place, known, files[0][1]) or place
    # Which tells a damaged file by itself; one that was packed again is as good as the published one.
    source = Idx(place, files)
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
    """Where the training pictures lie, packed or not; ``gzip`` is what the archive of EMNIST makes."""
    folders = (root / known.folder, root / Path(known.folder).name, root)
    for place in (within for folder in folders for within in (folder, folder / "gzip")):
        if any(place.glob(f"{prefix}-images*idx3-ubyte*")):
            return place
    return None


def _open_folder(dataset: TorchvisionDataset, known: KnownSet, place: Path, opening: Opening) -> ImageFolder:
    folder = place / known.files[0].makes
    settings = {"path": str(folder), "image_size": dataset.image_size, "validation": dataset.validation}
    source = open_image_folder(ImageFolderDataset.model_validate(settings), opening)
    classes = _imagenet() if dataset.name == "ImageNet" else known.classes
    if len(source.classes) == len(classes):
        source.classes = classes  # in the order of their folders
    return source


def _imagenet() -> tuple[str, ...]:
    """The classes as torchvision's weights have learnt them."""
    from torchvision.models import ResNet18_Weights

    return tuple(ResNet18_Weights.IMAGENET1K_V1.meta["categories"])


def _open_faces(dataset: TorchvisionDataset, place: Path, opening: Opening) -> ImageTable:
    listed, signs = faces(place)
    opened, rows = open_rows(listed, place, dataset.image_size, opening)
    if "train" not in opened.parts():
        raise InputError(f"{place} holds no picture to train on that can be read.", AGAIN)
    return ImageTable(opened, Labels("labels", listed.classes, signs[rows], None))


def _open_packed(dataset: TorchvisionDataset, known: KnownSet, place: Path, opening: Opening) -> Packed:
    reader: Reader
    classes = known.classes
    if known.form != "records":
        reader = _READERS[known.form](place)
    elif dataset.name == "STL10":
        reader = Stl(place / known.files[0].makes)
    else:
        reader = Cifar(place / known.files[0].makes, fine=not classes)
        classes = classes or reader.names()
    return Packed(reader, classes, opening.check)
