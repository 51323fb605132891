"""Samples to try a network with, where only their form matters."""

from __future__ import annotations

import torch
from torch import Tensor

from training.facts import DataFacts


def example_input(
    facts: DataFacts, count: int, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Tensor:
    """``count`` samples of zeros as a model gets them, (count, *facts.shape): int64 of tokens, else ``dtype``."""
    if facts.layout == "tokens":
        dtype = torch.int64
    return torch.zeros(count, *facts.shape, dtype=dtype, device=device)
