"""The proof that a script judges answers as the engine does."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from training.config.objective import Distillation
from training.core.evaluation import evaluate
from training.core.losses import with_answers
from training.export.material import SAMPLES, Material
from training.facts import IGNORED
from training.objectives import MetricSet


def judged_alike(material: Material, script: dict[str, Any]) -> bool:
    """Whether the script's loss and score of made-up answers, in two batches, equal the engine's to the bit."""
    generator = torch.Generator().manual_seed(1)
    targets = _targets(material, generator)
    outputs = torch.randn(_answers(material, targets), generator=generator)
    taught = torch.randn(outputs.shape, generator=generator)
    distils = isinstance(material.config.objective, Distillation)
    by_teacher = material.config.monitor == "val/agreement"
    score, loss, weight = script["Score"](), 0.0, 0.0
    objective, batches = material.objective, []
    with torch.inference_mode():
        for some, truth, theirs in zip(*(each.split(SAMPLES) for each in (outputs, targets, taught)), strict=True):
            batches.append((some, with_answers(truth, theirs) if distils else truth))
            score.add(some, theirs if by_teacher else truth)
            loss += script["loss_sum"](some, truth, *[theirs] * distils).double()
            weight += script["weigh"](truth).double() if "weigh" in script else len(truth)
    metrics = MetricSet(objective.metrics, {})
    results = metrics.results(*evaluate(nn.Identity(), objective.loss, metrics.metric, batches, autocast=nullcontext))
    found = {f"val/{name}": value for name, value in results.items()}
    wanted = next(name for name in (material.config.monitor, *found) if name in found and name != "val/loss")
    mean: Any = script["join_means"](loss / weight) if "join_means" in script else loss / weight
    return _same(mean.item(), found["val/loss"]) and _same(score.value(), found[wanted])


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _targets(material: Material, generator: torch.Generator) -> Tensor:
    """Of two batches, in the form the data has."""
    facts, count = material.facts, 2 * SAMPLES
    if facts.target in ("class", "tokens"):
        size = (count, *facts.shape) if facts.target == "tokens" else (count,)
        return torch.randint(0, len(facts.names), size, generator=generator)
    if facts.target == "labels":
        return torch.randint(0, 2, (count, len(facts.names)), generator=generator).float()
    if facts.target == "mask":
        masks = torch.randint(0, len(facts.names) + 1, (count, *facts.shape[1:]), generator=generator)
        return masks.masked_fill(masks == len(facts.names), IGNORED)
    if facts.target == "ranks":
        ranks = torch.randint(0, 4, (count, facts.shape[0]), generator=generator).float()
        return ranks.masked_fill(torch.rand(ranks.shape, generator=generator) < 0.2, torch.nan)
    return torch.randn((count, len(facts.names)), generator=generator)


def _answers(material: Material, targets: Tensor) -> tuple[int, ...]:
    if material.facts.target == "tokens":
        return (*targets.shape, material.objective.outputs)
    if material.facts.target == "mask":
        return (len(targets), material.objective.outputs, *targets.shape[1:])
    if material.facts.target == "ranks":
        return (*targets.shape, material.objective.outputs)
    return (len(targets), material.objective.outputs)
