"""Read a model's scores: needs numpy alone."""

from typing import Any

import numpy as np


def answers(facts: dict[str, Any], scores: Any) -> list[Any]:
    """What the scores of some samples say, one entry for each sample, by ``facts["output"]["kind"]``:

    "class": the likeliest class and its probability. "labels": the probability of each label, by its name;
    from ``facts["output"]["threshold"]`` on the sample carries it. "values": each
    value by its name. "mask": the class number of each pixel, an array. "tokens": the likeliest token to come next and its
    probability. "ranks": the numbers of the items, best first.
    """
    output, names = facts["output"], facts["classes"]
    kind, scores = output["kind"], np.asarray(scores)
    if kind == "mask":
        return list(scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(np.int64))
    if kind == "values":
        return [dict(zip(names, row.tolist(), strict=True)) for row in scores]
    if kind == "ranks":
        return [np.argsort(-row, kind="stable").tolist() for row in scores.reshape(len(scores), -1)]
    if output["probabilities"] == "sigmoid":
        chances = 1 / (1 + np.exp(-scores))
        if kind == "labels":
            return [dict(zip(names, row.tolist(), strict=True)) for row in chances]
        yes = chances[:, 0] >= output["threshold"]  # one score, for the second of two classes
        return [
            (names[int(is_yes)], float(chance if is_yes else 1 - chance))
            for is_yes, chance in zip(yes, chances[:, 0], strict=True)
        ]
    scores = scores[:, -1] if kind == "tokens" else scores
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = weights / weights.sum(axis=1, keepdims=True)
    return [(names[row.argmax()], float(row.max())) for row in chances]
