"""Knowledge distillation: a network learns from samples and from a trained network's answers to them."""

from __future__ import annotations

from functools import partial

import torch

from training.config.sections.objective import Distillation
from training.core.losses import Loss, distillation_mean, distillation_terms
from training.core.scores import Metric, count_agreed, count_learned, predict_class
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import count_confusions


def make_distillation(config: Distillation, facts: DataFacts, device: torch.device) -> Objective:
    """Targets are those that ``with_answers`` makes. The initial loss depends on how sure the teacher is."""
    classes = len(facts.names)
    temperature, alpha = config.temperature, config.alpha
    return Objective(
        outputs=classes,
        loss=Loss(
            partial(distillation_terms, temperature=temperature),
            mean=partial(distillation_mean, temperature=temperature, alpha=alpha),
        ),
        metrics={"accuracy": Metric(count_learned), "agreement": Metric(count_agreed)},
        tables=count_confusions(classes, predict_class, taught=True),
        probabilities="softmax",
        parts={"soft": alpha * temperature**2, "hard": 1.0 - alpha},
    )
