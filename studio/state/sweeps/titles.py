"""What samplers and pruners are called where people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training.sweeps.folder import PrunerName, SamplerName

SAMPLER_TITLES: Final[Mapping[SamplerName, str]] = {
    "tpe": "TPE",
    "gp": "Gaussian process",
    "random": "Random",
    "grid": "Grid",
}
PRUNER_TITLES: Final[Mapping[PrunerName, str]] = {
    "median": "Median",
    "hyperband": "Hyperband",
    "wilcoxon": "Wilcoxon",
    "none": "None",
}
