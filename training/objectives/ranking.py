"""Ranking: the items of a query are put in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from training.config.objective import Ranking
from training.core.losses import MarginRanking, widen
from training.core.scores import (
    Metric,
    SummedMetrics,
    count_ordered_pairs,
    ratio,
    sum_discounted_gains,
    sum_reciprocal_ranks,
)
from training.facts import DataFacts
from training.objectives.objective import Objective


class RankingObjective(Objective):
    """Margin ranking of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the better, NaN for none."""

    def __init__(self, config: Ranking, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, 1, device)
        self.loss = MarginRanking(config.margin)
        self._top = config.top

    def make_metrics(self) -> Sequence[Metric]:
        return [
            SummedMetrics({"ndcg": ratio}, partial(sum_discounted_gains, top=self._top)),
            SummedMetrics({"mrr": ratio}, sum_reciprocal_ranks),
            SummedMetrics({"pair_accuracy": ratio}, count_ordered_pairs),
        ]

    def predict(self, outputs: Tensor) -> Tensor:
        """The items' scores (n, items), float32: the highest first is the order."""
        return widen(outputs).flatten(1)

    def initial_loss(self) -> float | None:
        """The margin: what each pair costs when all score alike."""
        assert isinstance(self.loss, MarginRanking), "made so"
        return self.loss.margin or None
