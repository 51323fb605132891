"""What of an objective's settings contradicts itself, or cannot work with the data, as far as settings tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from training.config.rules.teacher_file import teacher_problems
from training.config.run import RunConfig, task_kinds
from training.config.sections.data.image_section import ImageSection
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.embedding import Embedding
from training.config.sections.multi_task import MultiTask
from training.config.sections.objective import (
    Classification,
    Distillation,
    Objective,
    OwnLoss,
    Regression,
    Segmentation,
)
from training.config.sections.own_file import own_file_problems
from training.errors import Problem
from training.facts import Target

_MIXING = ("mixup_alpha", "cutmix_alpha")


def objective_problems(config: RunConfig) -> Iterator[Problem]:
    """One for each setting that has to be changed."""
    objective = config.objective
    yield from _weight_problems(objective)
    if isinstance(objective, Classification) and objective.ignore_index >= 0:
        for name in _MIXING:
            if getattr(config.dataset, name, 0.0):
                what = "cannot mix samples of a class that is ignored; set it to 0."
                yield Problem(f"dataset.{name}", what, {f"dataset.{name}": 0.0})
    if config.loader.sampling == "balanced" and getattr(objective, "balanced", False):
        what = "would make up a second time for what loader.sampling draws alike already; switch it off, or choose shuffle."
        yield Problem("objective.balanced", what, {"objective.balanced": False})
    if isinstance(objective, Segmentation) and objective.loss == "dice":
        for name in ("class_weights", "balanced"):
            if getattr(objective, name):
                what = "acts on cross-entropy, which the loss dice has none of; choose dice_cross_entropy."
                yield Problem(f"objective.{name}", what, {"objective.loss": "dice_cross_entropy"})
    yield from _problems_of_kind(config, objective)
    yield from _sum_problems(objective)


def _sum_problems(objective: Objective) -> Iterator[Problem]:
    """A weighted sum of nothing."""
    if isinstance(objective, Regression) and objective.loss == "weighted_sum":
        weights = ("mse_weight", "l1_weight", "huber_weight")
        if not any(getattr(objective, name) for name in weights):
            yield Problem("objective.loss", f"all of {', '.join(weights)} are 0; raise one of them.")


def _problems_of_kind(config: RunConfig, objective: Objective) -> Iterator[Problem]:
    """Those of tasks that have many of their own."""
    if isinstance(objective, MultiTask):
        yield from _multi_task_problems(config, objective)
    if isinstance(objective, Embedding):
        yield from _embedding_problems(config, objective)
    if isinstance(objective, Distillation):
        yield from teacher_problems(objective)
    if isinstance(objective, OwnLoss):
        yield from own_file_problems(objective, "objective")
        yield from _own_loss_problems(config, objective)


def _multi_task_problems(config: RunConfig, objective: MultiTask) -> Iterator[Problem]:
    """What is said of the targets by their order, where there is another number of them."""
    targets, weights = getattr(config.dataset, "targets", ()), objective.weights
    if config.dataset.target is None and "tasks" in config.dataset.possible_targets:
        what = "auto takes all targets for one kind, but multi_task learns each by itself; set it to tasks."
        yield Problem("dataset.task", what, {"dataset.task": "tasks"})
    if isinstance(targets, tuple) and config.dataset.target == "tasks" and len(targets) < 2:
        yield Problem("dataset.targets", "multi_task learns two targets at least; name their columns.")
    elif isinstance(targets, tuple) and weights and len(weights) != len(targets):
        what = (
            f"has {len(weights)} numbers, but dataset.targets names {len(targets)} columns; give one for each, or none."
        )
        yield Problem("objective.weights", what)


def _own_loss_problems(config: RunConfig, objective: OwnLoss) -> Iterator[Problem]:
    """Metrics of another task than the data is for."""
    target = config.dataset.target
    if target is None or target in objective.measured.takes or target not in objective.takes:
        return
    tasks = [task for task in get_args(OwnLoss.model_fields["task"].annotation) if target in _takes(task)]
    what = f"{objective.task} cannot be measured with what {config.dataset.kind} gives; choose {tasks[0]}."
    yield Problem("objective.task", what, {"objective.task": tasks[0]})


def _takes(task: str) -> tuple[Target, ...]:
    return task_kinds()[task].takes


def _embedding_problems(config: RunConfig, objective: Embedding) -> Iterator[Problem]:
    """What the comparing of a batch's samples with each other does not go with."""
    dataset = config.dataset
    for name in _MIXING:
        if getattr(dataset, name, 0.0):
            yield Problem(
                f"dataset.{name}",
                "a mixed sample has no class to be compared by; set it to 0.",
                {f"dataset.{name}": 0.0},
            )
    if objective.view_count > 1 and not (isinstance(dataset, ImageSection) and dataset.is_augmented):
        path = "objective.loss" if objective.loss == "nt_xent" else "objective.views"
        fix = {path: "supervised_contrastive" if objective.loss == "nt_xent" else 1}
        if isinstance(dataset, ImageSection):
            where, advice = "images that are augmented", "switch some augmentation on"
        elif isinstance(dataset, OwnDataSection):
            where, advice = "augmentation by settings, which data of your own has none of", "choose other data"
        else:
            where, advice = f"images, which {dataset.kind} does not give", "choose other data"
        what = "nt_xent compares" if objective.loss == "nt_xent" else "asks for"
        yield Problem(
            path, f"{what} two views of each sample, so it needs {where}; {advice}, or set this to {fix[path]}.", fix
        )
    if config.loop.batch_size < 2:
        what = (
            f"a batch is compared within itself under {objective.kind}, so it has to hold 2 samples at least; raise it."
        )
        yield Problem("loop.batch_size", what)
    if config.loop.on_out_of_memory == "smaller_batches":
        what = f"smaller batches hold other pairs, so they are another loss under {objective.kind}; choose stop."
        yield Problem("loop.on_out_of_memory", what, {"loop.on_out_of_memory": "stop"})


def _weight_problems(objective: Objective) -> Iterator[Problem]:
    """Weights that are given and balanced at once, or that leave nothing."""
    name = "class_weights" if isinstance(objective, Classification | Segmentation) else "pos_weight"
    given = getattr(objective, name, None)
    if given and name == "class_weights" and not any(given):
        yield Problem("objective.class_weights", "are all 0, so nothing would be learned; give some class a weight.")
    elif given and getattr(objective, "balanced", False):
        advice = f"takes the place of {name}; switch it off, or leave {name} empty."
        yield Problem("objective.balanced", advice, {"objective.balanced": False})
