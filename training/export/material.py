"""What every export starts from: a verified checkpoint as a model in evaluation mode, with the facts around it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from training.checkpoints.load import load_weights
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.data.normalise import Normalisation
from training.errors import CheckpointError
from training.models import make_model
from training.reading import visible
from training.runs.folder import RunFolder
from training.runs.manifest import verify

_MOST_VALUES = 1 << 28  # in a sample

SAMPLES = 16
"""Inputs that every proof compares on."""


@dataclass(frozen=True)
class Material:
    """A checkpoint ready for export. ``model`` is on the CPU, in float32 and evaluation mode; ``averaged`` says whether
    it carries the run's EMA weights."""

    checkpoint: Path
    manifest: Mapping[str, Any]
    config: RunConfig
    model: nn.Module
    averaged: bool
    classes: tuple[str, ...]
    shape: tuple[int, ...]
    layout: str
    normalisation: Normalisation

    @property
    def run(self) -> RunFolder:
        """The run the checkpoint was made by; its folder may be gone when the checkpoint was copied elsewhere."""
        return RunFolder(self.checkpoint.parent.parent)

    def samples(self) -> Tensor:
        """(SAMPLES, *shape) seeded inputs as the data holds them: uint8 pixels, or float32 values as spread as the
        training data's."""
        generator = torch.Generator().manual_seed(0)
        if self.layout == "image":
            return torch.randint(0, 256, (SAMPLES, *self.shape), dtype=torch.uint8, generator=generator)
        mean, std = torch.tensor(self.normalisation.mean), torch.tensor(self.normalisation.std)
        return torch.randn((SAMPLES, *self.shape), generator=generator) * std + mean

    @torch.inference_mode()
    def logits(self, samples: Tensor) -> Tensor:
        """What the checkpoint's own model answers to ``samples``: (n, classes) float32."""
        outputs: Tensor = self.model(self.normalisation.apply(samples))
        return outputs


def _fault(classes: tuple[Any, ...], shape: tuple[Any, ...], normalisation: Normalisation, threads: Any) -> str:
    """What of this no run of ours writes; "" when a model may be built from it and a script be written with it."""
    if not all(isinstance(name, str) and name.encode() for name in classes) or not 2 <= len(set(classes)) == len(
        classes
    ):
        return "its classes are no different names"
    if not all(type(side) is int and side > 0 for side in shape) or not 0 < math.prod(shape) <= _MOST_VALUES:
        return "its shape is no shape"
    if len(shape) != {"image": 3, "vector": 1}.get(normalisation.layout):
        return "its layout is another than its shape"
    numbers = (*normalisation.mean, *normalisation.std)
    if not all(type(number) is float and math.isfinite(number) for number in numbers) or min(normalisation.std) <= 0.0:
        return "its mean and spread are no ordinary numbers"
    if not len(normalisation.mean) == len(normalisation.std) == shape[0]:
        return "its mean and spread are of other channels"
    if type(threads) is not int or not 1 <= threads <= 1024:
        return "its number of threads is none"
    return ""


def load_material(checkpoint: Path) -> Material:
    """Verify ``checkpoint`` and load it. Raises CheckpointError, having loaded nothing, when it is not whole."""
    checkpoint = checkpoint.expanduser().absolute()
    manifest = verify(checkpoint)
    try:
        config = parse_config(manifest["config"], str(checkpoint), paths=False)
        data = manifest["data"]
        if not isinstance(data["classes"], list):
            raise TypeError("its classes are no list")
        classes, shape = tuple(data["classes"]), tuple(data["shape"])
        normalisation = Normalisation(tuple(data["mean"]), tuple(data["std"]), data["layout"])
        fault = _fault(classes, shape, normalisation, manifest.get("threads"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        fault = visible(f"{type(error).__name__}: {error}", 200)
    if fault:
        raise CheckpointError(
            f"{checkpoint}: its manifest does not say enough about data and model ({fault}); choose another checkpoint."
        )
    model = make_model(config.model, shape, len(classes), config.seed)
    averaged = AVERAGED in manifest["files"]  # a file the manifest does not name was not verified
    load_weights(checkpoint, model, averaged=averaged)
    return Material(
        checkpoint=checkpoint,
        manifest=manifest,
        config=config,
        model=model.eval(),
        averaged=averaged,
        classes=classes,
        shape=shape,
        layout=normalisation.layout,
        normalisation=normalisation,
    )
