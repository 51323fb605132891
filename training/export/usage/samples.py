"""What a model's scores say of samples: needs NumPy."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from training.export.usage.facts import ModelFacts, TaskOutput
from training.export.usage.preprocess import read_pixels


def read_image(facts: ModelFacts, path: Any) -> Any:
    """uint8 (1, channels, height, width) of an image file: upright, on white, scaled and center-cropped to the model's size."""
    return read_pixels(facts, path).transpose(2, 0, 1)[np.newaxis]


def answers(facts: ModelFacts, scores: Any) -> list[Any]:
    """What the scores of some samples say, one entry for each sample, by ``facts["output"]["kind"]``:

    "class": the likeliest class and its probability. "labels": the probability of each label, by its name;
    from ``facts["output"]["threshold"]`` on the sample carries it (or that of ``thresholds``, where each has its own). "values": each
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
