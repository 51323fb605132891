"""``image_table``: images, and a table that says of each what there is to learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Self

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.images import ImageTableDataset
from training.config.sections.data.tables import MISSING_MARKS
from training.core.readers.table_reading import group_numbers
from training.data.class_choice import choose_classes, require_class_target
from training.data.images.folder import Listing, image_suffixes, look_up
from training.data.images.images import Images, Opened, choose_form, digest_labels, open_images
from training.data.moments import Moments
from training.data.source import Opening
from training.data.tables.columns import (
    dense_codes,
    number_rows,
    predicts_last,
    read_parts,
    require_numbers,
    target_kind,
)
from training.data.tables.table_file import read_table, require_columns, sort_of
from training.data.tables.targets import require_trained_classes
from training.data.tables.tasks import Classes, read_tasks, require_trained_tasks
from training.data.tables.time_column import order_rows
from training.errors import InputError
from training.facts import Target
from training.system.untrusted import escape_unprintable

_LIKELY = ("file", "filename", "file_name", "image", "image_path", "path", "picture", "img")
_LOOKED_AT = 200
_ADVICE = "Look at the column of the files (dataset.file_column) and at the folder of the images (dataset.images)."


@dataclass(frozen=True)
class Labels:
    """What the table says of each of its rows that can be used: ``targets`` for ``target``, whose names are ``names``."""

    target: Target
    names: tuple[str, ...]
    targets: Tensor
    groups: Tensor | None
    moments: Moments | None = None
    classes: Classes = ()
    """Of each of several tasks."""


class ImageTable(Images):
    """Images whose classes, labels or values stand in a table."""

    def __init__(self, opened: Opened, labels: Labels) -> None:
        good = torch.from_numpy(opened.good)
        targets = labels.targets[good]
        known = labels.names + tuple(name for classes in labels.classes for name in classes)
        super().__init__(opened, labels.names, targets, digest_labels(opened, targets, labels.target, known))
        self.target, self.target_classes = labels.target, labels.classes
        self.groups = None if labels.groups is None else labels.groups[good]
        self.moments = None if labels.moments is None else labels.moments.select(good)

    def fit(self, train: Tensor) -> Self:
        if self.target == "class":
            require_trained_classes(self.classes, self.targets, train)
        if self.target == "tasks":
            require_trained_tasks(self, train)
        if self.target == "labels":  # which labels there are is learned from the samples that train
            kept = self.targets[train].any(0)
            if not kept.any():
                raise InputError("dataset.targets: no training sample has any label.", "Choose other columns.")
            self.classes = tuple(name for name, keep in zip(self.classes, kept.tolist(), strict=True) if keep)
            self.targets = self.targets[:, kept]
        return self


def open_image_table(dataset: ImageTableDataset, opening: Opening) -> ImageTable:
    path = Path(dataset.path)
    opening.report_progress(f"reading {path.name}", None)
    frame = read_table(path, MISSING_MARKS, "auto")
    file_column, targets = find_image_roles(frame, dataset)
    listing, rows = _list(frame, file_column, targets, dataset)
    if not listing.paths:
        raise InputError(
            f"{escape_unprintable(str(path), 300)} names no image that is there{listing.first_skipped}.", _ADVICE
        )
    frame = frame[rows]
    labels = _labels(frame, rows, targets, dataset)
    require_class_target(dataset, labels.target)
    choice = None
    if labels.target == "class" and "train" in (parts := listing.parts()):
        choice = choose_classes(dataset, labels.names, labels.targets, parts)
    if choice is not None:
        listing = listing.narrow(choice.samples.tolist(), choice.note)
        frame, rows = frame[choice.samples.numpy()], rows[choice.samples.numpy()]
        groups = None if labels.groups is None else labels.groups[choice.samples]
        labels = replace(labels, names=choice.names, targets=choice.targets, groups=groups)
    if dataset.time_column:
        labels = replace(labels, moments=order_rows(frame.get_column(dataset.time_column), torch.from_numpy(rows)))
    if not dataset.targets:
        listing.notes.append(predicts_last(targets[0]))
    opened = open_images(listing, choose_form(listing, dataset.image_size, dataset.color), opening)
    if "train" not in opened.parts:
        raise InputError(f"{escape_unprintable(str(path), 300)}: no image to train on can be read.", _ADVICE)
    source = ImageTable(opened, labels)
    if choice is not None:
        source.class_choices = choice.choices
    return source


def find_image_roles(frame: pl.DataFrame, dataset: ImageTableDataset) -> tuple[str, tuple[str, ...]]:
    """The column of the files and those to predict. Raises InputError for columns that are not there."""
    for setting, name in (
        ("file_column", dataset.file_column),
        ("split_column", dataset.split_column),
        ("group_column", dataset.group_column),
        ("time_column", dataset.time_column),
    ):
        require_columns(setting, [name] if name else [], frame.columns)
    require_columns("targets", dataset.targets, frame.columns)
    file_column = dataset.file_column or _file_column(frame)
    taken = {file_column, dataset.split_column, dataset.group_column, dataset.time_column}
    targets = dataset.targets or tuple(name for name in frame.columns if name not in taken)[-1:]
    if not targets:
        raise InputError("dataset.targets: the table has no column to predict.", "Add one, or choose another table.")
    return file_column, targets


def _file_column(frame: pl.DataFrame) -> str:
    """The column whose texts end like image files; else the one that is called so."""
    for name in frame.columns:
        column = frame.get_column(name)
        if sort_of(column) == "string":
            some = [str(text).lower() for text in column.drop_nulls().head(_LOOKED_AT).to_list()]
            if 2 * sum(PurePosixPath(text).suffix in image_suffixes() for text in some) > len(some):
                return name
    likely = next((name for name in frame.columns if name.lower() in _LIKELY), None)
    if likely is None:
        raise InputError(
            "dataset.file_column: no column of the table holds names of images.", "Name the column that does."
        )
    return likely


def _list(
    frame: pl.DataFrame, file_column: str, targets: tuple[str, ...], dataset: ImageTableDataset
) -> tuple[Listing, NDArray[np.int64]]:
    """The images of the table's rows in their order, and the rows (from 0) of those that are there."""
    listing = Listing(Path(dataset.images) if dataset.images else Path(dataset.path).parent)
    parts = ["train"] * frame.height
    if dataset.split_column:
        for part, members in read_parts(frame.get_column(dataset.split_column)).items():
            for row in members.tolist():
                parts[row] = part
    listing.groups = [(part, "") for part in dict.fromkeys(parts)]
    numbers = {part: number for number, (part, _) in enumerate(listing.groups)}
    # An empty cell of a column of labels says that there are none.
    gaps = (
        []
        if dataset.label_separator != "none"
        else [(name, frame.get_column(name).is_null().to_list()) for name in targets]
    )
    rows: list[int] = []
    seen: dict[PurePosixPath, int] = {}
    for row, cell in enumerate(frame.get_column(file_column).to_list()):
        name = "" if cell is None else f"{cell}{dataset.file_ending}".replace("\\", "/")
        reason = next(
            (f"has no value in column '{escape_unprintable(of, 60)}'" for of, empty in gaps if empty[row]), ""
        )
        if not name:
            reason = "names no file"
        elif (file := PurePosixPath(name)) in seen:  # a.png is ./a.png, too
            reason = f"the same file as in row {seen[file] + 1:,}"
        status = None
        if not reason:
            reason, status = look_up(listing.root, name)
        if reason or status is None:
            listing.skip(name or "the table", f"row {row + 1:,}: {reason}")
            continue
        seen[PurePosixPath(name)] = row
        listing.add(name, status, numbers[parts[row]])
        rows.append(row)
    return listing, np.array(rows, dtype=np.int64)


