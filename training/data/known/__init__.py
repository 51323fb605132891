"""Datasets that torchvision knows by name: their files, where those are to be had, and what their classes are called.

Addresses and digests are those of torchvision 0.30 (``torchvision.datasets``), where no comment says otherwise.
"""

from training.data.known.masked import MASKED
from training.data.known.photographs import PHOTOGRAPHS
from training.data.known.row import KnownSet, own_folder
from training.data.known.small import SMALL_PICTURES

KNOWN_SETS: dict[str, KnownSet] = SMALL_PICTURES | PHOTOGRAPHS

__all__ = ["KNOWN_SETS", "MASKED", "KnownSet", "own_folder"]
