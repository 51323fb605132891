"""A checkpoint as the network it holds, with what was known when it was trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from training.checkpoints.load import load_weights
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.data.normalise import Normalisation
from training.errors import CheckpointError
from training.facts import DataFacts, Target
from training.models import make_model
from training.objectives import Objective, make_objective
from training.reading import visible
from training.runs.folder import RunFolder
from training.runs.manifest import verify

_MOST_VALUES = 1 << 28  # in a sample


@dataclass(frozen=True)
class Trained:
    """A verified checkpoint. ``model`` is on the CPU, in float32 and evaluation mode; ``averaged`` says whether it carries
    the run's averaged weights."""

    checkpoint: Path
    manifest: Mapping[str, Any]
    config: RunConfig
    model: nn.Module
    averaged: bool
    facts: DataFacts
    objective: Objective
    normalisation: Normalisation


_SIDES = {"image": 3, "vector": 1, "tokens": 1, "list": 2}
"""How many numbers say the shape of a sample."""


def _fault(facts: DataFacts, normalisation: Normalisation, threads: Any) -> str:
    """What of this no run of ours writes; "" when a model may be built from it and a script be written with it."""
    names, shape = facts.names, facts.shape
    least = 2 if facts.target in ("class", "mask", "tokens") else 1
    if not all(isinstance(name, str) and name.encode() for name in names) or not least <= len(set(names)) == len(names):
        return "its classes are no different names"
    if not all(type(side) is int and side > 0 for side in shape) or not 0 < math.prod(shape) <= _MOST_VALUES:
        return "its shape is no shape"
    if len(shape) != _SIDES.get(facts.layout) or facts.target not in get_args(Target):
        return "its layout is another than its shape"
    numbers = (*normalisation.mean, *normalisation.std)
    numbers += (*facts.target_mean, *facts.target_std)
    if not all(type(number) is float and math.isfinite(number) for number in numbers):
        return "its mean and spread are no ordinary numbers"
    if min((*normalisation.std, *facts.target_std), default=1.0) <= 0.0:
        return "its mean and spread are no ordinary numbers"
    if not all(type(number) is int and 0 <= number < 1 << 31 for number in (*facts.categories, *facts.counts)):
        return "its categories or counts are no ordinary numbers"
    if len(facts.categories) not in (0, shape[-1]) or not all(isinstance(name, str) for name in facts.columns):
        return "its features are others than its shape says"
    texts = (*(text for some in facts.codes for text in some), *facts.merges, facts.vocabulary)
    if not all(isinstance(text, str) for text in texts):
        return "its categories or tokens are no texts"
    if type(facts.samples) is not int or facts.samples < 0:
        return "its number of samples is none"
    channels = {"image": shape[0], "tokens": 0}.get(facts.layout, shape[-1])
    if not len(normalisation.mean) == len(normalisation.std) == channels:
        return "its mean and spread are of other channels"
    if type(threads) is not int or not 1 <= threads <= 1024:
        return "its number of threads is none"
    return ""


def _read_facts(data: Mapping[str, Any]) -> DataFacts:
    """The manifest's "data"; earlier versions knew classes only."""
    names = data.get("names", data.get("classes"))
    if not isinstance(names, list):
        raise TypeError("its classes are no list")
    return DataFacts.from_record({**data, "names": names, "target": data.get("target", "class")})


def load_trained(checkpoint: Path) -> Trained:
    """Verify ``checkpoint`` and load it. Raises CheckpointError, having loaded nothing, when it is not whole."""
    checkpoint = checkpoint.expanduser().absolute()
    manifest = verify(checkpoint)
    try:
        config = parse_config(manifest["config"], str(checkpoint), paths=False)
        data = manifest["data"]
        facts = _read_facts(data)
        missing = bool(data.get("missing", False))
        normalisation = Normalisation(tuple(data["mean"]), tuple(data["std"]), facts.layout, missing)
        fault = _fault(facts, normalisation, manifest.get("threads"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        fault = visible(f"{type(error).__name__}: {error}", 200)
    if fault:
        raise CheckpointError(
            f"{checkpoint}: its manifest does not say enough about data and model ({fault}); choose another checkpoint."
        )
    objective = make_objective(config.objective, facts, torch.device("cpu"))
    code = RunFolder(checkpoint.parent.parent).code_file
    model = make_model(config.model, facts, objective.outputs, config.seed, code if code.is_file() else None)
    averaged = AVERAGED in manifest["files"]  # a file the manifest does not name was not verified
    load_weights(checkpoint, model, averaged=averaged)
    return Trained(
        checkpoint=checkpoint,
        manifest=manifest,
        config=config,
        model=model.eval(),
        averaged=averaged,
        facts=facts,
        objective=objective,
        normalisation=normalisation,
    )
