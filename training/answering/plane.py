"""The decision boundary of a model that takes two numbers, over any part of the plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.answering.model import UsableModel
from training.errors import InputError
from training.export.usage.samples import calibrate, softmax
from training.runs.boundary.frames import GRID, grid_centers


def decide_plane(
    model: UsableModel, x: tuple[float, float], y: tuple[float, float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The class (GRID, GRID) of each place, rows upward, and its probability. Raises InputError for a model of other inputs."""
    record = model.record
    if record.input.layout != "vector" or record.input.shape != (2,) or record.output.kind != "class":
        raise InputError(f"{model.path}: takes no points in the plane; choose another model.")
    across, up = np.meshgrid(grid_centers(*x), grid_centers(*y))
    scores = model.logits(np.stack([across.ravel(), up.ravel()], axis=1).astype(np.float32)).astype(np.float64)
    scores = calibrate(model.facts, scores)
    if record.output.probabilities == "sigmoid":
        second = 1 / (1 + np.exp(-scores[:, 0]))
        classes = (second >= (record.output.threshold or 0.5)).astype(np.int64)
        certainty = np.where(classes == 1, second, 1 - second)
    else:
        chances = softmax(scores)
        classes, certainty = chances.argmax(axis=1), chances.max(axis=1)
    return classes.reshape(GRID, GRID), np.nan_to_num(certainty).reshape(GRID, GRID)