def _labels(frame: pl.DataFrame, rows: NDArray[np.int64], names: tuple[str, ...], dataset: ImageTableDataset) -> Labels:
    groups = group_numbers(frame.get_column(dataset.group_column)) if dataset.group_column else None
    if dataset.label_separator != "none":
        if len(names) > 1:
            raise InputError("dataset.label_separator: several labels in one cell need one target column.", "Name one.")
        between = {"space": None}.get(dataset.label_separator, dataset.label_separator)
        cells = frame.get_column(names[0]).cast(pl.String).fill_null("").to_list()
        found = [{label.strip() for label in cell.split(between)} - {""} for cell in cells]
        known = tuple(sorted(set().union(*found)))
        places = {label: place for place, label in enumerate(known)}
        targets = torch.zeros(len(found), len(known))
        for row, labels in enumerate(found):
            targets[row, [places[label] for label in labels]] = 1.0
        return Labels("labels", tuple(known), targets, groups)
    if dataset.task == "tasks":
        classes, targets = read_tasks(frame, names, dataset.numeric_targets, rows)
        return Labels("tasks", names, targets, groups, classes=classes)
    target = target_kind(frame, names, dataset.task, rows)
    if target == "class":
        codes, known = dense_codes(frame.get_column(names[0]))
        return Labels(target, known, codes - 1, groups)
    require_numbers(frame, names, rows)
    return Labels(target, names, number_rows(frame, names), groups)
