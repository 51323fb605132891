"""What is given to a model, as the arrays it takes: read as the training data was read. What cannot be read is told by its name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.answering.given import Given, Sample, join_given
from training.answering.model import UsableModel
from training.answering.rows import open_table
from training.data.images.decode import Form, outcome
from training.data.images.folder import Listing, list_tree, show_path, why_no_image
from training.data.images.masks import MaskForm
from training.errors import InputError, list_first
from training.system.untrusted import UnfitFile, escape_unprintable, read_bytes

_MOST_TEXT = 64 << 20
_NAMED = 10
"""How many characters are named that the vocabulary does not hold."""
_HIDDEN = "hidden or system file"
STANDARD_INPUT = "-"
_STANDARD_INPUT = "standard input"


def read_samples(model: UsableModel, given: Iterable[str]) -> Iterator[Sample]:
    """One after another of the files and folders that are ``given``, "-" being text, or a table, on standard input."""
    layout = model.record.input.layout
    if layout == "image":
        return read_images(model, list_images(map(Path, given)))
    if layout == "tokens":
        return (_read_text_file(model, each) for each in given)
    return (sample for each in given for sample in _open_rows(model, each).read_all())


def _open_rows(model: UsableModel, given: str) -> Given:
    if given != STANDARD_INPUT:
        return open_table(model, Path(given))
    with TemporaryDirectory() as folder:  # a table is looked at more than once
        kept = Path(folder) / _STANDARD_INPUT
        kept.write_bytes(sys.stdin.buffer.read(_MOST_TEXT))
        return open_table(model, kept, _STANDARD_INPUT)


def open_files(model: UsableModel, files: Sequence[Path]) -> Given:
    """The samples in files and folders, to be read in any order: folders are listed and tables read now."""
    layout = model.record.input.layout
    if layout == "image":
        listed = list(list_images(files))
        return Given(len(listed), lambda first, last: read_images(model, listed[first:last]))
    if layout == "tokens":
        return Given(len(files), lambda first, last: (_read_text_file(model, str(each)) for each in files[first:last]))
    return join_given([open_table(model, each) for each in files])


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
            piped = str(path) == STANDARD_INPUT and not path.exists()
            yield ImageFile(
                path, show_path(str(path)), "no image is read from standard input; name its file" if piped else ""
            )


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


# ------------------------------------------------------------------------------------------------------------- texts


def _read_text_file(model: UsableModel, given: str) -> Sample:
    if given == STANDARD_INPUT:
        return read_text(model, sys.stdin.buffer.read(_MOST_TEXT).decode("utf-8", "replace"), _STANDARD_INPUT)
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
    """Its tokens. Raises InputError, a clause, for characters that the vocabulary does not hold."""
    known = model.vocabulary
    tokens = known.encode(text).astype(np.int64)
    if known.kind == "characters" and (unknown := np.flatnonzero(tokens == 0)).size:
        each = list(dict.fromkeys(text[place] for place in unknown.tolist()))
        named = list_first([f"'{escape_unprintable(character)}'" for character in each[:_NAMED]], len(each))
        raise InputError(f"the model never saw {named}; leave {'it' if len(each) == 1 else 'them'} out")
    return tokens
