"""Several targets of each sample, each a class or a number: one loss, the weighted sum of theirs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from training.config.sections.multi_task import MultiTask
from training.core.kept_scores import (
    auroc,
    compare_second,
    keep_probabilities,
    keep_values,
    mae,
    r2,
    rmse,
    score_values,
)
from training.core.losses import (
    Loss,
    add_means,
    binary_cross_entropy,
    mean_error,
    of_task,
    pick_class,
    pick_value,
    stack_terms,
)
from training.core.scores import Metric, count_classes, count_correct, count_exact, f1, predict_class
from training.errors import InputError
from training.facts import DataFacts, TaskPlace, place_tasks
from training.objectives.objective import Objective, bind

Function = Callable[..., Any]


class _Task(NamedTuple):
    loss: Function
    metrics: dict[str, Metric]


def make_multi_task(config: MultiTask, facts: DataFacts, device: torch.device) -> Objective:
    """Outputs (n, width) against targets (n, tasks): a target of C classes has C logits, of two classes one, a number has one
    output in standard deviations from its mean over the training samples. The parts of the loss are the targets'."""
    weights = config.weights or (1.0,) * len(facts.names)
    if len(weights) != len(facts.names):
        raise InputError(
            f"objective.weights: has {len(weights)} numbers, but there are {len(facts.names)} targets "
            f"({', '.join(facts.names[:10])}); give one for each, or none."
        )
    error = {"mse": functional.mse_loss, "l1": functional.l1_loss}.get(config.loss) or partial(
        functional.huber_loss, delta=config.delta
    )
    places = place_tasks(facts)
    tasks = {place.name: _make_task(number, place, facts, error) for number, place in enumerate(places)}
    mean, std = [0.0] * places[-1].last, [1.0] * places[-1].last
    for number, place in enumerate(places):
        if not place.classes:
            mean[place.first], std[place.first] = facts.target_mean[number], facts.target_std[number]
    measured = {f"{name}/{metric}": found for name, task in tasks.items() for metric, found in task.metrics.items()}
    return Objective(
        outputs=places[-1].last,
        loss=Loss(
            partial(stack_terms, functions=[task.loss for task in tasks.values()]),
            mean=partial(add_means, shares=tuple(weights)),
        ),
        metrics=measured,
        unmeasured={
            name: "its target is of another kind" for name in config.metrics_of(facts.names) if name not in measured
        },
        spread=(tuple(mean), tuple(std)),
        parts=dict(zip(facts.names, weights, strict=True)),
    )


def _make_task(number: int, place: TaskPlace, facts: DataFacts, error: Function) -> _Task:
    pick = partial(pick_class if place.classes else pick_value, first=place.first, last=place.last, task=number)
    count = len(place.classes)

    def of(function: Function) -> Function:
        return partial(of_task, pick=pick, function=function)

    if count == 2:
        measure = of(partial(keep_probabilities, probabilities=torch.sigmoid))
        curve = Metric(measure, partial(auroc, compare=compare_second), torch.cat)
        return _Task(
            of(binary_cross_entropy),
            {"accuracy": Metric(of(partial(count_exact, threshold=0.5))), "auroc": curve},
        )
    if count:
        counts = of(partial(count_classes, classes=count, predict=predict_class))
        loss = of(partial(functional.cross_entropy, reduction="sum"))
        return _Task(loss, {"accuracy": Metric(of(count_correct)), "f1": Metric(counts, f1)})
    mean, std = facts.target_mean[number], facts.target_std[number]
    keep = of(keep_values)
    scores = {score.__name__: partial(score_values, score=score, mean=(mean,), std=(std,)) for score in (r2, rmse, mae)}
    loss = of(bind(mean_error, error=error, mean=mean, std=std))
    return _Task(loss, {name: Metric(keep, score, torch.cat) for name, score in scores.items()})
