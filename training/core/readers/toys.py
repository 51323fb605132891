"""Points in the plane or in space, made instead of read: each a function of its number and a seed.

Moons, circles and blobs have the formulas of scikit-learn's generators of those names, with draws of their own."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.core.counter_rng import normal, uniform


def make_spiral(numbers: Tensor, turns: float, noise: float, seed: int) -> Tensor:
    """float32 (n, 2) for the int64 ``numbers`` (n,): three arms within about the unit circle; number n is of arm n mod 3.
    The angle is spread by a normal draw (Box and Muller) of ``noise`` radians: 0.15 leaves the arms apart, 1 mixes them."""
    along, first, second = (uniform(seed, f"spiral {use}", 0, numbers).double() for use in ("along", "first", "second"))
    spread = noise * (torch.sqrt(-2.0 * torch.log1p(-first)) * torch.cos(2.0 * math.pi * second))
    radius = 0.05 + 0.95 * along
    angle = 2.0 * math.pi * (turns * radius + (numbers % 3) / 3) + spread
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1).float()


def make_moons(numbers: Tensor, noise: float, seed: int) -> Tensor:
    """float32 (n, 2) of two interleaved half circles; number n is of the (n mod 2)-th."""
    angle = math.pi * uniform(seed, "moons angle", 0, numbers).double()
    lower = numbers % 2 == 1
    x = torch.where(lower, 1 - angle.cos(), angle.cos())
    y = torch.where(lower, 0.5 - angle.sin(), angle.sin())
    return (torch.stack([x, y], dim=1) + noise * normal(seed, "moons", numbers, 2)).float()


def make_circles(numbers: Tensor, noise: float, factor: float, seed: int) -> Tensor:
    """float32 (n, 2) of two circles of radius 1 and ``factor``; number n is of the (n mod 2)-th."""
    angle = 2 * math.pi * uniform(seed, "circles angle", 0, numbers).double()
    radius = torch.where(numbers % 2 == 1, factor, 1.0).double()
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return (points + noise * normal(seed, "circles", numbers, 2)).float()


def make_blobs(numbers: Tensor, classes: int, features: int, spread: float, seed: int) -> Tensor:
    """float32 (n, features) from N(center, spread ** 2); the centers, one a class, lie anywhere from -10 to 10. Number n
    is of class n mod ``classes``."""
    places = torch.arange(classes * features).view(classes, features)
    centers = 10.0 * (2 * uniform(seed, "blobs centers", 0, places).double() - 1)
    return (centers[numbers % classes] + spread * normal(seed, "blobs", numbers, features)).float()
