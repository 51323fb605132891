"""A network that is asked with the inputs of another; an exported script carries the code below as it is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

MeanAndStd = tuple[Sequence[float], Sequence[float]]


class Renormalized(nn.Module):
    """``model`` for inputs (n, channels, ...) that were normalized by ``ours``, not by ``theirs`` as it knows them: it gets
    (x * std + mean - their mean) / their std."""

    scale: Tensor
    shift: Tensor

    def __init__(self, model: nn.Module, ours: MeanAndStd, theirs: MeanAndStd) -> None:
        super().__init__()
        (mean, std), (their_mean, their_std) = torch.tensor([ours, theirs], dtype=torch.float64)
        self.model = model
        self.register_buffer("scale", (std / their_std).float())
        self.register_buffer("shift", ((mean - their_mean) / their_std).float())

    def forward(self, inputs: Tensor) -> Tensor:
        sides = (-1, *(1,) * (inputs.ndim - 2))
        answer: Tensor = self.model(inputs * self.scale.view(sides) + self.shift.view(sides))
        return answer
