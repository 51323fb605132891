"""``shapes``: small images of circles, squares, triangles, stars, crosses and rings, drawn when they are read."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.config.sections.data.dataset import ShapesDataset
from training.core import counter_rng
from training.data.source import Opening, Source
from training.data.sources.toys import MadeData

_CLASSES = ("circle", "square", "triangle", "star", "cross", "ring")
_PIXELS_AT_ONCE = 1 << 18  # keeps the temporaries of one piece inside the CPU's cache


class Shapes(MadeData):
    """Images whose every pixel is a function of (seed, number), the classes taking turns.

    Per pixel only additions, products, square roots, minima and maxima are used: IEEE 754 gives those one result each, so a
    image is the same in whatever company it is drawn.
    """

    def __init__(self, samples: int, side: int, noise: float, seed: int) -> None:
        super().__init__("image", _CLASSES, (3, side, side), samples, f"shapes 1 {samples} {side} {noise!r} {seed}")
        self.side, self.noise, self.seed = side, noise, seed

    read_all = Source.read_all  # bytes

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, side, side, 3)."""
        images = torch.empty((len(indices), self.side, self.side, 3), dtype=torch.uint8)
        piece = max(1, _PIXELS_AT_ONCE // self.side**2)
        for kind in range(len(_CLASSES)):
            places = (indices % len(_CLASSES) == kind).nonzero().flatten()
            for some in places.split(piece) if len(places) else ():
                images[some] = _draw(kind, indices[some], self).permute(0, 2, 3, 1)
        return images


def open_shapes(dataset: ShapesDataset, opening: Opening) -> Shapes:
    return Shapes(dataset.samples, dataset.image_size, dataset.noise, dataset.data_seed)


def _draw(kind: int, indices: Tensor, shapes: Shapes) -> Tensor:
    """uint8 (n, 3, side, side): the shape over a gradient, with anti-aliased edges and speckle."""

    def draw(use: str, low: float, high: float) -> Tensor:
        """(n, 1, 1) numbers in [low, high)."""
        return (low + (high - low) * counter_rng.uniform(shapes.seed, f"shapes {use}", 0, indices)).view(-1, 1, 1)

    side = shapes.side
    radius = draw("radius", 0.25, 0.42)
    pixel = (torch.arange(side) + 0.5) / side
    x = pixel.view(1, 1, -1) - (radius * 0.9 + (1 - 1.8 * radius) * draw("x", 0, 1))
    y = pixel.view(1, -1, 1) - (radius * 0.9 + (1 - 1.8 * radius) * draw("y", 0, 1))
    cosine, sine = _direction(draw("turn", -0.06, 0.06))
    outside = _DISTANCES[kind]((x * cosine + y * sine) / radius, (y * cosine - x * sine) / radius)
    cover = (0.5 - outside * (radius * side)).clamp_(0, 1).unsqueeze(1)

    cosine, sine = _direction(draw("gradient", 0, 1))
    along = (0.5 + 0.7 * ((pixel.view(1, 1, -1) - 0.5) * cosine + (pixel.view(1, -1, 1) - 0.5) * sine)).unsqueeze(1)
    # Light shape on dark ground or the other way round, so that there is something to see in every image.
    dark = draw("dark", 0, 1) < 0.5
    hue = draw("hue", 0, 1)
    ink = _color(hue, draw("ink", 0.45, 0.95), torch.where(dark, draw("ink light", 0.7, 1), draw("ink dark", 0.2, 0.6)))
    grounds = [
        _color(
            hue + draw(f"ground {end}", 0.2, 0.8),
            torch.where(dark, draw(f"deep {end}", 0.3, 0.8), draw(f"pale {end}", 0.05, 0.35)),
            torch.where(dark, draw(f"night {end}", 0.08, 0.42), draw(f"day {end}", 0.72, 0.98)),
        )
        for end in ("near", "far")
    ]
    ground = grounds[0] + (grounds[1] - grounds[0]) * along
    image = ground + (ink - ground) * cover
    if shapes.noise > 0:  # its standard deviation is half of ``noise``: at 1 little can be seen
        image += _speckle(indices, side, shapes.seed) * (0.5 * shapes.noise * math.sqrt(6))
    return (image.clamp_(0, 1) * 255 + 0.5).to(torch.uint8)


def _direction(turn: Tensor) -> tuple[Tensor, Tensor]:
    angle = turn.double() * (2 * math.pi)
    return torch.cos(angle).float(), torch.sin(angle).float()


def _color(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """RGB (n, 3, 1, 1) of HSV numbers (n, 1, 1); hue in turns (A. R. Smith, 1978)."""
    thirds = torch.tensor([1.0, 2 / 3, 1 / 3]).view(1, 3, 1, 1)
    away = (((hue.unsqueeze(1) + thirds) % 1.0) * 6 - 3).abs()
    return value.unsqueeze(1) * (1 - saturation.unsqueeze(1) * (1 - (away - 1).clamp(0, 1)))


def _speckle(indices: Tensor, side: int, seed: int) -> Tensor:
    """(n, 3, side, side) numbers in [-1, 1] with a triangular density, variance 1/6: one 64-bit draw serves a pixel."""
    first = (indices * side * side).view(-1, 1, 1)
    word = counter_rng.random_bits(seed, "shapes speckle", 0, first + torch.arange(side * side).view(1, side, side))
    channels = [((word >> 20 * channel) & 0x3FF) + ((word >> (20 * channel + 10)) & 0x3FF) for channel in range(3)]
    return torch.stack(channels, dim=1) * (1 / 1023) - 1


def _circle(x: Tensor, y: Tensor) -> Tensor:
    return (x * x + y * y).sqrt() - 0.88


def _square(x: Tensor, y: Tensor) -> Tensor:
    return torch.maximum(x.abs(), y.abs()) - 0.76


def _triangle(x: Tensor, y: Tensor) -> Tensor:
    sides = [x * math.cos(angle) + y * math.sin(angle) for angle in (math.pi / 2, math.pi * 7 / 6, math.pi * 11 / 6)]
    return torch.maximum(torch.maximum(sides[0], sides[1]), sides[2]) - 0.5


def _star(x: Tensor, y: Tensor) -> Tensor:
    """A point lies in a pentagram when it is beyond at most one of its five lines: the second largest distance counts."""
    largest = second = torch.full_like(x, -9.0)
    for corner in range(5):
        angle = 2 * math.pi * corner / 5
        line = x * math.cos(angle) + y * math.sin(angle)
        second = torch.maximum(second, torch.minimum(largest, line))
        largest = torch.maximum(largest, line)
    return second - math.cos(2 * math.pi / 5)


def _cross(x: Tensor, y: Tensor) -> Tensor:
    across, down = x.abs(), y.abs()
    bars = torch.maximum(across - 0.92, down - 0.3), torch.maximum(across - 0.3, down - 0.92)
    return torch.minimum(*bars)


def _ring(x: Tensor, y: Tensor) -> Tensor:
    return ((x * x + y * y).sqrt() - 0.68).abs() - 0.2


_DISTANCES = (_circle, _square, _triangle, _star, _cross, _ring)
"""In the order of the classes: distance from the outline in units of the radius, negative inside."""
