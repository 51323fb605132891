"""Which mask belongs to which image; nothing is decoded here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from training.config.rules.mask_layout import (
    MASK_ENDINGS,
    MOST_ASKED,
    SETTINGS,
    Place,
    find_folders,
    find_layout,
    masks_of,
)
from training.config.sections.data.images import SegmentationDataset
from training.data.images.folder import Listing, list_tree, show_path
from training.data.images.mask_lists import list_lines, read_names
from training.data.source import ReportProgress
from training.errors import InputError, pluralize
from training.system.untrusted import escape_unprintable

_ADVICE = (
    "Choose a folder with images and masks in it, or with train and val folders that each hold those two, or say where they are "
    "(dataset.train_images and dataset.train_masks)."
)
Key = tuple[int, str]
"""A part's number, and where a file lies in it, by which it is paired."""


@dataclass(frozen=True)
class Pattern:
    """The files of a tree whose paths (relative to the root) begin and end so; what stands between is a file's name. A ``suffix``
    without an ending of a file fits all endings."""

    prefix: str
    suffix: str
    endless: bool = False

    @classmethod
    def of_folder(cls, folder: str) -> Pattern:
        return cls("" if folder == "." else f"{folder}/", "", endless=True)

    @classmethod
    def read(cls, text: str, base: str = "") -> Pattern:
        """From ``images/*_left.png`` or ``{name}_mask.png``; one without a folder is of the folder ``base``."""
        text = text.replace("{name}", "*")
        text = f"{base}/{text}" if base not in ("", ".") and "/" not in text else text
        prefix, _, rest = text.partition("*")
        suffix = rest.rpartition("*")[2]
        return cls(prefix, suffix, endless="." not in suffix)

    @property
    def folder(self) -> str:
        """The deepest one that has all files."""
        return self.prefix.rpartition("/")[0] or "."

    @property
    def length(self) -> int:
        """How much of a path it tells."""
        return len(self.prefix) + len(self.suffix)

    def name(self, path: str) -> str | None:
        """What stands for the ``path``; None where it does not fit."""
        shown = show_path(path)
        if self.endless:
            shown = shown[: len(shown) - len(PurePath(shown).suffix)]
        ends = shown.casefold().endswith(self.suffix.casefold())
        if not ends or not shown.startswith(self.prefix) or len(shown) <= len(self.prefix) + len(self.suffix):
            return None
        return shown[len(self.prefix) : len(shown) - len(self.suffix)]


def list_pairs(dataset: SegmentationDataset, report_progress: ReportProgress) -> Listing:
    """The images that have a mask, in the order of their paths (of a list that of its lines), with ``masks``. Raises InputError when
    there are none."""
    root = Path(dataset.path)
    if not root.is_dir():
        raise InputError(f"dataset.path: {root} is not a folder.", _ADVICE)
    report_progress("listing the images", None)
    places, given = _places(dataset, root)
    paired = _Pairing(root)
    for place in places:
        paired.add(place)
    listing = paired.finish()
    listing.folders = {place.part: _find_folder(place.images, root) for place in places}
    if not listing.paths:
        raise InputError(f"{root} holds no image with a mask of the same name{listing.first_skipped}.", _ADVICE)
    if all(part != "train" for part, _ in listing.groups):
        advice = (
            "Name the training images, too: dataset.train_images." if given else "Add one, or choose another folder."
        )
        raise InputError(f"{root} has no folder train.", advice)
    if len(places) > 1 and not given:
        found = ", ".join(f"{place.part} in {place.images}" for place in places)
        listing.notes.append(f"parts found: {found}")
    return listing


def _find_folder(images: str, root: Path) -> str:
    """Where the images lie that a place names by their folder, by a pattern or by a list."""
    if "*" in images:
        return Pattern.read(images).folder
    return PurePath(images).parent.as_posix() if (root / images).is_file() else images


