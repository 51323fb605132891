"""Randomness as a function instead of a state.

Every number is ``f(seed, stream, epoch, index)``: nothing to save, nothing that worker processes could disturb, and the
same bits on processor and GPU. The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
generators", OOPSLA 2014), read at any position: output number ``i`` is the finaliser applied to ``key + (i + 1) * gamma``.

torch has no unsigned 64-bit arithmetic everywhere, so int64 stands in: sums and products wrap to the same 64 bits, and
the logical right shift is an arithmetic one with the copied sign bits masked away.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import torch
from torch import Tensor

_GAMMA = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = (1 << 64) - 1


def bits(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """64 random bits, as int64, for each of the int64 ``indices``; of any shape, on their device.

    ``stream`` names what the number is for ("flip", "order"), so that two uses never share their draws.
    """
    return sequence(_key(seed, stream, epoch), indices)


def uniform(seed: int, stream: str, epoch: int, indices: Tensor) -> Tensor:
    """Uniform float32 in [0, 1), shaped like ``indices``: a multiple of 2**-24, so exact on every device."""
    high = (bits(seed, stream, epoch, indices) >> 40) & 0xFFFFFF
    return high.to(torch.float32) * 2.0**-24


def integers(seed: int, stream: str, epoch: int, indices: Tensor, high: int) -> Tensor:
    """Uniform int64 in [0, high), shaped like ``indices``; ``high`` is at most 2**31.

    32 bits are scaled by ``high`` (Lemire 2019 without the rejection): no number is favoured by more than high / 2**32.
    """
    if not 1 <= high <= 2**31:
        raise ValueError(f"high must be in 1..2**31, but is {high}")
    word = (bits(seed, stream, epoch, indices) >> 32) & 0xFFFFFFFF
    return (word * high) >> 32


def permutation(seed: int, epoch: int, n: int, device: torch.device | str = "cpu", *, stream: str = "order") -> Tensor:
    """A random order of 0..n-1, int64 (n,): the numbers sorted by their hash, ties (if ever) by number."""
    keys = bits(seed, stream, epoch, torch.arange(n, dtype=torch.int64, device=device))
    return torch.sort(keys, stable=True).indices


def sequence(key: int, positions: Tensor) -> Tensor:
    """Outputs of the SplitMix64 generator seeded with ``key`` at the int64 ``positions`` (0 is its first output)."""
    state = positions * _signed(_GAMMA) + _signed(key + _GAMMA)
    state = (state ^ ((state >> 30) & (_WORD >> 30))) * _signed(_FIRST)
    state = (state ^ ((state >> 27) & (_WORD >> 27))) * _signed(_SECOND)
    return state ^ ((state >> 31) & (_WORD >> 31))


@lru_cache(maxsize=256)
def _key(seed: int, stream: str, epoch: int) -> int:
    """The generator of one (seed, stream, epoch); each part is finalised before the next joins, so none can cancel."""
    return _finalise(_finalise(_stream_number(stream) + seed * _GAMMA) + epoch * _GAMMA)


@lru_cache(maxsize=256)
def _stream_number(stream: str) -> int:
    return int.from_bytes(hashlib.sha256(stream.encode()).digest()[:8], "little")


def _finalise(number: int) -> int:
    number &= _WORD
    number = (number ^ (number >> 30)) * _FIRST & _WORD
    number = (number ^ (number >> 27)) * _SECOND & _WORD
    return number ^ (number >> 31)


def _signed(number: int) -> int:
    """The int64 with the same 64 bits."""
    number &= _WORD
    return number - (1 << 64) if number >> 63 else number
