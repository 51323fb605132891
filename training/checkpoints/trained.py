"""A checkpoint as the network it holds, with what was known when it was trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from torch import nn

from training.checkpoints.load import load_weights
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.data.normalize import Normalization
from training.errors import CheckpointError
from training.facts import DataFacts
from training.models import make_model
from training.objectives import Objective, make_objective
from training.runs.folder import RunFolder
from training.runs.records.forms import Manifest
from training.runs.records.manifest import verify
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path

_MOST_VALUES = 1 << 28  # in a sample


@dataclass(frozen=True)
class Trained:
    """A verified checkpoint. ``model`` is on the CPU, in float32 and evaluation mode; ``averaged`` says whether it carries
    the run's averaged weights."""

    checkpoint: Path
    manifest: Manifest
    config: RunConfig
    model: nn.Module
    averaged: bool
    facts: DataFacts
    objective: Objective
    normalization: Normalization


_SIDES = {"image": 3, "tokens": 1, "list": 2}
"""How many numbers say the shape of a sample; a person's own Dataset may give arrays of any number of sides as vectors."""


def find_fault(facts: DataFacts, normalization: Normalization, threads: int | None) -> str:
    """What of this no run of ours writes; "" when a model may be built from it and a script be written with it."""
    names, shape = facts.names, facts.shape
    least = 2 if facts.target in ("class", "mask", "tokens") else 1
    if not all(names) or not least <= len(set(names)) == len(names):
        return "its classes are no different names"
    odd = not shape if facts.layout == "vector" else len(shape) != _SIDES[facts.layout]
    if odd or min(shape) <= 0 or math.prod(shape) > _MOST_VALUES:
        return "its shape is no shape"
    mean, std = (*normalization.mean, *facts.target_mean), (*normalization.std, *facts.target_std)
    if not all(map(math.isfinite, (*mean, *std))) or min(std, default=1.0) <= 0.0:
        return "its mean and std are no ordinary numbers"
    if not all(0 <= number < 1 << 31 for number in (*facts.categories, *facts.counts, facts.samples)):
        return "its categories or counts are no ordinary numbers"
    if len(facts.categories) not in (0, shape[-1]):
        return "its features are others than its shape says"
    if len(facts.ranges) not in (0, shape[-1]) or not all(map(math.isfinite, chain(*filter(None, facts.ranges)))):
        return "the ranges of its features are none"
    channels = {"image": shape[0], "tokens": 0}.get(facts.layout, shape[-1])
    if not len(normalization.mean) == len(normalization.std) == channels:
        return "its mean and std are of other channels"
    return "" if threads is not None and 1 <= threads <= 1024 else "its number of threads is none"


def load_trained(checkpoint: Path) -> Trained:
    """Verify ``checkpoint`` and load it. Raises CheckpointError, having loaded nothing, when it is not whole."""
    checkpoint = parse_path(checkpoint).absolute()
    manifest = verify(checkpoint)
    try:
        config = parse_config(manifest.config, str(checkpoint), paths=False)
        data = manifest.data
        facts = DataFacts.from_record(data.dump())
        normalization = Normalization(tuple(data.mean), tuple(data.std), facts.layout, data.missing)
        fault = find_fault(facts, normalization, manifest.threads)
    except (TypeError, ValueError, OverflowError) as error:
        fault = escape_unprintable(f"{type(error).__name__}: {error}", 200)
    if fault:
        raise CheckpointError(
            f"{checkpoint}: its manifest does not say enough about data and model ({fault}); choose another checkpoint."
        )
    run = RunFolder(checkpoint.parent.parent)
    loss, code = run.loss_code_file, run.code_file
    objective = make_objective(config.objective, facts, torch.device("cpu"), loss if loss.is_file() else None)
    model = make_model(config.model, facts, objective.outputs, config.seed, code if code.is_file() else None)
    averaged = AVERAGED in manifest.files  # a file the manifest does not name was not verified
    load_weights(checkpoint, model, averaged=averaged)
    return Trained(
        checkpoint=checkpoint,
        manifest=manifest,
        config=config,
        model=model.eval(),
        averaged=averaged,
        facts=facts,
        objective=objective,
        normalization=normalization,
    )
