"""Read samples as the training data was read: needs NumPy, and Pillow for images."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from training.core.readers.cell_reading import (
    find_category,
    hash_text,
    is_missing,
    moment_part,
    parse_moment,
    parse_number,
    write_text,
)
from training.core.readers.image_pixels import decode_image, flatten_image
from training.export.usage.facts import Cells, Feature, ModelFacts


def load_facts() -> ModelFacts:
    """What model.json says."""
    facts: ModelFacts = json.loads(Path(__file__).with_name("model.json").read_text(encoding="utf-8"))
    return facts


def read_image(facts: ModelFacts, path: Any) -> Any:
    """uint8 (1, height, width, channels) of an image file, given by its path or open: upright, on white, scaled and center-cropped to
    the model's size."""
    return read_pixels(facts, path)[np.newaxis]


def read_pixels(facts: ModelFacts, path: Any) -> Any:
    """The same, uint8 (height, width, channels)."""
    channels, height, width = facts["input"]["shape"]
    with Image.open(path) as image:
        if facts["output"]["kind"] != "mask":
            return decode_image(image, height, width, channels)
        # beside a mask an image is never decoded at a fraction of its size
        fitted = ImageOps.fit(flatten_image(image, channels), (width, height), Image.Resampling.BILINEAR)
        return np.array(fitted).reshape(height, width, channels)


def read_rows(facts: ModelFacts, rows: Iterable[Mapping[str, Any]]) -> Any:
    """float32 (n, features) of rows that give each column of the table by its name, as a number or a date or as the text that stands
    in a file; None where it is not known. A number or a date that is not known becomes NaN, a category that training did not see 0:
    the model takes both. Parts of dates, hashes of texts and what marks gaps follow by themselves. Raises KeyError for a row without
    one of the columns, ValueError for text where a number belongs."""
    features, cells = facts["input"]["features"], facts["input"].get("cells") or PLAIN_CELLS
    return np.array([read_row(features, cells, row) for row in rows], np.float32)


PLAIN_CELLS: Cells = {"missing": [], "thousands": "", "decimal": "."}


def read_row(features: list[Feature], cells: Cells, row: Mapping[str, Any]) -> list[float]:
    """The features of a row, as ``read_rows`` says."""
    values: dict[str, float] = {}
    for feature in features:
        marked = feature["marks"]
        values[feature["name"]] = (
            read_cell(feature, cells, row) if marked is None else float(math.isnan(values[marked]))
        )
    return list(values.values())


def read_cell(feature: Feature, cells: Cells, row: Mapping[str, Any]) -> float:
    """A feature of a row that marks no gaps."""
    derived = feature.get("derived")
    name = derived["column"] if derived else feature["name"]
    if name not in row:
        raise KeyError(f"a row has no {name!r}; give None where it is not known")
    given = None if is_missing(row[name], cells["missing"]) else row[name]
    if derived and derived["part"] == "hash":
        return 0.0 if given is None else float(hash_text(write_text(given), derived["buckets"]))
    if derived:
        return math.nan if given is None else moment_part(parse_moment(given, derived["form"]), derived["part"])
    if feature["categories"] is not None:
        return 0.0 if given is None else float(find_category(given, feature["categories"]))
    return math.nan if given is None else read_number(name, given, cells)


def read_number(name: str, given: Any, cells: Cells) -> float:
    """The number that ``given`` is or says."""
    number = parse_number(given, cells["thousands"], cells["decimal"])
    if number is None:
        raise ValueError(f"{name!r} is {given!r}, which is no number; give None where it is not known")
    return number
