"""Counter-based randomness: every number is ``f(seed, stream, epoch, index)``.

There is no state: nothing to save for a resume, nothing that worker processes could disturb, and the same bits on CPU
and GPU. The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA
2014), read at any position: output number ``i`` is the finalizer applied to ``key + (i + 1) * gamma``.

It computes with unsigned 64-bit numbers, which torch does not have everywhere. int64 stands in: sums and products
wrap to the same 64 bits, and the logical right shift is an arithmetic one with the copied sign bits masked away."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import torch
from torch import Tensor

GOLDEN_GAMMA = 0x9E3779B97F4A7C15
FIRST_FACTOR = 0xBF58476D1CE4E5B9
SECOND_FACTOR = 0x94D049BB133111EB
WORD = (1 << 64) - 1


def random_bits(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """64 random bits, as int64, for each of the int64 ``indices``; of any shape, on their device.

    ``stream`` names what the number is for ("flip", "order"), so that two uses never share their draws.
    """
    return splitmix64(stream_key(seed, stream, epoch), indices)


def uniform(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """Uniform float32 in [0, 1), shaped like ``indices``: a multiple of 2**-24, so exact on every device."""
    high = (random_bits(seed, stream, epoch, indices) >> 40) & 0xFFFFFF
    return high.to(torch.float32) * 2.0**-24


def normal(seed: int, stream: str, numbers: Tensor, count: int) -> Tensor:
    """``count`` draws from N(0, 1) for each of the int64 ``numbers`` (...): float64 (..., count), by Box and
    Muller."""
    places = numbers.unsqueeze(-1) * count + torch.arange(count)
    radius = torch.sqrt(-2.0 * torch.log1p(-uniform(seed, f"{stream} radius", 0, places).double()))
    return radius * torch.cos(2.0 * math.pi * uniform(seed, f"{stream} turn", 0, places).double())


def integers(seed: int, stream: str, epoch: int, indices: Tensor, high: int) -> Tensor:
    """Uniform int64 in [0, high), shaped like ``indices``; ``high`` is at most 2**31.

    32 bits are scaled by ``high`` (Lemire 2019 without the rejection): no number is favored by more than high /
    2**32."""
    if not 1 <= high <= 2**31:
        raise ValueError(f"high must be in 1..2**31, but is {high}")
    word = (random_bits(seed, stream, epoch, indices) >> 32) & 0xFFFFFFFF
    return (word * high) >> 32


def permutation(seed: int, epoch: int, n: int, device: torch.device | str = "cpu", *, stream: str = "order") -> Tensor:
    """A random order of 0..n-1, int64 (n,): the numbers sorted by their hash, ties (if ever) by number."""
    keys = random_bits(seed, stream, epoch, torch.arange(n, dtype=torch.int64, device=device))
    return torch.sort(keys, stable=True).indices


def splitmix64(key: int, positions: Tensor) -> Tensor:
    """Outputs of the SplitMix64 generator seeded with ``key`` at the int64 ``positions`` (0 is its first output)."""
    state = positions * as_signed(GOLDEN_GAMMA) + as_signed(key + GOLDEN_GAMMA)
    state = (state ^ ((state >> 30) & (WORD >> 30))) * as_signed(FIRST_FACTOR)
    state = (state ^ ((state >> 27) & (WORD >> 27))) * as_signed(SECOND_FACTOR)
    return state ^ ((state >> 31) & (WORD >> 31))


@lru_cache(maxsize=256)
def stream_key(seed: int, stream: str, epoch: int) -> int:
    """The generator of one (seed, stream, epoch); each part is finalized before the next joins, so none can
    cancel."""
    number = int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")
    return finalize(finalize(number + seed * GOLDEN_GAMMA) + epoch * GOLDEN_GAMMA)


def finalize(number: int) -> int:
    """SplitMix64's finalizer for one Python integer."""
    number &= WORD
    number = (number ^ (number >> 30)) * FIRST_FACTOR & WORD
    number = (number ^ (number >> 27)) * SECOND_FACTOR & WORD
    return number ^ (number >> 31)


def as_signed(number: int) -> int:
    """The int64 with the same 64 bits."""
    number &= WORD
    return number - (1 << 64) if number >> 63 else number
