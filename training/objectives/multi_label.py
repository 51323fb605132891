"""Multi-label classification: each sample may carry any number of labels."""

from __future__ import annotations

import math
from functools import partial

import torch

from training.config.sections.objective import MultiLabel
from training.core.kept_scores import compare_labels
from training.core.losses import Loss, label_cross_entropy
from training.core.scores import Metric, count_exact, count_labels, f1, f1_micro, precision, recall
from training.facts import DataFacts
from training.objectives.objective import Objective, bind
from training.objectives.tables import measure_curves
from training.objectives.weights import refuse_other_count


def make_multi_label(config: MultiLabel, facts: DataFacts, device: torch.device) -> Objective:
    """Binary cross-entropy over logits (n, labels) and targets (n, labels) of 0 and 1: the mean over labels, then over
    samples, which is that of ``nn.BCEWithLogitsLoss``."""
    labels, weights = len(facts.names), tuple(config.pos_weight)
    if weights:
        refuse_other_count("objective.pos_weight", weights, facts)
    if config.balanced:  # 1 for a label that no sample or each carries: there is nothing to balance
        carried = [count if 0 < count < facts.samples else 0 for count in facts.counts]
        weights = tuple((facts.samples - count) / count if count else 1.0 for count in carried)
    pos_weight = torch.tensor(weights, device=device) if weights else None
    counts = partial(count_labels, threshold=config.threshold)
    curves = measure_curves(torch.sigmoid, compare_labels)
    metrics = {
        "f1": Metric(counts, f1),
        "f1_micro": Metric(counts, f1_micro),
        "subset_accuracy": Metric(partial(count_exact, threshold=config.threshold)),
        "auroc": curves["auroc"],
        "mean_average_precision": curves["average_precision"],
    }
    tables = {"precision": Metric(counts, precision), "recall": Metric(counts, recall), "f1": metrics["f1"]}
    return Objective(
        outputs=labels,
        loss=Loss(bind(label_cross_entropy, pos_weight=pos_weight)),
        metrics=metrics,
        tables=tables | curves if labels > 1 else tables,
        probabilities="sigmoid",
        initial_loss=_guess(weights or (1.0,) * labels, facts),
    )


def _guess(weights: tuple[float, ...], facts: DataFacts) -> float:
    """log 2, times the weight of each label's samples on average: the loss of probabilities of one half."""
    shares = [count / facts.samples for count in facts.counts] if facts.samples else []
    shares = shares or [0.5] * len(weights)
    weighed = [1.0 - share + share * weight for share, weight in zip(shares, weights, strict=True)]
    return math.log(2.0) * sum(weighed) / len(weighed)
