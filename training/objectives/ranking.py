"""Ranking: the items of a query are put in order."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from training.config.objective import Ranking
from training.facts import DataFacts
from training.objectives.confusion import ratio
from training.objectives.numbers import widened
from training.objectives.objective import Counter, Objective


class RankingObjective(Objective):
    """Margin ranking of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the better, NaN for none.

    Each pair of a query's items of which one suits better costs max(0, margin - (its score - the other's)), as
    ``nn.MarginRankingLoss`` has it. The loss is the mean over a query's pairs, then over the queries that have any.
    """

    weighs = True

    def __init__(self, config: Ranking, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, 1, device)
        self._margin = config.margin
        self._top = config.top

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        scores = item_scores(outputs, targets)
        better = _better(targets)
        costs = (self._margin - (scores[:, :, None] - scores[:, None, :])).clamp(min=0.0)
        sums = torch.where(better, costs, torch.zeros_like(costs)).sum((1, 2))
        return (sums / better.sum((1, 2)).clamp(min=1)).sum()

    def weigh(self, targets: Tensor) -> Tensor:
        return _better(targets).any(2).any(1).sum().float()

    def counters(self) -> Sequence[Counter]:
        return [_OrderCounter(self._top, self.device)]

    def predict(self, outputs: Tensor) -> Tensor:
        """The items' scores (n, items), float32: the highest first is the order."""
        return widened(outputs).flatten(1)

    def initial_loss(self) -> float | None:
        """The margin: what each pair costs when all score alike."""
        return self._margin or None


def item_scores(outputs: Tensor, targets: Tensor) -> Tensor:
    """(n, items)"""
    return widened(outputs).reshape(targets.shape)


def _better(ranks: Tensor) -> Tensor:
    """bool (n, items, items): whether the first suits better than the second; never where one is NaN."""
    return ranks[:, :, None] > ranks[:, None, :]


class _OrderCounter(Counter):
    """The mean over queries of ndcg and mrr, and the share of pairs that are in order.

    ndcg: each item's rank (below 0: as 0) / log2(1 + its place), over the first places, as a share of the best order's
    (Järvelin and Kekäläinen, 2002, with the rank itself as gain). Items of equal score share their places' mean. mrr:
    1 / the place of the first of the query's most suitable items, behind all of equal score. Queries whose items are all
    alike tell nothing and are left out. A pair of equal scores is half in order.
    """

    def __init__(self, top: int, device: torch.device) -> None:
        self._top = top
        kind = torch.float32 if device.type == "mps" else torch.float64
        self._sums = torch.zeros(6, dtype=kind, device=device)

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        scores = item_scores(outputs, targets)
        better = _better(targets)
        telling = better.any(2).any(1)
        gains, places = _discounted_gain(scores, targets, self._top), _first_place(scores, targets)
        ahead = scores[:, :, None] - scores[:, None, :]
        in_order = ((ahead > 0).to(scores.dtype) + 0.5 * (ahead == 0)) * better
        usable = telling & gains.isfinite()
        found = [
            torch.where(usable, gains, torch.zeros_like(gains)).sum(),
            usable.sum(),
            torch.where(telling, 1.0 / places, torch.zeros_like(gains)).sum(),
            telling.sum(),
            in_order.sum(),
            better.sum(),
        ]
        self._sums.add_(torch.stack([number.to(self._sums.dtype) for number in found]))

    def compute(self) -> dict[str, float]:
        gain, graded, reciprocal, telling, in_order, pairs = self._sums.tolist()
        return {
            "ndcg": ratio(gain, graded),
            "mrr": ratio(reciprocal, telling),
            "pair_accuracy": ratio(in_order, pairs),
        }


def _discounted_gain(scores: Tensor, ranks: Tensor, top: int) -> Tensor:
    """(n,): NDCG of each query; not finite where no item has a rank above 0."""
    items = scores.shape[1]
    places = torch.arange(items, device=scores.device)
    discounts = (places < top) / torch.log2(places + 2.0)
    reached = torch.cat([discounts.new_zeros(1), discounts.cumsum(0)])
    there = ~ranks.isnan()
    gains = torch.where(there, ranks, torch.zeros_like(ranks)).clamp(min=0.0).to(scores.dtype)
    scores = scores.masked_fill(~there, -torch.inf)
    before = (scores[:, None, :] > scores[:, :, None]).sum(2)
    alike = (scores[:, None, :] == scores[:, :, None]).sum(2)
    mean_discount = (reached[before + alike] - reached[before]) / alike
    best = (gains.sort(dim=1, descending=True).values * discounts).sum(1)
    return (gains * mean_discount).sum(1) / best


def _first_place(scores: Tensor, ranks: Tensor) -> Tensor:
    """(n,): where the first of the items of highest rank stands, counted from 1."""
    there = ~ranks.isnan()
    known = ranks.masked_fill(~there, -torch.inf)
    wanted = known == known.amax(1, keepdim=True)
    highest = scores.masked_fill(~wanted, -torch.inf).amax(1, keepdim=True)
    return 1 + (there & ~wanted & (scores >= highest)).sum(1)
