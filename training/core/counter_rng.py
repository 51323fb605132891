"""Counter-based randomness: every number is ``f(seed, stream, epoch, index)``.

There is no state: nothing to save for a resume, nothing that worker processes could disturb, and the same bits on CPU
and GPU. The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA
2014), read at any position: output number ``i`` is the finalizer applied to ``key + (i + 1) * gamma``.

It computes with unsigned 64-bit numbers, which torch does not have everywhere. int64 stands in: sums and products
wrap to the same 64 bits, and the logical right shift is an arithmetic one with the copied sign bits masked away."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import torch
from torch import Tensor

GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - 2**64
FIRST_FACTOR = 0xBF58476D1CE4E5B9 - 2**64
SECOND_FACTOR = 0x94D049BB133111EB - 2**64


def random_bits(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """64 random bits, as int64, for each of the int64 ``indices``; ``stream`` names what they are for ("flip", "order")."""
    name = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")
    key = finalize(finalize(name + seed * GOLDEN_GAMMA) + epoch * GOLDEN_GAMMA) + GOLDEN_GAMMA
    return finalize(indices * GOLDEN_GAMMA + ((key + 2**63) % 2**64 - 2**63))  # the int64 of the same 64 bits


def finalize(x: Any) -> Any:
    """SplitMix64's finalizer of an int64 tensor, or of the low 64 bits of a whole number, whose higher ones are no matter."""
    x = (x ^ ((x >> 30) & (2**34 - 1))) * FIRST_FACTOR
    x = (x ^ ((x >> 27) & (2**37 - 1))) * SECOND_FACTOR
    return x ^ ((x >> 31) & (2**33 - 1))


def uniform(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """Uniform float32 in [0, 1), shaped like ``indices``: a multiple of 2**-24, so exact on every device."""
    return ((random_bits(seed, stream, epoch, indices) >> 40) & 0xFFFFFF).float() * 2.0**-24


def normal(seed: int, stream: str, numbers: Tensor, count: int) -> Tensor:
    """float64 (..., count): as many draws from N(0, 1), by Box and Muller, for each of the int64 ``numbers`` (...)."""
    places = numbers.unsqueeze(-1) * count + torch.arange(count)
    radius = torch.sqrt(-2.0 * torch.log1p(-uniform(seed, f"{stream} radius", 0, places).double()))
    return radius * torch.cos(2.0 * math.pi * uniform(seed, f"{stream} turn", 0, places).double())


def integers(seed: int, stream: str, epoch: int, indices: Tensor, high: int) -> Tensor:
    """Uniform int64 in [0, high), shaped like ``indices``, by scaling 32 bits (Lemire 2019 without the rejection): no number is
    favored by more than high / 2**32. ``high`` is at most 2**31."""
    return (((random_bits(seed, stream, epoch, indices) >> 32) & 0xFFFFFFFF) * high) >> 32


def permutation(seed: int, epoch: int, n: int, device: torch.device | str = "cpu", *, stream: str = "order") -> Tensor:
    """A random order of 0..n-1, int64 (n,): the numbers sorted by their random bits, ties (if ever) by number."""
    return torch.sort(random_bits(seed, stream, epoch, torch.arange(n, device=device)), stable=True).indices
