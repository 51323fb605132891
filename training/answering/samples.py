"""What is given to a model, as the arrays it takes: read as the training data was read. What cannot be read is told by its name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from training.answering.model import UsableModel
from training.config.sections.data.tables import MISSING_MARKS, RankingDataset, TableSection
from training.data.images.decode import Form, outcome
from training.data.images.folder import Listing, list_tree, show_path, why_no_image
from training.data.images.masks import MaskForm
from training.data.tables.remarks import list_remarks
from training.data.tables.table_file import read_new_table, read_table
from training.errors import InputError
from training.export.usage.samples import read_rows
from training.system.untrusted import UnfitFile, escape_unprintable, read_bytes

_MOST_TEXT = 64 << 20
_HIDDEN = "hidden or system file"
Row = Mapping[str, Any]
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Sample:
    """``values`` (*shape,) is what the model takes; None where it could not be read, and ``refused`` says why, a clause. ``items``
    name the rows of a query, ``tokens`` are those of a text."""

    name: str
    values: NDArray[Any] | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    tokens: int = 0


def read_samples(model: UsableModel, given: Iterable[str]) -> Iterator[Sample]:
    """One after another of the files and folders that are ``given``, "-" being text on standard input."""
    layout = model.record.input.layout
    if layout == "image":
        return read_images(model, list_images(map(Path, given)))
    if layout == "tokens":
        return (_read_text_file(model, each) for each in given)
    return (sample for each in given for sample in read_table_file(model, Path(each)))


# ------------------------------------------------------------------------------------------------------------ images


def read_images(model: UsableModel, images: Iterable[ImageFile]) -> Iterator[Sample]:
    """``images`` as the model sees them. Raises InputError for a model of other channels than files have."""
    channels, height, width = model.record.input.shape
    if channels not in (1, 3):
        raise InputError(
            f"This model takes images of {channels} channels, which are read from no image file; use the export's own model.py."
        )
    mask = MaskForm(()) if model.kind == "mask" else None
    form = Form(height, width, channels, fit=True, mask=mask)
    return (_read_image(image, form) for image in images)


class ImageFile(NamedTuple):
    """An image to be read, and what it is called; ``refused`` says why not."""

    path: Path
    name: str
    refused: str = ""


def list_images(given: Iterable[Path]) -> Iterator[ImageFile]:
    """The images ``given``, and all in a folder; what lies there and is none comes last, with the reason."""
    for path in given:
        if path.is_dir():
            yield from _list_folder(path.absolute())
        else:
            yield ImageFile(path, show_path(str(path)))


def _list_folder(folder: Path) -> Iterator[ImageFile]:
    listing = Listing(folder.parent)
    list_tree(listing, "", folder.name)
    for path in listing.paths:
        yield ImageFile(listing.root / path, show_path(path))
    for skipped in listing.skipped:
        if skipped.reason != _HIDDEN:
            yield ImageFile(folder, skipped.path, skipped.reason)
    if not listing.paths and not listing.skipped:
        yield ImageFile(folder, show_path(str(folder)), "holds no images")


def _read_image(image: ImageFile, form: Form) -> Sample:
    path, name, why = image
    try:
        why = why or why_no_image(path.name, path.stat())
    except FileNotFoundError:
        why = "there is no such file"
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        why = f"cannot be opened: {getattr(error, 'strerror', None) or error}"
    if why:
        return Sample(name, refused=why)
    became = outcome(path, form)
    if not isinstance(became, tuple):
        return Sample(name, refused=str(became))
    return Sample(name, np.ascontiguousarray(became[0].transpose(2, 0, 1)))


# -------------------------------------------------------------------------------------------------------------- rows


def read_table_file(model: UsableModel, path: Path) -> Iterator[Sample]:
    """Each row of a CSV or Parquet file, or each of its queries."""
    section = model.config.dataset
    try:
        if isinstance(section, TableSection):
            frame = read_new_table(path, section, model.data.table)
        else:
            frame = read_table(path, MISSING_MARKS, "auto")
    except InputError as error:
        why = error.message.removeprefix("dataset.path: ").removeprefix(f"{escape_unprintable(str(path), 300)} ")
        yield Sample(show_path(str(path)), refused=why.rstrip("."))
        return
    names = [feature.name for feature in model.record.input.features]
    if not model.data.columns and not set(names) & set(frame.columns) and frame.width == len(names):
        frame.columns = names  # numbers without names are told by their places
    if model.record.input.layout == "list":
        yield from _read_queries(model, frame, path)
        return
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        yield read_row(model, row, f"{show_path(path.name)} row {number:,}")


def read_row(model: UsableModel, row: Row, name: str) -> Sample:
    """A row that gives each column's value by its name, None where it is not known."""
    try:
        values = read_rows(model.facts, [row])[0]
    except KeyError as error:
        missing = str(error.args[0]).partition("; ")[0].removeprefix("a row has no ")
        return Sample(name, refused=f"has no column {missing}")
    except ValueError as error:
        return Sample(name, refused=f"its {str(error).partition('; ')[0]}")
    stats = model.record.input.normalisation
    if stats is not None and not stats.missing and np.isnan(values).any():
        features = model.record.input.features
        gap = escape_unprintable(features[int(np.isnan(values).argmax())].name, 60)
        return Sample(name, refused=f"has nothing in '{gap}', and this model takes no missing values")
    marks = model.record.input.cells.missing if model.record.input.cells is not None else ()
    notes = tuple(remark.text for remark in list_remarks([row], model.data, marks))
    return Sample(name, values, notes=notes)


