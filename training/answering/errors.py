"""How far the numbers that a model predicts usually are from the truth, as far as it was measured."""

from __future__ import annotations

from typing import NamedTuple

from training.answering.model import UsableModel

_METRICS = {"rmse": "root-mean-square error", "mae": "mean absolute error"}
"""Those in the unit of the value, the one that is taken first."""


class UsualErrors(NamedTuple):
    """The error of each value by its name, and what it is: which measure, on what, at which step; "" where nothing tells."""

    by_name: dict[str, float]
    words: str


def usual_errors(model: UsableModel) -> UsualErrors:
    """Of the validation before the checkpoint. Of several values that are measured together, none."""
    source, found, words = model.record.source, {}, ""
    names = _value_names(model)
    for name in names:
        metrics = [f"val/{name}/{metric}" for metric in _METRICS] + [
            f"val/{metric}" for metric in _METRICS if len(names) == 1
        ]
        metric = next((metric for metric in metrics if metric in source.metrics), None)
        if metric is not None:
            found[name] = source.metrics[metric]
            what = _METRICS[metric.rpartition("/")[2]]
            words = f"± is the {what} of the validation samples at step {source.step:,}"
    return UsualErrors(found, words)


def _value_names(model: UsableModel) -> list[str]:
    output = model.record.output
    if output.kind == "values":
        return list(model.record.classes)
    return [task.name for task in output.tasks if not task.classes]
