"""The proof that a script evaluates answers as the engine does."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import ModuleType

import torch
from torch import Tensor, nn

from training.config.sections.objective import Distillation
from training.core.evaluation import evaluate
from training.core.losses import with_answers
from training.export.bundle import SAMPLES, ExportBundle
from training.facts import IGNORED


def has_same_evaluation(bundle: ExportBundle, script: ModuleType) -> bool:
    """Whether the script's loss and metric of made-up answers, in two batches, equal the engine's to the bit."""
    generator = torch.Generator().manual_seed(1)
    objective, targets = bundle.objective, _targets(bundle, generator)
    outputs = torch.randn(_answers(bundle, targets), generator=generator)
    if isinstance(bundle.config.objective, Distillation):
        targets = with_answers(targets, torch.randn(outputs.shape, generator=generator))
    batches = list(zip(outputs.split(SAMPLES * _views(bundle)), targets.split(SAMPLES), strict=True))
    wanted = bundle.config.monitor.removeprefix("val/")
    metric = objective.metrics.get(wanted, next(iter(objective.metrics.values())))
    ours = evaluate(nn.Identity(), batches, objective.loss, metric, autocast=nullcontext)
    loss, theirs = script.make_objective(torch.device("cpu"))
    found = script.evaluate(nn.Identity(), batches, loss, theirs, autocast=nullcontext)
    weight = objective.loss_weight(targets)
    alike = torch.equal(loss(outputs, targets, weight), objective.loss(outputs, targets, weight))
    return alike and all(map(_same, found, ours))


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _targets(bundle: ExportBundle, generator: torch.Generator) -> Tensor:
    """Of two batches, in the form the data has."""
    facts, count = bundle.facts, 2 * SAMPLES
    if facts.target in ("class", "tokens"):
        size = (count, *facts.shape) if facts.target == "tokens" else (count,)
        return torch.randint(0, len(facts.names), size, generator=generator)
    if facts.target == "tasks":
        drawn = [
            torch.randint(0, len(classes), (count,), generator=generator).float()
            if classes
            else torch.randn(count, generator=generator)
            for classes in facts.target_classes
        ]
        return torch.stack(drawn, 1)
    if facts.target == "labels":
        return torch.randint(0, 2, (count, len(facts.names)), generator=generator).float()
    if facts.target == "mask":
        masks = torch.randint(0, len(facts.names) + 1, (count, *facts.shape[1:]), generator=generator)
        return masks.masked_fill(masks == len(facts.names), IGNORED)
    if facts.target == "ranks":
        ranks = torch.randint(0, 4, (count, facts.shape[0]), generator=generator).float()
        return ranks.masked_fill(torch.rand(ranks.shape, generator=generator) < 0.2, torch.nan)
    return torch.randn((count, len(facts.names)), generator=generator)


def _answers(bundle: ExportBundle, targets: Tensor) -> tuple[int, ...]:
    if bundle.facts.target in ("tokens", "ranks"):
        return (*targets.shape, bundle.objective.outputs)
    places = targets.shape[1:] if bundle.facts.target == "mask" else ()
    return (len(targets) * _views(bundle), bundle.objective.outputs, *places)


def _views(bundle: ExportBundle) -> int:
    """How often an evaluation has each sample: as it is, and in the views of training where there are several."""
    views = bundle.objective.views
    return 1 if views == 1 else 1 + views
