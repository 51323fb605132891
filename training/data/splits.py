"""Which samples train and which judge."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.core.splits import hold_back_by_class, hold_back_groups, hold_back_newest
from training.data.moments import Moments
from training.data.source import Source
from training.errors import InputError


def split_source(source: Source, config: DatasetSection) -> dict[str, Tensor]:
    """``split`` as the samples of ``source`` ask for it."""
    targets = source.targets if source.target == "class" else torch.zeros(len(source.targets), dtype=torch.int64)
    return split(targets, source.parts, config, source.groups, source.in_order, source.moments)


def split(
    targets: Tensor,
    parts: dict[str, Tensor],
    config: DatasetSection,
    groups: Tensor | None = None,
    in_order: bool = False,
    moments: Moments | None = None,
) -> dict[str, Tensor]:
    """Sorted int64 sample numbers of "train", "validation" and, when the data has one left over or the settings want one,
    "test".

    ``targets`` are the int64 (N,) classes (all alike where there are none), ``parts`` what the data came with. Held-back
    samples are drawn class by class from "train" by ``split_seed``: round(fraction * n) in all, shared out by largest
    remainder, and never the last sample of a class. With ``groups`` (int64, (N,)) whole groups are drawn instead, as many
    as come closest to the fraction; ``in_order`` holds back the last samples. Those to test on are drawn likewise, after those
    to validate on, which are the same with and without. ``moments`` holds back the newest to test on, and the newest of the
    others to validate on. Raises InputError when a part would be empty.
    """
    wanted = config.validation if isinstance(config, PartsSection) else "auto"
    train = torch.sort(parts["train"]).values
    if wanted == "test":
        if "test" not in parts:
            raise InputError("dataset.validation: the data has no test part to validate on.", "Choose auto or split.")
        return {"train": train, "validation": torch.sort(parts["test"]).values}
    draw = _Draw(targets, groups, in_order, config.split_seed, moments)
    n = len(train)
    if moments is not None:
        result = {}
        if config.test_fraction:
            train, result["test"] = draw.part(train, config.test_fraction, n, "test_fraction", "")
        train, validation = draw.part(train, config.validation_fraction, n, "validation_fraction", "")
        return {"train": train, "validation": validation, **result}
    if wanted == "auto" and "validation" in parts:
        validation = torch.sort(parts["validation"]).values
    else:
        train, validation = draw.part(train, config.validation_fraction, n, "validation_fraction", "split")
    result = {"train": train, "validation": validation}
    if "test" in parts:
        if config.test_fraction:
            raise InputError(
                "dataset.test_fraction: the data has a test part of its own.",
                "Set this to 0.",
                fix={"dataset.test_fraction": 0.0},
            )
        result["test"] = torch.sort(parts["test"]).values
    elif config.test_fraction:
        result["train"], result["test"] = draw.part(train, config.test_fraction, n, "test_fraction", "test split")
    return result


@dataclass(frozen=True)
class _Draw:
    """How samples are held out; as the arguments of ``split``."""

    targets: Tensor
    groups: Tensor | None
    in_order: bool
    seed: int
    moments: Moments | None = None

    def part(self, of: Tensor, share: float, whole: int, setting: str, stream: str) -> tuple[Tensor, Tensor]:
        """The samples ``of`` that stay, and those held out: ``share`` of ``whole``, which may be more than there are left."""
        fraction = share if whole == len(of) else share * whole / len(of)
        if fraction >= 1.0:
            raise self._refusal(setting, share, whole, of)
        if self.groups is not None:
            held = hold_back_groups(self.groups[of], fraction, self.seed, stream)
        elif self.moments is not None:
            held = hold_back_newest(self.moments.ranks[of], fraction)
        elif self.in_order:
            held = torch.arange(len(of)) >= len(of) - math.floor(fraction * len(of) + 0.5)
        else:
            held = hold_back_by_class(self.targets[of], fraction, self.seed, stream)
        if held.all() or not held.any():
            raise self._refusal(setting, share, whole, of, none_held=not held.any())
        return of[~held], of[held]

    def _refusal(self, setting: str, share: float, whole: int, of: Tensor, none_held: bool = False) -> InputError:
        """In the person's own numbers: ``share`` of ``whole``."""
        judges = "validate" if setting == "validation_fraction" else "test"
        asked, nothing = f"dataset.{setting}: {share:g} of {whole}", f"leaves nothing to train or to {judges} on."
        if none_held and self.groups is not None:
            one = (
                "samples in one group"
                if len(of) == whole
                else f"samples, of which the {len(of)} left are in one group,"
            )
            return InputError(f"{asked} {one} {nothing}", "Change the fraction or add samples, in at least two groups.")
        if none_held and self.moments is not None:
            of_one = f"samples of one moment, {self.moments.show(int(self.moments.ranks[of[0]]))},"
            return InputError(
                f"{asked} {of_one} {nothing}", "Add samples of other moments, or choose another time column."
            )
        if none_held and not self.in_order:
            return InputError(
                f"{asked} training samples leaves none to {judges} on.",
                "Raise the fraction or add samples, at least two of a class.",
            )
        return InputError(f"{asked} samples {nothing}", "Change the fraction or add samples.")
