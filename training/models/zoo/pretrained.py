"""A network begins with weights that somebody trained before, in place of fresh ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from training.config.sections.model import Model
from training.config.sections.pretrained import NamedWeights, StartingWeights, TimmModel
from training.downloads import ReportProgress
from training.environment import InitialWeights
from training.facts import DataFacts
from training.models.matching import match_weights
from training.models.zoo.weights import IMAGENET, Weights, read_weights


@dataclass(frozen=True)
class Pretrained:
    """What a network began with. ``sentence`` is for the person; by ``normalization``, mean and std of each channel, its images
    are to be normalized, None where by the data's own."""

    sentence: str
    record: InitialWeights
    normalization: tuple[tuple[float, ...], tuple[float, ...]] | None

    @property
    def advice(self) -> str:
        """What follows for the images."""
        if self.normalization is None:
            return "Images are normalized by their own mean and std."
        mean, std = (", ".join(f"{number:.3g}" for number in numbers) for numbers in self.normalization)
        return f"Images are normalized as these weights know them: mean {mean}; std {std}."


def load_pretrained(
    model: nn.Module, config: Model, facts: DataFacts, outputs: int, report: ReportProgress
) -> Pretrained | None:
    """Put the weights that ``config`` asks for into ``model``, which has fresh ones; None where it asks for none.

    Raises InputError when they are not to be had or do not fit.
    """
    weights = find_weights(config, facts, outputs, report)
    if weights is None:
        return None
    assert isinstance(config, StartingWeights)
    report("taking over the weights", None)
    taken = match_weights(model, weights, fresh_head=weights.classes not in (None, facts.names))
    normalization = None
    if config.normalise == "weights" and facts.layout == "image" and weights.mean:
        channels = facts.shape[0]
        normalization = _for_channels(weights.mean, channels), _for_channels(weights.std, channels)
    record = InitialWeights(
        name=weights.name,
        file=str(weights.file),
        sha256=weights.digest,
        taken=len(taken.taken),
        fresh=tuple(taken.fresh),
    )
    return Pretrained(taken.sentence(weights.name), record, normalization)


def find_weights(config: Model, facts: DataFacts, outputs: int, report: ReportProgress) -> Weights | None:
    """Those that ``config`` asks for; None where it asks for none. Raises InputError when they are not to be had."""
    if isinstance(config, TimmModel) and (config.pretrained or config.weights):
        from training.models.zoo.timm_zoo import find_timm_weights  # which is an extra

        return find_timm_weights(config, facts, outputs, report)
    if isinstance(config, NamedWeights) and config.pretrained:
        from training.models.zoo.torchvision_weights import find_named_weights

        return find_named_weights(config.name, config.pretrained, report)
    if isinstance(config, StartingWeights) and config.weights:
        weights = read_weights(config.weights)
        if weights.mean or not isinstance(config, NamedWeights):
            return weights
        mean, std = IMAGENET  # nobody says otherwise, and it is what files for these networks are made with
        return replace(weights, mean=mean, std=std)
    return None


def _for_channels(numbers: tuple[float, ...], channels: int) -> tuple[float, ...]:
    """One number for each channel; their average where there are others than the weights know."""
    return numbers if len(numbers) == channels else (sum(numbers) / len(numbers),) * channels
