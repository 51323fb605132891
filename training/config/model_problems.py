"""What the settings alone tell of a network that cannot be built, or not be trained that way."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.config.torchvision_names import CLASSIFICATION_MODELS, SEGMENTATION_MODELS
from training.config.user_file import UserFile, user_file_problems
from training.config.zoo import NamedWeights, TorchvisionModel, TorchvisionSegmentation
from training.errors import Problem
from training.reading import visible

if TYPE_CHECKING:
    from training.config.run import RunConfig


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
        found += user_file_problems(model)
    precision = config.precision
    if precision.activation_checkpointing and precision.compile != "off":
        advice = "switch it off, or set precision.compile to off."
        what = "what is compiled decides by itself what to compute again"
        found.append(Problem("precision.activation_checkpointing", f"{what}; {advice}"))
    elif precision.activation_checkpointing and precision.cuda_graphs != "off":
        what = "a recorded step cannot compute activations again"
        advice = "switch it off, or set precision.cuda_graphs to off."
        found.append(Problem("precision.activation_checkpointing", f"{what}; {advice}"))
    return found


def _unknown(name: str, known: Sequence[str], what: str, usual: str) -> list[Problem]:
    if name in known:
        return []
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose another, for example {usual}."
    return [Problem("model.name", f"torchvision has no {what} {visible(repr(name), 60)}; {hint}")]
