"""A network begins with weights that somebody trained before, in place of fresh ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from training.config.sections.model import Model
from training.config.sections.pretrained import NamedWeights, StartingWeights, TimmModel
from training.downloads import ReportProgress
from training.facts import DataFacts
from training.models.matching import match_weights
from training.models.zoo.weights import IMAGENET, Weights, read_weights


@dataclass(frozen=True)
class Beginning:
    """What a network began with. ``sentence`` is for the person, ``record`` for the run's environment; ``mean`` and ``spread``
    are those its images are to be normalised by, None where by the data's own."""

    sentence: str
    record: dict[str, Any]
    mean: tuple[float, ...] | None
    spread: tuple[float, ...] | None

    @property
    def advice(self) -> str:
        """What follows for the images."""
        if self.mean is None or self.spread is None:
            return "Images are normalised by their own mean and spread."
        mean, spread = (", ".join(f"{number:.3g}" for number in numbers) for numbers in (self.mean, self.spread))
        return f"Images are normalised as these weights know them: mean {mean}; spread {spread}."


def begin(model: nn.Module, config: Model, facts: DataFacts, outputs: int, report: ReportProgress) -> Beginning | None:
    """Put the weights that ``config`` asks for into ``model``, which has fresh ones; None where it asks for none.

    Raises InputError when they are not to be had or do not fit.
    """
    weights = find_weights(config, facts, outputs, report)
    if weights is None:
        return None
    assert isinstance(config, StartingWeights)
    report("taking over the weights", None)
    other_classes = weights.classes is not None and weights.classes != facts.names
    taken = match_weights(model, weights, fresh_head=other_classes)
    mean, spread = None, None
    if config.normalise == "weights" and facts.layout == "image" and weights.mean:
        mean, spread = (_for_channels(numbers, facts.shape[0]) for numbers in (weights.mean, weights.spread))
    record = {
        "name": weights.name,
        "file": str(weights.file),
        "sha256": weights.digest,
        "taken": len(taken.taken),
        "fresh": list(taken.fresh),
    }
    return Beginning(taken.sentence(weights.name), record, mean, spread)


def find_weights(config: Model, facts: DataFacts, outputs: int, report: ReportProgress) -> Weights | None:
    """Those that ``config`` asks for; None where it asks for none. Raises InputError when they are not to be had."""
    if isinstance(config, TimmModel) and (config.pretrained or config.weights):
        from training.models.zoo.timm_zoo import timm_weights  # which is an extra

        return timm_weights(config, facts, outputs, report)
    if isinstance(config, NamedWeights) and config.pretrained:
        from training.models.zoo.torchvision_weights import named_weights

        return named_weights(config.name, config.pretrained, report)
    if isinstance(config, StartingWeights) and config.weights:
        weights = read_weights(config.weights)
        if weights.mean or not isinstance(config, NamedWeights):
            return weights
        mean, spread = IMAGENET  # nobody says otherwise, and it is what files for these networks are made with
        return Weights(weights.name, weights.file, weights.digest, weights.tensors, mean, spread)
    return None


def _for_channels(numbers: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number for each channel; their average where there are others than the weights know."""
    return numbers if len(numbers) == channels else (sum(numbers) / len(numbers),) * channels
