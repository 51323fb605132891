"""A network for one item, applied to each item of a query by itself."""

from __future__ import annotations

from torch import Tensor, nn


class EachItem(nn.Module):
    """(B, L, F) -> (B, L, outputs) by a network that makes (n, outputs) of (n, F)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, items: Tensor) -> Tensor:
        queries, length, _ = items.shape
        answers: Tensor = self.network(items.flatten(0, 1))
        return answers.view(queries, length, -1)
