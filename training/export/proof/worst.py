"""The samples that a checkpoint does worst on: by the losses of its evaluation, else by those of some samples that are asked here."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.objective import Classification, Distillation, OwnLoss
from training.config.sections.objective import Objective as ObjectiveConfig
from training.core.losses import pixel_classes
from training.errors import InputError
from training.export.bundle import ExportBundle
from training.export.proof.data import TOGETHER, RealData, as_network_takes, pick_numbers
from training.objectives import make_objective
from training.objectives.columns import Columns
from training.predictions import list_evaluations

_SEARCHED = 1024
"""Samples among which they are looked for where the checkpoint was not evaluated."""
_SEARCHED_BYTES = 1 << 27
"""Of large samples there are fewer, for a network takes its time for each."""
_LEAST = 64
Losses = NDArray[np.float64]


class Worst(NamedTuple):
    """Their numbers, and among how many and by what they were found, as a clause."""

    numbers: list[int]
    chosen: str


NO_WORST = Worst([], "")


def find_worst(bundle: ExportBundle, data: RealData, part: str, count: int) -> Worst:
    """The ``count`` samples of the part with the largest losses."""
    for evaluation in list_evaluations(bundle.run):
        record = evaluation.record
        if record.step == bundle.manifest.step and record.on == part:
            with suppress(InputError):
                losses = np.asarray(evaluation.column("loss"), np.float64)
                numbers = np.asarray(evaluation.column("index"))
                found = [number for number in _pick(losses, numbers, count) if number < len(data.source.targets)]
                if found:  # embeddings have no losses of their own
                    return Worst(found, f"of the {len(losses):,} evaluated, by loss")
    return _search(bundle, data, part, count)


def _pick(losses: Losses, numbers: NDArray[np.int64], count: int) -> list[int]:
    """The numbers of the samples with the largest losses; none whose loss is NaN."""
    known = np.flatnonzero(~np.isnan(losses))
    return [int(each) for each in numbers[known[np.argsort(-losses[known], kind="stable")[:count]]]]


def _search(bundle: ExportBundle, data: RealData, part: str, count: int) -> Worst:
    size = max(1, math.prod(bundle.facts.shape) * (1 if bundle.facts.layout == "image" else 4))
    numbers = pick_numbers(data, part, min(_SEARCHED, max(_LEAST, _SEARCHED_BYTES // size)))
    config = bundle.config.objective
    if isinstance(config, Distillation):  # whose teacher need not be there any more
        losses, by = _ask(bundle, data, numbers, _measure(bundle, Classification())), "cross-entropy"
    elif bundle.objective.is_embedding:
        losses, by = _measure_places(bundle, data, numbers), "how much nearer another class is than their own"
    else:
        losses, by = _ask(bundle, data, numbers, _measure(bundle, config)), "loss"
    if isinstance(config, OwnLoss) and np.isnan(losses).all():  # it takes no sample alone
        losses, by = _ask(bundle, data, numbers, _measure(bundle, config.measured)), f"the loss of a {config.task}"
    return Worst(_pick(losses, numbers.numpy(), count), f"of {len(numbers):,}, by {by}")


def _measure(bundle: ExportBundle, config: ObjectiveConfig) -> Callable[[Tensor, Tensor], Tensor]:
    """Gives the loss of each sample, as an evaluation does."""
    own = config == bundle.config.objective
    objective = bundle.objective if own else make_objective(config, bundle.facts, torch.device("cpu"))
    return Columns(config, objective, bundle.facts).find_losses


@torch.inference_mode()
def _ask(bundle: ExportBundle, data: RealData, numbers: Tensor, measure: Callable[[Tensor, Tensor], Tensor]) -> Losses:
    losses: list[Losses] = []
    for some in numbers.split(TOGETHER):
        samples, targets = data.read(some)
        outputs = bundle.outputs(as_network_takes(bundle, samples))
        losses.append(measure(outputs, _as_loss_takes(bundle, torch.from_numpy(targets))).double().numpy())
    return np.concatenate(losses)


def _as_loss_takes(bundle: ExportBundle, targets: Tensor) -> Tensor:
    if bundle.facts.target == "mask":
        return pixel_classes(targets)
    return targets if targets.is_floating_point() else targets.long()


@torch.inference_mode()
def _measure_places(bundle: ExportBundle, data: RealData, numbers: Tensor) -> Losses:
    """By how much nearer the nearest sample of another class is than that of its own; NaN where there is none."""
    read = [data.read(some) for some in numbers.split(TOGETHER)]
    places = torch.cat([bundle.logits(as_network_takes(bundle, samples)) for samples, _ in read]).double()
    classes = torch.from_numpy(np.concatenate([targets for _, targets in read]))
    apart = torch.cdist(places, places).fill_diagonal_(torch.nan)
    same = classes[:, None] == classes[None]
    own, other = (apart.masked_fill(left_out | apart.isnan(), torch.inf).amin(1) for left_out in (~same, same))
    losses: Losses = (own - other).masked_fill(own.isinf() | other.isinf(), torch.nan).numpy()
    return losses
