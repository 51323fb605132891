"""What the settings alone tell of a network that cannot be built, or not be trained that way."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from training.config.run import RunConfig
from training.config.sections.data.text import Gpt, TextDataset
from training.config.sections.data.torchvision_names import CLASSIFICATION_MODELS, SEGMENTATION_MODELS
from training.config.sections.own_file import own_file_problems
from training.config.sections.pretrained import NamedWeights, TorchvisionModel, TorchvisionSegmentation
from training.config.sections.user_file import UserFile
from training.errors import Problem
from training.system.untrusted import escape_unprintable


def model_problems(config: RunConfig) -> list[Problem]:
    """At most one for each setting that concerns the network."""
    model = config.model
    found: list[Problem] = []
    if isinstance(model, TorchvisionModel):
        found += _unknown(model.name, CLASSIFICATION_MODELS, "classification network", "resnet18")
    if isinstance(model, TorchvisionSegmentation):
        found += _unknown(model.name, SEGMENTATION_MODELS, "segmentation network", "lraspp_mobilenet_v3_large")
    if isinstance(model, NamedWeights) and model.pretrained and model.weights:
        found.append(Problem("model.weights", "published weights are chosen already; empty this or model.pretrained."))
    if isinstance(model, UserFile):
        found += own_file_problems(model, "model")
    precision = config.precision
    for name, what in (
        ("compile", "what is compiled decides by itself what to compute again"),
        ("cuda_graphs", "a recorded step cannot compute activations again"),
    ):
        if precision.activation_checkpointing and getattr(precision, name) != "off":
            advice = f"switch it off, or set precision.{name} to off."
            return [*found, Problem("precision.activation_checkpointing", f"{what}; {advice}")]
    return found


def _unknown(name: str, known: Sequence[str], what: str, usual: str) -> list[Problem]:
    if name in known:
        return []
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose another, for example {usual}."
    return [Problem("model.name", f"torchvision has no {what} {escape_unprintable(repr(name), 60)}; {hint}")]


def text_problems(config: RunConfig) -> list[Problem]:
    """At most one for a GPT's heads and one for the stride of a text."""
    dataset, model = config.dataset, config.model
    found = _head_problems(model) if isinstance(model, Gpt) else []
    if isinstance(dataset, TextDataset) and dataset.stride is not None and dataset.stride > dataset.context:
        what = f"must be at most dataset.context, {dataset.context}, or tokens between the windows would never be predicted"
        found.append(Problem("dataset.stride", f"{what}; lower it or leave it empty.", {"dataset.stride": None}))
    return found


def _head_problems(model: Gpt) -> list[Problem]:
    numbers = 2 if model.positions == "rotary" else 1
    fitting = [heads for heads in range(1, model.width + 1) if model.width % (heads * numbers) == 0]
    if model.heads in fitting:
        return []
    each = model.width // model.heads
    what = f"rotary positions turn pairs of numbers, but each head has {each} of the width's {model.width}"
    if model.width % model.heads:
        what = f"must divide the width, {model.width}, evenly"
    near = [heads for heads in fitting if heads < model.heads][-1:] + [
        heads for heads in fitting if heads > model.heads
    ][:1]
    advice = " or ".join(map(str, near)) if near else "an even width"
    return [Problem("model.heads", f"{what}; choose {advice}.", {"model.heads": near[0]} if near else {})]
