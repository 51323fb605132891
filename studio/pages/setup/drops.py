"""What a file or folder dropped on the window is. Looks at names, at a bounded number of them, and into the head of a table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from PySide6.QtGui import QImageReader

from studio.state.context import AppContext
from studio.state.formats import kind_title
from training.catalog import DATASETS
from training.config.rules.mask_layout import ROLES, find_layout, layout_settings
from training.embedded_config import is_report
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.workspace import run_opened_by
from training.system.untrusted import escape_unprintable

IMAGE_SUFFIXES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"])
_IDX_MARKS = ("idx1-ubyte", "idx3-ubyte")
_FILES = {".csv": "table", ".tsv": "table", ".parquet": "table", ".npz": "npz", ".txt": "text"}
_MOST = 2000
_HEAD = 1 << 16
_PROBED = 12  # folders, and folders in each
_LEAST, _SMALL = 8, 64  # pixels; what recipes scale larger images to
_LONGEST = 60  # letters of a file's name
_LONGEST_DETAIL = 200


@dataclass(frozen=True)
class Dropped:
    """What would become of a file or folder that is let go: ``title`` in a few words, ``detail`` below them. ``dataset`` is the
    kind of its data and what the setting ``path`` is to be, ``settings`` what other settings of it are to be. ``run`` is the folder of a run."""

    title: str
    detail: str = ""
    usable: bool = True
    dataset: tuple[str, Path] | None = None
    settings: Mapping[str, str | None] = field(default_factory=dict)
    run: Path | None = None


def recognize(path: Path) -> Dropped:
    """What the window makes of ``path``. Raises OSError when it cannot be read."""
    path.stat()  # what is gone holds nothing, but not because it is no dataset
    name = escape_unprintable(path.name, _LONGEST)
    if _is_configuration(path):
        return Dropped(f"Open {name}", "Its settings take the place of those in the forms.")
    if (run := _find_run(path)) is not None:
        title = f"Open the run {escape_unprintable(run.name, _LONGEST)}"
        return Dropped(title, "Its curves and checkpoints are shown.", run=run)
    found = dataset_at(path)
    if found is None:
        return Dropped(
            f"{name} holds no dataset this program knows.",
            "Drop a folder with one subfolder of images for each class, one with images and masks, a folder of MNIST files, "
            "a table (CSV or Parquet), an archive of arrays (.npz), a text, a TOML file, a run's folder, or the report of a run.",
            usable=False,
        )
    kind, place = found
    whole = f"{escape_unprintable(place.name, _LONGEST)}/" if place != path or path.is_dir() else name
    detail, settings = kind_title("dataset", kind), dict[str, str | None]()
    if kind == "segmentation":
        layout = find_layout(place)
        settings |= layout_settings(layout)
        detail += "".join(
            f"; {each.part}: {each.images}{f' with {each.masks}' if each.masks else ''}" for each in layout
        )
    if kind == "image_folder" and (side := find_small_side(place)):
        settings["image_size"] = None  # their own
        detail += f" of {side} x {side} pixels"
    return Dropped(
        f"Use {whole} as the dataset", escape_unprintable(detail, _LONGEST_DETAIL), dataset=found, settings=settings
    )


def unreadable(path: Path, error: Exception) -> Dropped:
    """The same for what could not be looked at."""
    why = error.strerror if isinstance(error, OSError) else error
    return Dropped(f"{escape_unprintable(str(path), _LONGEST)} cannot be read ({why}).", usable=False)


def open_dropped(
    context: AppContext, path: Path, take: Callable[[str, Path, Mapping[str, str | None]], object]
) -> None:
    """A TOML file becomes the draft; of a folder or file of data ``take`` is told the kind, the place and other settings; the page with the
    forms is shown. A run is opened. Says so when it is nothing of that."""
    if _is_configuration(path):
        if context.open_config(str(path)):
            context.show_page("setup")
        return

    def handle_result(found: Dropped) -> None:
        if found.run is not None:
            context.open_run(found.run)
            return
        if found.dataset is not None:
            context.show_page("setup")
            take(*found.dataset, found.settings)
            return
        context.notifier.notify(str(InputError(found.title, found.detail)), "warning")

    def handle_failure(error: Exception) -> None:
        context.notifier.notify(unreadable(path, error).title, "danger")

    # Not here: a folder on a slow drive would hold the window still.
    context.background.submit(lambda: recognize(path), handle_result, handle_failure)


def _is_configuration(path: Path) -> bool:
    return (path.suffix.lower() == ".toml" or is_report(path)) and path.is_file()


def _find_run(path: Path) -> Path | None:
    """The folder of the run that ``path`` is, or opens; None for anything else."""
    return path if RunFolder(path).status_file.is_file() else run_opened_by(path)


def dataset_at(path: Path) -> tuple[str, Path] | None:
    """The kind of dataset that ``path`` is or belongs to, and what its setting ``path`` is to be; None for no dataset.

    Raises OSError when it cannot be read.
    """
    if path.is_dir():
        kind = dataset_kind(path)
        return None if kind is None else (kind, path)
    if any(mark in path.name for mark in _IDX_MARKS):
        return "idx", path.parent
    kind = _FILES.get(path.suffix.lower())
    if kind == "table" and _names_images(path):
        kind = "image_table"
    return (kind, path) if kind in {row.kind for row in DATASETS} else None


def dataset_kind(folder: Path) -> str | None:
    """ "idx" for a folder of MNIST files, "segmentation" for one with images and masks, "image_folder" for one with class
    subfolders, "text" for one of texts, None for any other.

    Raises OSError when the folder cannot be read.
    """
    files, folders = _content(folder)
    if any(mark in file.name for file in files for mark in _IDX_MARKS):
        return "idx"
    if find_layout(folder, guess=False):
        return "segmentation"
    inner = [sub for sub in folders if sub.name.lower() in ROLES]
    classes = folders if not inner else [sub for part in inner for sub in _content(part)[1]]
    if any(_has_images(sub) for sub in classes[:50]):
        return "image_folder"
    return "text" if files and all(file.suffix.lower() == ".txt" for file in files) else None


def find_small_side(folder: Path) -> int:
    """The side of the images in the class folders, where those looked at are squares of one size that is small enough to be trained on
    as it is; else 0."""
    sizes = set()
    for place in [folder, *_content(folder)[1]][:_PROBED]:
        for inner in [place, *_content(place)[1]][:_PROBED]:
            images = (file for file in _content(inner)[0] if file.suffix.lower() in IMAGE_SUFFIXES)
            sizes |= {QImageReader(str(file)).size().toTuple() for file in islice(images, 1)}
    if len(sizes) != 1:
        return 0
    width, height = sizes.pop()
    return int(width) if width == height and _LEAST <= width <= _SMALL else 0


def _names_images(table: Path) -> bool:
    """Whether a value in the second row of a text looks like the name of an image."""
    with table.open("rb") as stream:
        rows = stream.read(_HEAD).decode("utf-8", "replace").splitlines()[1:2]
    values = re.split(r"[,;\t]", rows[0]) if rows else []
    return any(Path(value.strip().strip('"')).suffix.lower() in IMAGE_SUFFIXES for value in values)


def _content(folder: Path) -> tuple[list[Path], list[Path]]:
    with os.scandir(folder) as entries:
        visible = [entry for entry in islice(entries, _MOST) if not entry.name.startswith(".")]
    visible.sort(key=lambda entry: entry.name)
    return (
        [Path(entry.path) for entry in visible if entry.is_file()],
        [Path(entry.path) for entry in visible if entry.is_dir()],
    )


def _has_images(folder: Path) -> bool:
    try:
        return any(file.suffix.lower() in IMAGE_SUFFIXES for file in _content(folder)[0])
    except OSError:
        return False  # a folder without permission is no class; the others may be
