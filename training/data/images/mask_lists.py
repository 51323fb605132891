"""Lists of images and their masks: a text with two files a line, or with one name of both."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from training.config.rules.mask_layout import Place, bare_name
from training.data.images.folder import Listing, look_up, show_path
from training.errors import InputError
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

_MOST = 512 * MEGABYTE
_IMAGE_COLUMNS = frozenset({"image", "images", "img", "file", "filename", "file_name", "image_path", "path", "input"})
_MASK_COLUMNS = frozenset(
    {"mask", "masks", "label", "labels", "annotation", "mask_path", "gt", "target", "segmentation"}
)


def list_lines(images: Listing, masks: Listing, place: Place) -> None:
    """Add what each line of the list ``place.images`` has. Paths are relative to the folder or to that of the list; of others, as
    those of SegNet's lists (/SegNet/CamVid/train/...), the longest end counts that is there. Raises InputError for a line that does not
    name two files."""
    root, shown = images.root, show_path(place.images)
    images.groups.append((place.part, ""))
    masks.groups.append((place.part, ""))
    finder = _Finder(root, PurePath(place.images).parent)
    seen: set[str] = set()
    for number, *names in _read_lines(root / place.images):
        image, mask = map(finder.find, names)
        where = f"({shown}, line {number:,})"
        if image.reason or image.status is None:
            images.skip(image.path, f"{image.reason} {where}")
        elif mask.reason or mask.status is None:
            images.skip(image.path, f"its mask {show_path(mask.path)}: {mask.reason} {where}")
        elif image.path == mask.path:
            images.skip(image.path, f"is named as its own mask {where}")
        elif image.path in seen:
            images.skip(image.path, f"is named a second time {where}")
        else:
            seen.add(image.path)
            images.add(image.path, image.status)
            masks.add(mask.path, mask.status)


class Found(NamedTuple):
    """What became of a name in a list."""

    path: str
    reason: str
    status: os.stat_result | None


class _Finder:
    """Where the files of a list are. How much of a folder's path counts is looked for once."""

    def __init__(self, root: Path, beside: PurePath) -> None:
        """``beside`` is the folder of the list, relative to the root or, of one that lies elsewhere, whole."""
        self._root = root
        self._bases = tuple(dict.fromkeys(("", "" if beside == PurePath() else f"{beside.as_posix()}/")))
        self._known: dict[tuple[str, ...], tuple[int, str]] = {}

    def find(self, name: str) -> Found:
        """The path relative to the root, why it cannot be used ("" if it can), and what the system says of it."""
        parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        shown = "/".join(parts)
        if not parts or ".." in parts:
            return Found(shown or name, "lies outside of the folder of the images", None)
        ways = [(cut, base) for cut in range(len(parts)) for base in self._bases]
        known = self._known.get(parts[:-1])
        missing = Found(shown, "", None)
        for cut, base in [known, *ways] if known else ways:
            below = "/".join(parts[cut:])
            path = base + below
            reason, status = look_up(self._root / base, below)
            if status is not None:
                self._known[parts[:-1]] = cut, base
                return Found(path, reason, status)
            missing = missing if missing.reason else Found(shown, reason, None)
        return missing


def read_names(path: Path) -> dict[str, int] | None:
    """The names that a list has one a line, without endings, and the number of each line; None where it is a list of two files a line.
    Raises InputError where it cannot be read."""
    lines = list(_number_lines(path))
    if not lines or any(len(line.split()) != 1 or "," in line or ";" in line for _, line in lines[:1]):
        return None
    names: dict[str, int] = {}
    for number, line in lines:
        if len(line.split()) != 1:
            raise InputError(
                f"{_show(path)}, line {number:,}: '{escape_unprintable(line, 100)}' is not one name, as in the lines before.",
                "Write one name a line, or an image and its mask in each.",
            )
        names.setdefault(bare_name(line), number)
    return names


def _show(path: Path) -> str:
    return escape_unprintable(str(path), 300)


def _number_lines(path: Path) -> Iterator[tuple[int, str]]:
    """What is written in each line, but for remarks. Raises InputError."""
    try:
        text = read_bytes(path, _MOST).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{_show(path)} cannot be read ({error.strerror}).", "Choose another list.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{_show(path)} is no text in UTF-8.", "Save the list as plain text.") from error
    numbered = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return ((number, line) for number, line in numbered if line and not line.startswith("#"))


def _read_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """The number of each line, with its image and its mask."""
    shown, lines = _show(path), list(_number_lines(path))
    separator = next((mark for mark in "\t;," if lines and mark in lines[0][1]), None)
    columns = (0, 1)
    for place, (number, line) in enumerate(lines):
        words = (
            line.split() if separator is None else next(csv.reader([line], delimiter=separator, skipinitialspace=True))
        )
        if not place and len(words) > 1 and not any(PurePosixPath(word).suffix for word in words):
            columns = _find_columns(words)
            continue
        if len(words) <= max(columns) or (separator is None and len(words) != 2):
            raise InputError(
                f"{shown}, line {number:,}: '{escape_unprintable(line, 100)}' does not name an image and its mask.",
                "Write two files a line; where a name has spaces, with a comma or a tab between them.",
            )
        yield number, words[columns[0]].strip(), words[columns[1]].strip()


def _find_columns(header: list[str]) -> tuple[int, int]:
    """Which columns have the images and the masks, by the words of the first line; the first two where those do not tell."""
    names = [word.strip().lower() for word in header]
    images = [place for place, name in enumerate(names) if name in _IMAGE_COLUMNS]
    masks = [place for place, name in enumerate(names) if name in _MASK_COLUMNS]
    return (images[0], masks[0]) if images and masks else (0, 1)
