"""Read samples as the training data was read, and a model's scores: needs NumPy, and Pillow for images."""

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
from training.core.readers.image_reading import decode_image, flatten_image
from training.export.usage.facts import Cells, Feature, ModelFacts, TaskOutput


def load_facts() -> ModelFacts:
    """What model.json says."""
    facts: ModelFacts = json.loads(Path(__file__).with_name("model.json").read_text(encoding="utf-8"))
    return facts


def read_image(facts: ModelFacts, path: str) -> Any:
    """uint8 (1, channels, height, width): upright, on white, scaled and center-cropped to the model's size."""
    channels, height, width = facts["input"]["shape"]
    with Image.open(path) as image:
        if facts["output"]["kind"] != "mask":
            pixels = decode_image(image, height, width, channels)
        else:  # beside a mask an image is never decoded at a fraction of its size
            fitted = ImageOps.fit(flatten_image(image, channels), (width, height), Image.Resampling.BILINEAR)
            pixels = np.array(fitted).reshape(height, width, channels)
    return pixels.transpose(2, 0, 1)[np.newaxis]


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


def answers(facts: ModelFacts, scores: Any) -> list[Any]:
    """What the scores of some samples say, one entry for each sample, by ``facts["output"]["kind"]``:

    "class": the likeliest class and its probability. "labels": the probability of each label, by its name;
    from ``facts["output"]["threshold"]`` on the sample carries it. "values": each
    value by its name. "mask": the class number of each pixel, an array. "tokens": the likeliest token to come next and its
    probability. "ranks": the numbers of the items, best first. "tasks": for each target by
    its name its value, or its likeliest class and that one's probability. "embedding": the numbers of its embedding; ``distance``
    compares two.
    """
    output, names = facts["output"], facts["classes"]
    kind, scores = output["kind"], np.asarray(scores)
    if kind == "embedding":
        return scores.tolist()
    if kind == "mask":
        return list(scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(np.int64))
    if kind == "tasks":
        return [{task["name"]: answer_task(task, row) for task in output["tasks"]} for row in scores]
    if kind == "ranks":
        return [np.argsort(-row, kind="stable").tolist() for row in scores.reshape(len(scores), -1)]
    scores = calibrate(facts, scores)
    if output["probabilities"] == "sigmoid":
        scores = 1 / (1 + np.exp(-scores))
    if kind in ("values", "labels"):
        return [dict(zip(names, row.tolist(), strict=True)) for row in scores]
    if output["probabilities"] == "sigmoid":  # one score, for the second of two classes
        yes = [(float(chance), bool(chance >= output["threshold"])) for chance in scores[:, 0]]
        return [(names[is_yes], chance if is_yes else 1 - chance) for chance, is_yes in yes]
    chances = softmax(scores[:, -1] if kind == "tokens" else scores)
    return [(names[row.argmax()], float(row.max())) for row in chances]


def calibrate(facts: ModelFacts, scores: Any) -> Any:
    """The scores divided by the temperature, where the export has one."""
    temperature = facts["output"].get("temperature")
    return scores if temperature is None else scores / temperature


def softmax(scores: Any) -> Any:
    """The probabilities of scores (n, classes)."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def answer_task(task: TaskOutput, row: Any) -> Any:
    """What the scores of a sample say of one of several targets."""
    scores, classes = row[task["first"] : task["last"]], task["classes"]
    if not classes:
        return float(scores[0])
    if len(classes) == 2:
        chance = float(1 / (1 + np.exp(-scores[0])))
        return (classes[1], chance) if chance >= 0.5 else (classes[0], 1 - chance)
    chances = softmax(scores[np.newaxis])[0]
    return classes[int(chances.argmax())], float(chances.max())


def distance(one: Iterable[float], other: Iterable[float]) -> float:
    """How far two embeddings are apart: 0 is the same place. Where they have length 1, it is at most 2, and their cosine
    similarity is 1 - distance² / 2."""
    return float(np.linalg.norm(np.subtract(list(one), list(other))))
