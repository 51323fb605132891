"""What of an objective's settings contradicts itself, or cannot work with the data, as far as settings tell."""

from __future__ import annotations

from training.config.objective import (
    Binary,
    Classification,
    Distillation,
    MultiLabel,
    Objective,
    Regression,
    Segmentation,
)
from training.config.run import RunConfig
from training.config.teacher_file import teacher_problems
from training.errors import Problem

_MIXING = ("mixup_alpha", "cutmix_alpha")


def objective_problems(config: RunConfig) -> list[Problem]:
    """One for each setting that has to be changed."""
    objective, found = config.objective, _weights(config.objective)
    if isinstance(objective, Classification) and objective.ignore_index >= 0:
        found += [
            Problem(
                f"dataset.{name}",
                "cannot mix samples of a class that is ignored; set it to 0.",
                {f"dataset.{name}": 0.0},
            )
            for name in _MIXING
            if getattr(config.dataset, name, 0.0)
        ]
    if config.loader.sampling == "balanced" and getattr(objective, "balanced", False):
        what = "would make up a second time for what loader.sampling draws alike already; switch it off, or choose shuffle."
        found.append(Problem("objective.balanced", what, {"objective.balanced": False}))
    if isinstance(objective, Segmentation) and objective.loss == "dice":
        found += [
            Problem(
                f"objective.{name}",
                "acts on cross-entropy, which the loss dice has none of; choose dice_cross_entropy.",
                {"objective.loss": "dice_cross_entropy"},
            )
            for name in ("class_weights", "balanced")
            if getattr(objective, name)
        ]
    if isinstance(objective, Distillation):
        found += teacher_problems(objective)
    if isinstance(objective, Regression) and objective.loss == "weighted_sum":
        weights = ("mse_weight", "l1_weight", "huber_weight")
        if not any(getattr(objective, name) for name in weights):
            found.append(Problem("objective.loss", f"all of {', '.join(weights)} are 0; raise one of them."))
    return found


def _weights(objective: Objective) -> list[Problem]:
    """Weights that are given and balanced at once, or that leave nothing."""
    name = "class_weights" if isinstance(objective, Classification | Segmentation) else "pos_weight"
    given = getattr(objective, name, None)
    if not given:
        return []
    if name == "class_weights" and not any(given):
        return [Problem("objective.class_weights", "are all 0, so nothing would be learnt; give some class a weight.")]
    if isinstance(objective, Classification | Segmentation | Binary | MultiLabel) and objective.balanced:
        advice = f"takes the place of {name}; switch it off, or leave {name} empty."
        return [Problem("objective.balanced", advice, {"objective.balanced": False})]
    return []
