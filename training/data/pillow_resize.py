"""What ``decode``'s scaling does, on tensors of any device: Pillow's ``ImageOps.fit`` with its bilinear filter.

torch's own ``interpolate`` knows no part of a picture that begins between two pixels, as the middle of one does whose sides
differ by an odd number. Pixels agree with Pillow's up to one level of 255: Pillow 13 scales tall pictures down first and
across second, and rounds between; here every picture goes across first, as in all versions before.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_BITS = 22  # Pillow's fixed-point weights have so many
_LOW = 11
"""Bits of a weight's lower half. Halves of 11 bits, and pixels of 8, are exact even where TensorFloat-32 multiplies, and
their products' sums where float32 adds: whole numbers below 2**24. So no setting and no order of adding changes a bit."""


def fit(picture: Tensor, size: tuple[int, int]) -> Tensor:
    """uint8 (C, H, W) to (C, h, w): the shorter side scaled, with antialiasing, the longer one cut evenly at both ends."""
    height, width = picture.shape[1:]
    left, top, right, bottom = fit_box((width, height), (size[1], size[0]))
    if (right - left, bottom - top) == (size[1], size[0]) and left.is_integer() and top.is_integer():
        return picture[:, int(top) : int(bottom), int(left) : int(right)]
    across, down = weights(width, left, right, size[1]), weights(height, top, bottom, size[0])
    (first_column, columns), (first_row, rows) = across, down
    part = picture[:, first_row : first_row + rows.shape[1], first_column : first_column + columns.shape[1]].float()
    part = _weighed(part, columns.to(picture.device, torch.float32))
    return _weighed(part.mT, rows.to(picture.device, torch.float32)).mT.to(torch.uint8)


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


def weights(length: int, begin: float, end: float, wanted: int) -> tuple[int, Tensor]:
    """How ``wanted`` pixels are made of those from ``begin`` to ``end`` of a line of ``length``: the first that counts,
    and int32 (wanted, pixels) in units of 2**-22.

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
    return first, torch.from_numpy(np.floor(exact * 2**_BITS + 0.5).astype(np.int32))


def _weighed(lines: Tensor, shares: Tensor) -> Tensor:
    """Whole numbers of (C, L, pixels), and weights (wanted, pixels), to whole numbers of (C, L, wanted)."""
    high = torch.floor((shares + 2 ** (_LOW - 1)) / 2**_LOW)
    low = shares - high * 2**_LOW
    sums = (lines @ torch.cat((high, low)).T).to(torch.int32)
    wanted = len(shares)
    whole = (sums[..., :wanted] << _LOW) + sums[..., wanted:]
    return ((whole + (1 << (_BITS - 1))) >> _BITS).clamp(0, 255).float()
