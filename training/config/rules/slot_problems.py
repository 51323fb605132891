"""What the settings alone tell of batches that are cut into slots."""

from __future__ import annotations

from collections.abc import Iterator

from training.config.run import RunConfig
from training.errors import Problem, pluralize


def slot_problems(config: RunConfig) -> Iterator[Problem]:
    """At most one for each setting that does not go with ``loop.slots``."""
    slots, precision = config.loop.slots, config.precision
    if slots == 1:
        return
    if slots > config.loop.batch_size:
        what = f"is more than loop.batch_size, {pluralize(config.loop.batch_size, 'sample')}, so some would stay empty"
        yield Problem("loop.slots", f"{what}; lower it, or raise loop.batch_size.")
    why = "batches that are cut into slots (loop.slots) are summed up between the backward pass and the update, which one piece cannot do"
    if precision.compile == "step":
        advice = "choose Model, or off, or set loop.slots to 1."
        yield Problem("precision.compile", f"{why}; {advice}", {"precision.compile": "model"})
    if precision.cuda_graphs == "on":
        yield Problem(
            "precision.cuda_graphs", f"{why}; turn it off, or set loop.slots to 1.", {"precision.cuda_graphs": "off"}
        )
