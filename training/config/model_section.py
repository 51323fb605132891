"""What all sections ``[model]`` have in common."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import Section
from training.facts import Layout

Norm = Literal["none", "batch", "group", "layer"]

NORM_HELP = (
    "batch: by the mean and spread of the batch, the usual choice for pictures. group and layer: by those of each sample, "
    "for small batches and accumulated gradients."
)


class ModelSection(Section):
    """What is known of every network: which inputs it takes, and whether it answers for a sample as a whole or for each of
    its pixels or tokens."""

    takes: ClassVar[tuple[Layout, ...]] = ("image",)
    answers: ClassVar[tuple[Literal["sample", "place"], ...]] = ("sample",)
