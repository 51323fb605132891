"""Datasets that torchvision knows by name: their files, where those are to be had, and what their classes are called.

Addresses and digests are those of torchvision 0.30 (``torchvision.datasets``), where no comment says otherwise.
"""

from training.data.torchvision_sets.masked import MASKED
from training.data.torchvision_sets.photographs import PHOTOGRAPHS
from training.data.torchvision_sets.row import KnownSet, own_folder
from training.data.torchvision_sets.small import SMALL_IMAGES

KNOWN_SETS: dict[str, KnownSet] = SMALL_IMAGES | PHOTOGRAPHS

__all__ = ["KNOWN_SETS", "MASKED", "KnownSet", "own_folder"]
