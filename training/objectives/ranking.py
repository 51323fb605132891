"""Ranking: the items of a query are put in order."""

from __future__ import annotations

from functools import partial

import torch

from training.config.sections.objective import Ranking
from training.core.losses import Loss, count_queries, margin_ranking
from training.core.scores import Metric, count_ordered_pairs, sum_discounted_gains, sum_reciprocal_ranks
from training.facts import DataFacts
from training.objectives.objective import Objective


def make_ranking(config: Ranking, facts: DataFacts, device: torch.device) -> Objective:
    """Margin ranking of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the better, NaN for none."""
    return Objective(
        outputs=1,
        loss=Loss(partial(margin_ranking, margin=config.margin), count_queries),
        metrics={
            "ndcg": Metric(partial(sum_discounted_gains, top=config.top)),
            "mrr": Metric(sum_reciprocal_ranks),
            "pair_accuracy": Metric(count_ordered_pairs),
        },
        initial_loss=config.margin or None,  # what each pair costs when all score alike
    )
