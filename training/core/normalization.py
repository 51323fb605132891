"""Zero mean and unit standard deviation for the model's inputs: (x - mean) / std, as one multiplication and one addition."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def normalize(values: Tensor, by: Tensor) -> Tensor:
    """float32 (..., channels) of ``values`` of that shape, ``by`` what ``scale_and_shift`` says; a missing one (NaN) stays so."""
    scale, shift = by.to(values.device)
    return values.to(torch.float32, copy=True, memory_format=torch.contiguous_format).mul_(scale).add_(shift)


def scale_and_shift(mean: Sequence[float], std: Sequence[float], full: float = 1.0) -> Tensor:
    """float32 (2, channels): by what to multiply values up to ``full``, and what to add then."""
    return torch.tensor([[1 / (each * full) for each in std], [-m / each for m, each in zip(mean, std, strict=True)]])
