"""Ranking: the items of a query are put in order."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from training.config.sections.objective import Ranking
from training.core.losses import Loss, count_queries, margin_ranking, widen
from training.core.scores import Metric, count_ordered_pairs, sum_discounted_gains, sum_reciprocal_ranks
from training.facts import DataFacts
from training.objectives.objective import Objective


class RankingObjective(Objective):
    """Margin ranking of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the better, NaN for none."""

    def __init__(self, config: Ranking, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, 1, device)
        self._margin = config.margin
        self.loss = Loss(partial(margin_ranking, margin=config.margin), count_queries)
        self.metrics = {
            "ndcg": Metric(partial(sum_discounted_gains, top=config.top)),
            "mrr": Metric(sum_reciprocal_ranks),
            "pair_accuracy": Metric(count_ordered_pairs),
        }

    def predict(self, outputs: Tensor) -> Tensor:
        """The items' scores (n, items), float32: the highest first is the order."""
        return widen(outputs).flatten(1)

    def initial_loss(self) -> float | None:
        """The margin: what each pair costs when all score alike."""
        return self._margin or None
