"""Which file of an image folder belongs to which class and part; nothing is decoded here."""

from __future__ import annotations

import os
import stat
import time
import unicodedata
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from pathlib import Path, PurePosixPath

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from training.config.rules.mask_layout import ROLES
from training.core.readers.image_reading import SYSTEM_NAME
from training.data.images.files import Files, formats
from training.data.source import ReportProgress
from training.data_report import Skipped
from training.errors import InputError

_MOST_LEVELS = 32
_NOWHERE = (-1, -1)
_ORDER = ("train", "validation", "test")


@dataclass
class Listing:
    """``paths[i]`` (relative to ``root``, whole where that lies elsewhere) belongs to ``groups[owners[i]]``, a (part, class name).

    ``sizes`` are bytes, ``modified`` and ``changed`` the system's nanoseconds: of the content, and of anything about the
    file. Compact, because there may be millions. ``began`` is the time before any of them was looked at.
    """

    root: Path
    began: int = field(default_factory=time.time_ns)
    paths: list[str] = field(default_factory=list)
    owners: array[int] = field(default_factory=lambda: array("i"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    modified: array[int] = field(default_factory=lambda: array("q"))
    changed: array[int] = field(default_factory=lambda: array("q"))
    groups: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    masks: Listing | None = None
    """The mask of each image, in the same order."""
    whole: int = 0
    """How many images there are with those of classes that were left out; 0: no more than in here."""
    folders: dict[str, str] = field(default_factory=dict)
    """Where each part lies, where there are several: relative to ``root``, or the whole path."""

    def files(self) -> Files:
        """What is to be decoded."""
        elsewhere = {part: folder for part, folder in self.folders.items() if os.path.isabs(folder)}  # noqa: PTH117
        return Files(self.root, self.paths, None if self.masks is None else self.masks.paths, elsewhere)

    def bytes_each(self) -> NDArray[np.int64]:
        """Bytes of each file, with those of its mask."""
        sizes = np.frombuffer(self.sizes, np.int64)
        return sizes if self.masks is None else sizes + np.frombuffer(self.masks.sizes, np.int64)

    def add(self, path: str, status: os.stat_result, owner: int = -1) -> None:
        """One more image, of the group of that number; without one of that which was named last."""
        self.paths.append(path)
        self.owners.append(owner if owner >= 0 else len(self.groups) - 1)
        self.sizes.append(status.st_size)
        self.modified.append(status.st_mtime_ns)
        self.changed.append(status.st_ctime_ns)

    def select(self, rows: Iterable[int]) -> Listing:
        """Only those images; what was left out and noted stays behind."""
        chosen = Listing(self.root, self.began, groups=self.groups, folders=self.folders)
        for row in rows:
            chosen.paths.append(self.paths[row])
            for name in ("owners", "sizes", "modified", "changed"):
                getattr(chosen, name).append(getattr(self, name)[row])
        return chosen

    def narrow(self, rows: Iterable[int], note: str) -> Listing:
        """Only those images, of the classes that are kept, as the ``note`` says; all else as it is."""
        chosen = self.select(rows)
        chosen.skipped, chosen.notes, chosen.whole = self.skipped, [*self.notes, note], len(self.paths)
        return chosen

    def parts(self, rows: NDArray[np.int64] | None = None) -> dict[str, Tensor]:
        """int64 numbers of the images of each part, counted among those ``rows``; None: among all. A part without any is left
        out."""
        owners = np.frombuffer(self.owners, np.int32)
        owners = owners if rows is None else owners[rows]
        return {
            part: torch.from_numpy(numbers)
            for part in dict.fromkeys(part for part, _ in self.groups)
            if len(numbers := np.flatnonzero(np.array([part == of for of, _ in self.groups])[owners]))
        }

    @property
    def first_skipped(self) -> str:
        """What was left out first, in brackets; "" where nothing was."""
        return f" ({self.skipped[0].path}: {self.skipped[0].reason})" if self.skipped else ""

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append(Skipped(show_path(path), reason))


@lru_cache(maxsize=1)
def image_suffixes() -> frozenset[str]:
    """File name endings of images, lower case, with the dot."""
    return frozenset(suffix for suffix, name in Image.registered_extensions().items() if name in formats())


def show_path(path: str) -> str:
    """``path`` as it can be printed and saved: forward slashes, undecodable bytes replaced."""
    return Path(os.fsencode(path).decode("utf-8", "replace")).as_posix()


def list_folder(root: Path, report_progress: ReportProgress, elsewhere: Mapping[str, str] | None = None) -> Listing:
    """Every file that may be an image, in the order of its path, part by part. ``elsewhere`` are the folders of parts (validation,
    test) that lie outside of ``root``. Raises InputError when there is no such folder, or where a part is there twice."""
    if not root.is_dir():
        raise InputError(
            f"dataset.path: {root} is not a folder.", "Choose the folder that holds one subfolder per class."
        )
    report_progress("listing the images", None)
    listing = Listing(root)
    parts = _parts(root)
    outside = {_check_outside(root, parts, part, folder): part for part, folder in (elsewhere or {}).items()}
    if parts:
        for entry in _entries(listing, ""):
            if entry.name not in parts:
                listing.skip(entry.name, _stray(entry) or "not one of the folders train, val and test")
        listing.notes.append(
            f"parts found: {', '.join(f'{role} in {show_path(name)}' for name, role in parts.items())}"
        )
    listing.notes += [f"{part} images in {show_path(folder)}" for folder, part in outside.items()]
    every = sorted([*(parts or {"": "train"}).items(), *outside.items()], key=lambda item: _ORDER.index(item[1]))
    for name, part in every:
        _list_part(listing, name, part)
    listing.folders = {part: name for name, part in every} if len(every) > 1 else {}
    return listing


def _check_outside(root: Path, parts: Mapping[str, str], part: str, folder: str) -> str:
    """The whole path of the ``folder`` of ``part``, with forward slashes. Raises InputError where its images would be trained on, or
    where ``root`` has such a part, too."""
    setting, there, here = f"dataset.{part}_path", Path(folder).resolve(), root.resolve()
    if not there.is_dir():
        raise InputError(
            f"{setting}: {folder} is not a folder.",
            "Choose the folder that holds one subfolder per class, or empty this.",
        )
    twice = next((name for name, role in parts.items() if role == part), "")
    if twice:
        raise InputError(
            f"{setting}: {root} has a {part} part of its own, {show_path(twice)}.",
            "Empty this, or choose the folder of the training images as dataset.path.",
            {setting: None},
        )
    if there == here or there in here.parents or here in there.parents:
        where = "is" if there == here else "lies inside of" if here in there.parents else "holds"
        raise InputError(
            f"{setting}: {folder} {where} dataset.path ({root}), whose images are trained on.",
            "Choose a folder beside it, or the folder of the training images alone as dataset.path.",
            {setting: None},
        )
    return there.as_posix()


def list_tree(listing: Listing, part: str, folder: str) -> None:
    """Every file below ``folder`` (relative to the root) that may be an image, as belonging to ``part``."""
    listing.groups.append((part, ""))
    _list_class(listing, folder, (), {})


def _parts(root: Path) -> dict[str, str]:
    """Folder name to part, when the folder is divided into parts; a class may be called "train", too."""
    try:
        folders = sorted(path.name for path in root.iterdir() if path.is_dir() and not SYSTEM_NAME.fullmatch(path.name))
        found = {name: ROLES[name.lower()] for name in folders if name.lower() in ROLES}
        trained = [root / name for name, role in found.items() if role == "train"]
        divided = any(path.is_dir() for folder in trained for path in folder.iterdir())
    except OSError as error:
        raise InputError(
            f"dataset.path: {root} cannot be read: {error.strerror or error}.", "Choose another folder."
        ) from error
    twice = [name for name, role in found.items() if list(found.values()).count(role) > 1]
    if not trained:
        if found and len(found) == len(folders):
            raise InputError(
                f"{root} has {' and '.join(found)}, but no folder train.", "Add one, or choose another folder."
            )
        return {}
    if not divided:
        return {}
    if twice:
        raise InputError(f"{root} has {' and '.join(twice)}, which mean the same part.", "Keep one of them.")
    return dict(sorted(found.items(), key=lambda item: _ORDER.index(item[1])))


def _list_part(listing: Listing, name: str, part: str) -> None:
    for entry in _entries(listing, name):
        path = os.path.join(name, entry.name)  # noqa: PTH118 - strings: a million Path objects would take seconds
        stray = _stray(entry)
        if stray:
            listing.skip(path, stray)
            continue
        before = len(listing.paths), len(listing.skipped)
        listing.groups.append((part, unicodedata.normalize("NFC", show_path(entry.name))))
        _list_class(listing, path, (_identity(listing.root / name),), {})
        if (len(listing.paths), len(listing.skipped)) == before:
            listing.skip(path, "class folder without an image")


def _list_class(
    listing: Listing, folder: str, above: tuple[tuple[int, int], ...], seen: dict[tuple[int, int], str]
) -> None:
    """Every image below ``folder``; ``above`` are the folders on the way here, to see a link that leads back, and
    ``seen`` all of this class, because folders that link to each other have more ways through them than time allows."""
    identity = _identity(listing.root / folder)
    if identity in above:
        listing.skip(folder, "a link back to a folder above it")
        return
    if identity in seen and identity != _NOWHERE:
        listing.skip(folder, f"the same folder as {show_path(seen[identity])}")
        return
    if len(above) > _MOST_LEVELS:
        listing.skip(folder, f"lies more than {_MOST_LEVELS} folders deep")
        return
    seen[identity] = folder
    entries = _entries(listing, folder)
    entries.reverse()
    while entries:
        entry = entries.pop()  # let go of, with all that the system said of it: a million of them take a gigabyte
        path = folder + os.sep + entry.name
        if SYSTEM_NAME.fullmatch(entry.name):
            listing.skip(path, "hidden or system file")
        elif _is_folder(entry):
            _list_class(listing, path, (*above, identity), seen)
        else:
            _list_file(listing, path, entry)


def _list_file(listing: Listing, path: str, entry: os.DirEntry[str]) -> None:
    try:
        status = entry.stat()
    except OSError as error:
        lost = entry.is_symlink()
        listing.skip(path, "a link that leads nowhere" if lost else f"cannot be opened: {error.strerror or error}")
        return
    reason = why_no_image(entry.name, status)
    if reason:
        listing.skip(path, reason)
        return
    listing.add(path, status)


def _entries(listing: Listing, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(listing.root / folder) as entries:
            return sorted(entries, key=attrgetter("name"))
    except OSError as error:
        listing.skip(folder, f"cannot be opened: {error.strerror or error}")
        return []


def _stray(entry: os.DirEntry[str]) -> str:
    """Why this entry is no class folder, "" if it is one."""
    if SYSTEM_NAME.fullmatch(entry.name):
        return "hidden or system file"
    return "" if _is_folder(entry) else "not inside a class folder"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def why_no_image(name: str, status: os.stat_result) -> str:
    """Why a file cannot be an image, "" if it may be one."""
    if not stat.S_ISREG(status.st_mode):
        return "not an ordinary file"
    if status.st_size == 0:
        return "empty file"
    stem, dot, ending = name.rpartition(".")
    if stem and ending and f".{ending.lower()}" not in image_suffixes():
        return f"not an image format that can be read ({dot}{ending})"
    return ""


def look_up(root: Path, name: str) -> tuple[str, os.stat_result | None]:
    """Why the file that a list calls ``name`` cannot be used, "" if it may be, and what the system says of it."""
    below = PurePosixPath(name)
    if below.is_absolute() or ".." in below.parts or Path(name).is_absolute():
        return "lies outside of the folder of the images", None
    try:
        status = (root / name).stat()
    except FileNotFoundError:
        return "there is no such file", None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        return f"cannot be opened: {getattr(error, 'strerror', None) or error}", None
    return why_no_image(below.name, status), status


def _identity(path: Path) -> tuple[int, int]:
    """What a folder is, whatever the links that lead to it."""
    try:
        status = path.stat()
    except OSError:  # it vanished or is closed: scandir says so next
        return _NOWHERE
    return (status.st_dev, status.st_ino)