def _places(dataset: SegmentationDataset, root: Path) -> tuple[list[Place], bool]:
    """Where each part is, and whether the settings say it."""
    given = [Place(part, *(getattr(dataset, name) for name in names)) for part, names in SETTINGS.items()]
    if any(place.images or place.masks for place in given):
        return [_check_place(place, root) for place in given if place.images or place.masks], True
    try:
        found = find_layout(root)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror or error}.", _ADVICE) from error
    if not found:
        raise InputError(f"{root} holds no images and masks that could be told apart by their names.", _ADVICE)
    return found, False


def _check_place(place: Place, root: Path) -> Place:
    """``place`` with paths relative to ``root`` and with the masks that the person left to us. Raises InputError for what is not
    there."""
    images_setting, masks_setting = (f"dataset.{name}" for name in SETTINGS[place.part])
    if not place.images:
        raise InputError(
            f"{images_setting}: the masks of the {place.part} part are named, but not its images.", "Name both."
        )
    images = _find(place.images, root, images_setting)
    masks = _find(place.masks, root, masks_setting) if place.masks else ""
    if (root / images).is_file():
        if masks and read_names(root / images) is None:
            raise InputError(
                f"{masks_setting}: {images} is a list, whose lines name the masks.", "Empty this.", {masks_setting: ""}
            )
    elif not masks:
        masks = masks_of(root, images) if (root / images).is_dir() else ""
        if not masks:
            raise InputError(
                f"{masks_setting}: no masks were found that belong to {_show(images)}.",
                "Name their folder, or how they are called, such as {name}_mask.png.",
            )
    elif masks == images:
        raise InputError(
            f"{masks_setting}: {_show(masks)} is where the images are.", "Name the folder of the masks, or a pattern."
        )
    return Place(place.part, images, masks)


def _find(text: str, root: Path, setting: str) -> str:
    """``text`` relative to ``root``, with forward slashes; absolute where it lies elsewhere. Raises InputError where nothing can be
    there."""
    path = PurePath(text)
    if path.is_relative_to(root.absolute()):
        text = str(path.relative_to(root.absolute()))
    text = text.replace("\\", "/").removeprefix("./").rstrip("/") or "."
    if ".." in text.split("/"):
        raise InputError(
            f"{setting}: {_show(text)} leads out of dataset.path.", "Write the whole path of what lies elsewhere."
        )
    pattern = "*" in text or "{name}" in text
    if not pattern and not (root / text).exists():
        where = "" if PurePath(text).is_absolute() else f" in {_show(str(root))}"
        raise InputError(
            f"{setting}: there is no {_show(text)}{where}.",
            "Name a folder, a list, or a pattern such as *_mask.png; or empty this to look for images and masks.",
            {setting: ""},
        )
    return text


