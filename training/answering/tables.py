"""Answers as a table: a row for each sample, or for each item of a query."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from training.errors import InputError
from training.protocol.model_answers import ModelAnswer, SavedAnswers
from training.system.atomic import write_bytes
from training.system.untrusted import escape_unprintable

SUFFIXES = (".csv", ".parquet", ".json")
_AT_ONCE = 1024
"""Answers that are held before they become columns, which take less memory."""


def refuse_table(path: Path, asked: Iterable[str | Path]) -> None:
    """Raise InputError for a name that says no format, for a folder that is not there, and for a file that is ``asked`` about."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--to {path}: must end in .csv, .parquet or .json.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--to {path}: there is no folder {path.absolute().parent}; make it first.")
    if path.exists() and any(Path(each).exists() and path.samefile(each) for each in asked):
        raise InputError(f"--to {path}: is what is asked about and would be lost; choose another name.")


def write_table(path: Path, answers: Iterable[ModelAnswer]) -> SavedAnswers:
    """Write ``answers`` as they come to a file that ends in one of ``SUFFIXES``, whole or not at all; not at all, too, where none could
    be answered. Raises InputError."""
    parts, answered, samples, coming = [], 0, 0, iter(answers)
    while some := list(islice(coming, _AT_ONCE)):
        samples += len(some)
        answered += sum(not answer.refused for answer in some)
        parts.append(_make_frame([row for answer in some for row in _rows_of(answer)]))
    if answered:
        _write(path, pl.concat(parts, how="diagonal_relaxed"))
    return SavedAnswers(answered=answered, samples=samples)


def _make_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    columns = {name: None for row in rows for name in row}
    return pl.DataFrame([{**columns, **row} for row in rows], infer_schema_length=None)


def _write(path: Path, frame: pl.DataFrame) -> None:
    kind = path.suffix.lower()
    try:
        if kind == ".csv":
            write_bytes(path, frame.write_csv().encode())
        elif kind == ".json":
            write_bytes(path, frame.write_json().encode())
        else:
            frame.write_parquet(path)
    except OSError as error:
        raise InputError(
            f"--to {path}: cannot be written ({error.strerror or error}); choose another place."
        ) from error


def save_mask(folder: Path, answer: ModelAnswer) -> None:
    """The mask of ``answer`` as a PNG of class numbers, called as its image is; one of that name is not overwritten. Raises
    InputError."""
    mask = answer.mask
    assert mask is not None, "of a model that answers masks"
    stem, number = Path(answer.name).stem, 1
    path = folder / f"{stem}.png"
    while path.exists():
        number += 1
        path = folder / f"{stem} {number}.png"
    try:
        Image.frombytes("L", (mask.width, mask.height), base64.b64decode(mask.classes_base64)).save(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); choose another folder.") from error


def _rows_of(answer: ModelAnswer) -> list[dict[str, Any]]:
    first: dict[str, Any] = {"sample": answer.name}
    if answer.ranking:
        return [
            first | {"rank": rank, "item": item.name, "score": item.score}
            for rank, item in enumerate(answer.ranking, 1)
        ]
    row = first
    if answer.prediction:
        row |= {"prediction": "; ".join(answer.prediction)}
    if answer.chances:
        row |= {"probability": answer.chances[0].probability}
        row |= {f"p({each.name})": each.probability for each in sorted(answer.chances, key=lambda each: each.name)}
    for name, chances in answer.chances_of:
        row |= {name: chances[0].name, f"{name} probability": chances[0].probability}
    row |= {value.name: value.value for value in answer.values}
    if answer.mask is not None:
        row |= {
            f"share({each.name})": each.probability for each in sorted(answer.mask.shares, key=lambda each: each.name)
        }
    row |= {f"e{number}": value for number, value in enumerate(answer.embedding)}
    if answer.perplexity is not None:
        row |= {"perplexity": answer.perplexity}
    if answer.refused or answer.notes:
        row |= {"note": escape_unprintable("; ".join(filter(None, (answer.refused, *answer.notes))), 1000)}
    return [row]
