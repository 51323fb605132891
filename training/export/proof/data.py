"""The run's samples, as an export is proven on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data.source import Source
from training.errors import TrainingError
from training.export.bundle import ExportBundle
from training.export.listings.prepared_tensors import open_for, read_parts
from training.runs.relocation import config_here

TOGETHER = 64
"""Samples that are asked for in one batch."""


@dataclass(frozen=True)
class RealData:
    """The run's samples as they are now, the same as then."""

    source: Source
    splits: dict[str, Tensor]

    def read(self, numbers: Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
        """Samples as an exported graph takes them (images with channels last), and their targets."""
        source = self.source
        found = source.batch_reader.read(source.at_epoch(numbers, None))
        samples, targets = found if isinstance(found, tuple) else (found, None)
        if source.target == "tokens":
            return samples[:, :-1].long().numpy(), samples[:, 1:].int().numpy()
        if source.target == "mask":
            samples, targets = samples[..., :-1], samples[..., -1]
        if targets is None:
            targets = source.targets[numbers]
        if source.layout == "image" and samples.dtype != torch.uint8:
            samples = samples.round().clamp(0, 255).to(torch.uint8)
        return np.ascontiguousarray(samples.numpy()), np.ascontiguousarray(targets.numpy())


def open_data(bundle: ExportBundle, report_progress: Callable[[str, float | None], None]) -> RealData | str:
    """The run's data; where it cannot be had, the reason as a clause."""
    run = bundle.run
    if not run.config_file.is_file():
        return "the checkpoint lies outside its run"
    try:
        config = config_here(run)
        opening = open_for(config, run, report_progress)
        source, splits = read_parts(config, opening, run.exclude_file)
    except (TrainingError, OSError) as error:
        return str(getattr(error, "message", error)).rstrip(".")
    if bundle.manifest.data.fingerprint != source.fingerprint:
        return "the data became another than the run was trained on"
    return RealData(source, splits)


def pick_numbers(data: RealData | str, part: str, count: int) -> Tensor:
    """The numbers of ``count`` samples of a part, seeded."""
    if isinstance(data, str):
        return torch.empty(0, dtype=torch.int64)
    numbers = data.splits[part].cpu()
    return numbers[torch.randperm(len(numbers), generator=torch.Generator().manual_seed(0))[:count]]


def as_network_takes(bundle: ExportBundle, samples: NDArray[Any]) -> Tensor:
    """Samples with the channels of images first."""
    found = torch.from_numpy(samples)
    return found.permute(0, 3, 1, 2).contiguous() if bundle.facts.layout == "image" else found
