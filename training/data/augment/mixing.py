"""MixUp and CutMix: a sample and another one of the training samples, in shares drawn from a beta distribution.

torchvision mixes each sample with its neighbor in the batch, and the whole batch in one share. Here the partner and the
share are drawn for each sample, so a mixed sample does not depend on the batch, nor on how a window is cut into batches.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from training.core.counter_rng import integers
from training.data.augment.draws import Draws, draw_uniform, draw_whole, each
from training.data.augment.erasing import rectangle_masks

_NODES = 1 << 13


def draw_partners(seed: int, epoch: int, places: Tensor, count: int) -> Tensor:
    """For each of ``count`` training samples, given by its place int64 (n,), the place of another one; its own where
    there is no other."""
    if count == 1:
        return places
    return (places + 1 + integers(seed, "partner", epoch, places, count - 1)) % count


def mix(
    own: Tensor, others: Tensor, draws: Draws, *, mixup_alpha: float = 0.0, cutmix_alpha: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Samples (B, H, W, C) float32 mixed with their partners, and each one's own share, float32 (B,) on their device.

    Where both alphas are above 0, one of the two is drawn for each sample.
    """
    _, height, width, _ = own.shape
    level = draw_uniform(draws, "mixing share")
    share = beta(level, mixup_alpha) if mixup_alpha else torch.ones_like(level)
    weight = share.to(own.device, torch.float32).view(-1, 1, 1, 1)
    if cutmix_alpha:
        cut = draw_uniform(draws, "mixup or cutmix") >= 0.5 if mixup_alpha else torch.ones_like(level, dtype=torch.bool)
        boxes = _boxes(draws, beta(level, cutmix_alpha), height, width)
        share = torch.where(cut, 1.0 - (boxes[:, 2] * boxes[:, 3]).double() / (height * width), share)
        inside = rectangle_masks(boxes.to(own.device), height, width).unsqueeze(3)
        weight = torch.where(cut.to(own.device).view(-1, 1, 1, 1), (~inside).to(torch.float32), weight)
    return own * weight + others * (1.0 - weight), share.to(own.device, torch.float32)


def mix_targets(own: Tensor, others: Tensor, share: Tensor, classes: int) -> Tensor:
    """Targets in the same shares: class numbers int64 (B,) become probabilities float32 (B, classes), float32 (B, K) a mean."""
    if own.dtype == torch.int64:
        own, others = (functional.one_hot(some, classes).to(torch.float32) for some in (own, others))
    share = share.view(-1, *[1] * (own.ndim - 1))
    return own * share + others * (1.0 - share)


def _boxes(draws: Draws, share: Tensor, height: int, width: int) -> Tensor:
    """torchvision's CutMix: int64 (B, 4) top, left, height, width of what the partner covers, 1 - ``share`` of the area
    before the borders cut it."""
    half = torch.sqrt(1.0 - share) * 0.5
    x, y = draw_whole(draws, "cutmix x", width), draw_whole(draws, "cutmix y", height)
    half_width, half_height = (half * width).long(), (half * height).long()
    left, right = (x - half_width).clamp(min=0), (x + half_width).clamp(max=width)
    top, bottom = (y - half_height).clamp(min=0), (y + half_height).clamp(max=height)
    return torch.stack([top, left, bottom - top, right - left], 1)


def beta(levels: Tensor, alpha: float) -> Tensor:
    """The quantiles of Beta(alpha, alpha) at ``levels``, float64 (B,) in [0, 1): uniform levels give its random numbers."""
    nodes, cumulative, power = _beta_table(alpha)
    upper = levels >= 0.5
    level = torch.where(upper, 1.0 - levels, levels)  # the distribution is symmetric
    place = torch.searchsorted(cumulative, level).clamp(1, len(nodes) - 1)
    low, high = cumulative[place - 1], cumulative[place]
    node = nodes[place - 1] + (nodes[place] - nodes[place - 1]) * ((level - low) / (high - low))
    quantile = node if power == 1.0 else each(lambda value: math.pow(value, 1 / power), node)
    return torch.where(upper, 1.0 - quantile, quantile)


@lru_cache(maxsize=8)
def _beta_table(alpha: float) -> tuple[Tensor, Tensor, float]:
    """Nodes w, the distribution function at x = w ** (1 / power) up to one half, and the power.

    For alpha < 1 the density has a pole at 0, which the substitution w = x ** alpha takes away: what is left to integrate,
    by Simpson's rule, is smooth. The integral up to one half is one half, so no gamma function is needed.
    """
    power = min(alpha, 1.0)
    fine = torch.linspace(0.0, 0.5**power, 2 * _NODES + 1, dtype=torch.float64)
    x = fine ** (1 / power)
    density = x ** (alpha - power) * (1.0 - x) ** (alpha - 1.0)
    pieces = density[:-2:2] + 4 * density[1::2] + density[2::2]
    cumulative = torch.cat([torch.zeros(1, dtype=torch.float64), pieces.cumsum(0)])
    return fine[::2].contiguous(), cumulative * (0.5 / cumulative[-1]), power
