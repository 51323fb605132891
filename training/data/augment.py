"""Variation of training pictures: each drawn for itself, as a function of (seed, epoch, sample, operation)."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from training import random
from training.config.dataset import DatasetSection, ImageSection


class Augmenter:
    """Mirror, shift and turn a batch of pictures as ``[dataset]`` asks.

    What is drawn depends on the run's seed, the epoch and the number of the sample alone, so a picture is varied the same
    in whatever batch, process or resumed run it turns up.
    """

    def __init__(self, config: DatasetSection, seed: int) -> None:
        self._seed = seed
        self._flip, self._padding, self._degrees = False, 0, 0.0
        if isinstance(config, ImageSection):
            self._flip, self._padding, self._degrees = config.flip, config.crop_padding, config.rotation
        self.identity = not (self._flip or self._padding or self._degrees)

    def __call__(self, pictures: Tensor, indices: Tensor, epoch: int) -> Tensor:
        """``pictures`` uint8 (B, H, W, C) of the samples ``indices`` int64 (B,), both on one device.

        Returns uint8, or float32 on the same scale of 0 to 255 once rotation is on.
        """
        if self._flip or self._padding:
            pictures = self._moved(pictures, indices, epoch)
        if self._degrees:
            turns = random.uniform(self._seed, "rotation", epoch, indices).double() * 2 - 1
            pictures = rotate(pictures, turns * math.radians(self._degrees))
        return pictures

    def _moved(self, pictures: Tensor, indices: Tensor, epoch: int) -> Tensor:
        """Shift and mirror in one gather of bytes."""
        _, height, width, _ = pictures.shape
        rows = torch.arange(height, device=indices.device).expand(len(indices), height)
        columns = torch.arange(width, device=indices.device).expand(len(indices), width)
        if self._padding:
            span = 2 * self._padding + 1
            places = random.integers(self._seed, "shift", epoch, indices, span * span)
            rows = _reflected(rows + (places // span - self._padding).unsqueeze(1), height)
            columns = _reflected(columns + (places % span - self._padding).unsqueeze(1), width)
        if self._flip:
            mirrored = random.uniform(self._seed, "flip", epoch, indices) < 0.5
            columns = torch.where(mirrored.unsqueeze(1), width - 1 - columns, columns)
        return gather_pixels(pictures, rows, columns)


def gather_pixels(pictures: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Picture b of the result has at (y, x) the pixel (rows[b, y], columns[b, x]) of picture b; (B, H, W, C) each."""
    count, height, width, channels = pictures.shape
    first = torch.arange(count, device=pictures.device).mul_(height * width).view(-1, 1, 1)
    places = ((first + (rows * width).unsqueeze(2)) + columns.unsqueeze(1)).view(-1)
    if channels == 1:  # gather moves single bytes several times faster than index_select
        return pictures.reshape(-1).gather(0, places).view(pictures.shape)
    return pictures.reshape(-1, channels).index_select(0, places).view(pictures.shape)


def rotate(pictures: Tensor, angles: Tensor) -> Tensor:
    """Turn each picture (B, H, W, C) by its angle, float64 (B,) in radians, about the centre; float32, bilinear.

    What turns in from outside is the picture's reflection: black corners would be a feature to learn.
    """
    _, height, width, _ = pictures.shape
    cosine, sine = torch.cos(angles).float().view(-1, 1, 1), torch.sin(angles).float().view(-1, 1, 1)
    # In pixels, so that a picture that is not square turns without shearing. Products and sums one by one: a matrix
    # product may round differently with the size of the batch.
    x = (torch.arange(width, device=pictures.device) - (width - 1) / 2).view(1, 1, -1)
    y = (torch.arange(height, device=pictures.device) - (height - 1) / 2).view(1, -1, 1)
    grid = torch.stack([(x * cosine - y * sine) * (2 / width), (x * sine + y * cosine) * (2 / height)], dim=3)
    turned = functional.grid_sample(
        pictures.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format),
        grid,
        mode="bilinear",
        padding_mode="reflection",
        align_corners=False,
    )
    return turned.permute(0, 2, 3, 1).contiguous()


def _reflected(places: Tensor, size: int) -> Tensor:
    """Places beyond an edge, mirrored back at it (the edge pixel repeats); works for any distance."""
    places = places % (2 * size)
    return torch.minimum(places, 2 * size - 1 - places)
