"""Binary classification: yes or no, by one logit."""

from __future__ import annotations

import math
from functools import partial

import torch

from training.config.sections.objective import Binary
from training.core.kept_scores import compare_second
from training.core.losses import Loss, binary_cross_entropy
from training.core.scores import Metric, count_exact, count_labels, exceed, f1, precision, recall
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective, bind
from training.objectives.tables import count_confusions, measure_curves


def make_binary(config: Binary, facts: DataFacts, device: torch.device) -> Objective:
    """Binary cross-entropy over logits (n, 1) and targets (n,) int64 of two classes, 1 being the one to find, or (n, 2) of
    mixed samples; the mean is over samples, also with a positive weight, as ``nn.BCEWithLogitsLoss`` takes it."""
    if len(facts.names) != 2:
        names = ", ".join(facts.names[:10]) + (", ..." if len(facts.names) > 10 else "")
        raise InputError(
            f"objective.kind: binary needs exactly two classes, but the data has {len(facts.names)} ({names}); choose "
            "classification.",
            fix={"objective.kind": "classification"},
        )
    weight, total = config.pos_weight, sum(facts.counts)
    if config.balanced and facts.counts and facts.counts[1]:
        weight = facts.counts[0] / facts.counts[1]
    pos_weight = None if weight is None else torch.tensor([weight], device=device)
    counts = partial(count_labels, threshold=config.threshold)
    share = facts.counts[1] / total if total else 0.5
    return Objective(
        outputs=1,
        loss=Loss(bind(binary_cross_entropy, pos_weight=pos_weight)),
        metrics={
            "accuracy": Metric(partial(count_exact, threshold=config.threshold)),
            **{score.__name__: Metric(counts, score) for score in (f1, precision, recall)},
            **measure_curves(torch.sigmoid, compare_second),
        },
        tables=count_confusions(2, lambda outputs: exceed(outputs, config.threshold).long()),
        probabilities="sigmoid",
        # A probability of one half costs log 2 for each sample, times its weight.
        initial_loss=math.log(2.0) * (1.0 - share + share * (weight or 1.0)),
    )