class _Pairing:
    """Pairs of one part after the other."""

    def __init__(self, root: Path) -> None:
        self._images, self._masks = Listing(root), Listing(root)
        self._pairs: list[tuple[int, int]] = []
        self._folders: list[str] = []

    def add(self, place: Place) -> None:
        """The pairs of a part."""
        images, masks = self._images, self._masks
        listed = read_names(images.root / place.images) if (images.root / place.images).is_file() else None
        if not place.masks and listed is None:
            first = len(images.paths), len(masks.paths)
            list_lines(images, masks, place)
            self._pairs += zip(range(first[0], len(images.paths)), range(first[1], len(masks.paths)), strict=True)
            return
        called = place.images
        if listed is not None:
            place = _find_listed(images.root, place, [*listed][:MOST_ASKED])
        in_folder = "*" not in place.images
        of_images = Pattern.of_folder(place.images) if in_folder else Pattern.read(place.images)
        by_pattern = "*" in place.masks or "{name}" in place.masks
        base = place.images if in_folder else of_images.folder
        of_masks = Pattern.read(place.masks, base) if by_pattern else Pattern.of_folder(place.masks)
        # A file that fits both is what the narrower one says.
        narrow = of_masks.length >= of_images.length
        names = dict(_list_by(images, place.part, of_images, of_masks if narrow else None))
        others = dict(_list_by(masks, place.part, of_masks, None if narrow else of_images))
        if listed is not None:
            names = self._keep_listed(names, listed, place, called)
        self._match(names, others, () if by_pattern else MASK_ENDINGS, place, whole=listed is None)

    def _keep_listed(self, names: dict[int, str], listed: dict[str, int], place: Place, called: str) -> dict[int, str]:
        """Of the images those that the list ``called`` so has, in its order."""
        rows = {name: row for row, name in reversed(names.items())}
        for name in listed.keys() - rows.keys():
            self._images.skip(
                name, f"there is no image of this name in {place.images} ({called}, line {listed[name]:,})"
            )
        return {rows[name]: name for name in listed if name in rows}

    def _match(
        self, names: dict[int, str], others: dict[int, str], endings: tuple[str, ...], place: Place, whole: bool
    ) -> None:
        """``whole``: each mask is of an image among ``names``, or of none."""
        images, masks = self._images, self._masks
        rows: dict[str, int] = {}
        for row, name in others.items():
            if name in rows:
                masks.skip(masks.paths[row], f"a second mask beside {show_path(masks.paths[rows[name]])}")
            else:
                rows[name] = row
        used: set[int] = set()
        for row, name in names.items():
            mask = _mask_of(rows, name, endings)
            if mask is None:
                images.skip(images.paths[row], f"has no mask of its name in {place.masks}")
            else:
                self._pairs.append((row, mask))
                used.add(mask)
        for mask in rows.values():
            if whole and mask not in used:
                masks.skip(masks.paths[mask], "a mask without an image")

    def finish(self) -> Listing:
        """All of them, with what has no partner as skipped."""
        images, masks = self._images, self._masks
        paired = images.select(row for row, _ in self._pairs)
        paired.masks = masks.select(mask for _, mask in self._pairs)
        paired.skipped = list(dict.fromkeys([*images.skipped, *masks.skipped]))
        without = sum(each.reason.startswith("has no mask") for each in paired.skipped)
        alone = sum(each.reason == "a mask without an image" for each in paired.skipped)
        told = [f"{pluralize(len(paired.paths), 'image')} paired with a mask"]
        told += [f"{pluralize(without, 'image')} without a mask"] if without else []
        told += [f"{pluralize(alone, 'mask')} without an image"] if alone else []
        paired.notes.append(", ".join(told))
        if paired.paths:
            paired.notes.append(f"such as {show_path(paired.paths[0])} with {show_path(paired.masks.paths[0])}")
        return paired


def _find_listed(root: Path, place: Place, names: list[str]) -> Place:
    """``place`` with the folders of the images and the masks that a list names without them. Raises InputError where several have
    them, or none."""
    found = find_folders(root, names, place.masks)
    for what, setting, folders in zip(("images", "masks"), SETTINGS[place.part], found, strict=True):
        if len(folders) != 1:
            where = f"several folders: {', '.join(folders[:5])}" if folders else "no folder of dataset.path"
            raise InputError(
                f"dataset.{setting}: {what} called as in {place.images} are in {where}.",
                f"Name the folder of the masks in dataset.{SETTINGS[place.part][1]}, or write an image and its mask in each line of the list.",
            )
    return place._replace(images=found[0][0], masks=found[1][0])


def _list_by(listing: Listing, part: str, pattern: Pattern, other: Pattern | None) -> Iterator[tuple[int, str]]:
    """List the files of ``part`` that fit ``pattern``, but not ``other``: the rows and what stands for each."""
    first = len(listing.paths)
    list_tree(listing, part, pattern.folder)
    for row in range(first, len(listing.paths)):
        listing.paths[row] = listing.paths[row].removeprefix("./").removeprefix(".\\")
        name = pattern.name(listing.paths[row])
        if name is not None and (other is None or other.name(listing.paths[row]) is None):
            yield row, name


def _mask_of(rows: dict[str, int], name: str, endings: tuple[str, ...]) -> int | None:
    for ending in ("", *endings):
        for candidate in dict.fromkeys((name + ending, name + ending.upper())):
            if candidate in rows:
                return rows[candidate]
    return None


def _show(text: str) -> str:
    return escape_unprintable(text, 200)
