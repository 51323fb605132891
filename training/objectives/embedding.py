"""Metric learning: samples of one class get embeddings that lie close together."""

from __future__ import annotations

from functools import partial

import torch

from training.config.sections.embedding import Embedding
from training.core.kept_scores import count_nearer, keep_embeddings, recall_at, retrieval_precision
from training.core.losses import (
    Loss,
    contrastive_loss,
    count_anchors,
    count_paired,
    mine_all,
    mine_hardest,
    mine_semi_hard,
    nt_xent,
    supervised_contrastive,
    triplet_margin,
)
from training.core.scores import Metric
from training.facts import DataFacts
from training.objectives.objective import Objective, bind

_MINING = {"batch_hard": mine_hardest, "semi_hard": mine_semi_hard, "all": mine_all}


def make_embedding(config: Embedding, facts: DataFacts, device: torch.device) -> Objective:
    """Outputs (views * n, embedding_size) against classes (n,) int64; metrics over all samples at once. The initial loss depends
    on the network. The mean of a step is one over all samples of its batches, each compared within its own batch."""
    unit, views = config.has_unit_length or None, config.view_count if config.view_count > 1 else None
    keep = bind(keep_embeddings, unit=unit)
    metrics = {
        "recall_at_1": Metric(keep, partial(recall_at, k=1), torch.cat, count_nearer),
        "recall_at_k": Metric(keep, partial(recall_at, k=config.top), torch.cat, count_nearer),
    }
    if config.ranking_metrics:
        metrics["mean_average_precision"] = Metric(keep, retrieval_precision, torch.cat)
    return Objective(
        outputs=config.embedding_size,
        loss=_make_loss(config, unit, views),
        metrics=metrics,
        views=config.view_count,
        compares_samples=True,
        is_embedding=True,
        unit_length=config.has_unit_length,
    )


def _make_loss(config: Embedding, unit: bool | None, views: int | None) -> Loss:
    if config.loss == "nt_xent":
        return Loss(partial(nt_xent, temperature=config.temperature))
    if config.loss == "supervised_contrastive":
        function = bind(supervised_contrastive, temperature=config.temperature, views=views)
    elif config.loss == "contrastive":
        function = bind(contrastive_loss, margin=config.margin, unit=unit, views=views)
        return Loss(function, bind(count_paired, views=views))
    else:
        mine = _MINING[config.mining]
        function = bind(triplet_margin, margin=config.margin, mine=mine, unit=unit, views=views)
    return Loss(function, bind(count_anchors, views=views))
