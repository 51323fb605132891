"""Where each pixel of a varied image comes from, as 3 x 3 matrices: float64 (B, 3, 3) on the CPU.

A matrix takes a place in the new image to its place in the old one. Places are counted in pixels from the image's
middle, x to the right and y down. The formulas are torchvision's. Sums and products are written out one by one: a matrix
product may round differently with the size of the batch.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.data.augment.draws import each


def affine_frame(
    angle: Tensor,
    translate: tuple[Tensor, Tensor],
    scale: Tensor,
    shear: tuple[Tensor, Tensor],
    center: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Turn by ``angle``, scale and shear about ``center`` (default: the middle), then move by ``translate`` pixels.

    Everything is float64 (B,); angles are in radians. As torchvision's ``affine``: T C R(angle) S(scale) SHy SHx C^-1,
    inverted.
    """
    none = torch.zeros_like(angle)
    cx, cy = center or (none, none)
    cos_sy, tan_sx = each(math.cos, shear[1]), each(math.tan, shear[0])
    a = each(math.cos, angle - shear[1]) / cos_sy
    c = each(math.sin, angle - shear[1]) / cos_sy
    b = -(a * tan_sx + each(math.sin, angle))
    d = each(math.cos, angle) - c * tan_sx
    x_x, x_y, y_x, y_y = d / scale, -b / scale, -c / scale, a / scale
    x, y = cx + translate[0], cy + translate[1]
    return _matrix([[x_x, x_y, cx - x_x * x - x_y * y], [y_x, y_y, cy - y_x * x - y_y * y], [none, none, none + 1]])


def perspective_frame(corners: Tensor, height: int, width: int) -> Tensor:
    """The image's corner pixels go to ``corners``, float64 (B, 4, 2): x and y of the pixels that shall show the corners
    top left, top right, bottom right, bottom left, counted from 0 at the top left pixel.

    torchvision solves eight equations; this is their closed form (Heckbert, "Fundamentals of texture mapping and image
    warping", 1989: from the unit square to a quadrilateral, inverted by its adjugate).
    """
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (corner.unbind(1) for corner in corners.unbind(1))
    dx1, dx2, sx = x1 - x2, x3 - x2, x0 - x1 + x2 - x3
    dy1, dy2, sy = y1 - y2, y3 - y2, y0 - y1 + y2 - y3
    divisor = dx1 * dy2 - dx2 * dy1
    g, h = (sx * dy2 - dx2 * sy) / divisor, (dx1 * sy - sx * dy1) / divisor
    a, b, d, e = x1 - x0 + g * x1, x3 - x0 + h * x3, y1 - y0 + g * y1, y3 - y0 + h * y3
    one = torch.ones_like(a)
    right, bottom = float(max(width - 1, 1)), float(max(height - 1, 1))
    back = _matrix(
        [
            [(e - y0 * h) * right, (x0 * h - b) * right, (b * y0 - x0 * e) * right],
            [(y0 * g - d) * bottom, (a - x0 * g) * bottom, (x0 * d - a * y0) * bottom],
            [d * h - e * g, b * g - a * h, a * e - b * d],
        ]
    )
    back = back / back[:, 2:, 2:]
    # torchvision's equations are about corner pixels, and it uses their solution for edges: half a pixel further.
    into, out = (_translate(one, sign * width / 2, sign * height / 2) for sign in (1, -1))
    return compose(out, compose(back, into))


def compose(first: Tensor, second: Tensor) -> Tensor:
    """The places that ``first`` finds for what ``second`` has found."""
    product = first[:, :, :1] * second[:, :1, :]
    product = product + first[:, :, 1:2] * second[:, 1:2, :]
    return product + first[:, :, 2:] * second[:, 2:, :]


def _translate(one: Tensor, x: float, y: float) -> Tensor:
    none = torch.zeros_like(one)
    return _matrix([[one, none, none + x], [none, one, none + y], [none, none, one]])


def _matrix(rows: list[list[Tensor]]) -> Tensor:
    return torch.stack([torch.stack(row, 1) for row in rows], 1)
