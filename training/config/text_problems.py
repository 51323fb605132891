"""What the settings alone tell of text and of a GPT that cannot work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from training.config.text import Gpt, TextDataset
from training.errors import Problem

if TYPE_CHECKING:
    from training.config.run import RunConfig


def text_problems(config: RunConfig) -> list[Problem]:
    """At most one for the heads and one for the stride."""
    dataset, model = config.dataset, config.model
    found: list[Problem] = []
    if isinstance(model, Gpt):
        fitting = _fitting_heads(model)
        if model.heads not in fitting:
            if model.width % model.heads:
                what = f"must divide the width, {model.width}, evenly"
            else:
                what = f"rotary positions turn pairs of numbers, but each head has {model.width // model.heads} of the width's {model.width}"
            near = _near(model.heads, fitting)
            advice = " or ".join(map(str, near)) if near else "an even width"
            found.append(Problem("model.heads", f"{what}; choose {advice}.", {"model.heads": near[0]} if near else {}))
    if isinstance(dataset, TextDataset) and dataset.stride is not None and dataset.stride > dataset.context:
        found.append(
            Problem(
                "dataset.stride",
                f"must be at most dataset.context, {dataset.context}, or tokens between the windows would never be "
                "predicted; lower it or leave it empty.",
                {"dataset.stride": None},
            )
        )
    return found


def _fitting_heads(model: Gpt) -> list[int]:
    """Every number of heads that the width can be divided by."""
    numbers = 2 if model.positions == "rotary" else 1
    return [heads for heads in range(1, model.width + 1) if model.width % (heads * numbers) == 0]


def _near(heads: int, fitting: list[int]) -> list[int]:
    """The next fewer and the next more, as far as there are such."""
    fewer, more = [each for each in fitting if each < heads], [each for each in fitting if each > heads]
    return fewer[-1:] + more[:1]
