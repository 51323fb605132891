"""What ``decode``'s scaling does, on tensors of any device: Pillow's ``ImageOps.fit`` with its bilinear filter.

torch's own ``interpolate`` knows no part of a picture that begins between two pixels, as the middle of one does whose sides
differ by an odd number. Pixels agree with Pillow's up to one level of 255: Pillow 13 scales tall pictures down first and
across second, and rounds between; here every picture goes across first, as in all versions before.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_BITS = 22  # Pillow's fixed-point weights have so many
_LOW = 11
"""Bits of a weight's lower half. Halves of 11 bits, and pixels of 8, are exact even where TensorFloat-32 multiplies, and
their products' sums where float32 adds: whole numbers below 2**24. So no setting and no order of adding changes a bit."""
_KEPT = 32  # weights of so many lengths; those of a photograph of twelve megapixels take 5 MB


class Fit:
    """Scales the shorter side of pictures, with antialiasing, to ``size`` (h, w), and cuts the longer one evenly at both
    ends; on ``device``, where it keeps the weights of the sizes it met last."""

    def __init__(self, size: tuple[int, int], device: torch.device) -> None:
        self.size = size
        self._device = device
        self._shares = lru_cache(_KEPT)(self._make_shares)

    def __call__(self, pictures: Tensor) -> Tensor:
        """uint8 (..., H, W) to (..., h, w), each by itself."""
        (height, width), (wanted_height, wanted_width) = pictures.shape[-2:], self.size
        left, top, right, bottom = fit_box((width, height), (wanted_width, wanted_height))
        if (right - left, bottom - top) == (wanted_width, wanted_height) and left.is_integer() and top.is_integer():
            return pictures[..., int(top) : int(bottom), int(left) : int(right)]
        columns, across = self._shares(width, left, right, wanted_width)
        rows, down = self._shares(height, top, bottom, wanted_height)
        part = _weighed(pictures[..., rows, columns].float(), across)
        return _weighed(part.mT, down).mT.to(torch.uint8)

    def _make_shares(self, length: int, begin: float, end: float, wanted: int) -> tuple[slice, Tensor]:
        """The pixels that count, and float32 (pixels, 2 x wanted): the weights' upper halves, then the lower ones."""
        places, weights = fit_weights(length, begin, end, wanted)
        high = (weights + (1 << (_LOW - 1))) >> _LOW
        halves = np.concatenate((high, weights - (high << _LOW))).T.astype(np.float32)
        return places, torch.from_numpy(np.ascontiguousarray(halves)).to(self._device)


def fit_box(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of the largest part in the middle, of (width, height), of the shape of ``wanted``."""
    (width, height), ratio = size, wanted[0] / wanted[1]
    across, down = float(width), float(height)
    if width / height > ratio:
        across = ratio * height
    elif width / height < ratio:
        down = width / ratio
    left, top = (width - across) * 0.5, (height - down) * 0.5
    return left, top, left + across, top + down


def fit_weights(length: int, begin: float, end: float, wanted: int) -> tuple[slice, NDArray[np.int64]]:
    """How ``wanted`` pixels are made of those from ``begin`` to ``end`` of a line of ``length``: which of them count, and
    int64 (wanted, pixels) in units of 2**-22.

    The bilinear filter is a triangle about each new pixel's centre, as wide as a new pixel or an old one, whichever is
    wider (antialiasing); its weights sum to 1 and are rounded as Pillow's ``ImagingResample`` does.
    """
    scale = (end - begin) / wanted
    reach = max(scale, 1.0)
    centers = begin + (np.arange(wanted) + 0.5) * scale
    firsts = np.maximum((centers - reach + 0.5).astype(np.int64), 0)
    lasts = np.minimum((centers + reach + 0.5).astype(np.int64), length)
    first, last = int(firsts.min()), int(lasts.max())
    places = np.arange(first, last)
    triangle = 1.0 - np.abs((places + 0.5 - centers[:, None]) / reach)
    triangle[(places < firsts[:, None]) | (places >= lasts[:, None]) | (triangle < 0.0)] = 0.0
    exact = triangle / triangle.sum(1, keepdims=True)
    return slice(first, last), np.floor(exact * 2**_BITS + 0.5).astype(np.int64)


def _weighed(lines: Tensor, halves: Tensor) -> Tensor:
    """Whole numbers of (..., pixels), and weights, to whole numbers of (..., wanted)."""
    sums = (lines @ halves).to(torch.int32)
    wanted = halves.shape[1] // 2
    whole = (sums[..., :wanted] << _LOW) + sums[..., wanted:]
    # None exceeds 255: no weight is negative, and their sum is 1.
    return ((whole + (1 << (_BITS - 1))) >> _BITS).float()
