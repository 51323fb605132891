"""Variation of training images: each drawn for itself, as a function of (seed, epoch, sample, operation)."""

from __future__ import annotations

from training.data.augment.augmenter import Augmenter
from training.data.augment.shift import gather_pixels
from training.data.augment.warp import rotate

__all__ = ["Augmenter", "gather_pixels", "rotate"]