def _read_queries(model: UsableModel, frame: pl.DataFrame, path: Path) -> Iterator[Sample]:
    """The rows of each query together; without a column of queries the whole file is one."""
    section = model.config.dataset
    column = section.query_column if isinstance(section, RankingDataset) else ""
    queries: dict[str, list[tuple[int, Row]]] = {}
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        queries.setdefault(str(row.get(column, path.name)), []).append((number, row))
    for query, rows in queries.items():
        yield read_query(model, rows, f"query {escape_unprintable(query, 100)}")


def read_query(model: UsableModel, rows: Sequence[tuple[int, Row]], name: str) -> Sample:
    """The numbered items of a query, of which the model takes so many; places that none fills are as in training."""
    most = model.record.input.shape[0]
    read = [read_row(model, row, f"row {number:,}") for number, row in rows]
    refused = next((f"{sample.name} {sample.refused}" for sample in read if sample.refused), "")
    if refused:
        return Sample(name, refused=refused)
    notes = tuple(f"{sample.name}: {note}" for sample in read for note in sample.notes)
    if len(read) > most:
        notes = (f"only its first {most} rows are ranked, as in training", *notes)
    kept = read[:most]
    coded = np.array(model.data.categories or (0,) * model.record.input.shape[1]) > 0
    nothing = np.where(coded, np.float32(0.0), np.float32("nan"))
    places = [sample.values for sample in kept if sample.values is not None] + [nothing] * (most - len(kept))
    values = np.stack(places).astype(np.float32)
    return Sample(name, values, notes=notes, items=tuple(sample.name for sample in kept))


# ------------------------------------------------------------------------------------------------------------- texts


def _read_text_file(model: UsableModel, given: str) -> Sample:
    if given == STANDARD_INPUT:
        return read_text(model, sys.stdin.buffer.read(_MOST_TEXT).decode("utf-8", "replace"), "standard input")
    name = show_path(given)
    try:
        return read_text(model, read_bytes(Path(given), _MOST_TEXT).decode("utf-8-sig"), name)
    except UnicodeDecodeError:
        return Sample(name, refused="is no text in UTF-8")
    except UnfitFile as error:
        return Sample(name, refused=str(error.strerror))
    except OSError as error:
        return Sample(name, refused=f"cannot be read: {error.strerror or error}")


def read_text(model: UsableModel, text: str, name: str) -> Sample:
    """The end of ``text``, as much as the model sees at once."""
    try:
        tokens = encode_text(model, text)
    except InputError as error:
        return Sample(name, refused=error.message)
    if not len(tokens):
        return Sample(name, refused="is empty")
    return Sample(name, tokens, tokens=len(tokens))


def encode_text(model: UsableModel, text: str) -> NDArray[np.int64]:
    """Its tokens. Raises InputError, a clause, for a character that the vocabulary does not hold."""
    known = model.vocabulary
    tokens = known.encode(text).astype(np.int64)
    if known.kind == "characters" and (unknown := np.flatnonzero(tokens == 0)).size:
        raise InputError(f"the model never saw '{escape_unprintable(text[int(unknown[0])])}'; leave it out")
    return tokens
