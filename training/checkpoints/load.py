"""Reading checkpoints: digests first, then tensors only; nothing is ever unpickled."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from training.checkpoints.write import AVERAGED
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.manifest import STATE, WEIGHTS, checkpoint_folders, checkpoint_name, verify


def newest_good(folder: RunFolder, steps: int) -> tuple[Path | None, dict[str, Any], list[str]]:
    """The newest checkpoint whose files match their digests, its manifest, and a sentence for each newer one that is
    damaged. None, when the run has no checkpoint yet.

    Only checkpoints within the ``steps`` that the series holds count: after a resume further back, later ones belong
    to a stretch that is being done again. Raises CheckpointError when there are checkpoints but none of use.
    """
    refused: list[str] = []
    paths = checkpoint_folders(folder)
    for path in (path for path in paths if path.name <= checkpoint_name(steps)):
        try:
            return path, verify(path), refused
        except CheckpointError as error:
            refused.append(str(error))
    if refused:
        raise CheckpointError(f"No checkpoint of this run is whole. {refused[0]}")
    if paths:
        raise CheckpointError(
            f"{folder.series_file}: holds only {steps} steps, fewer than came before the oldest checkpoint; put the file "
            "back, or start a new run."
        )
    return None, {}, refused


def load_weights(checkpoint: Path, model: nn.Module, averaged: bool = False) -> None:
    """Copy a verified checkpoint's weights into ``model``, keeping its device, dtype and memory order.

    ``averaged`` prefers the EMA weights where the checkpoint has them. Raises CheckpointError, naming the difference,
    when the weights belong to another model.
    """
    name = AVERAGED if averaged and (checkpoint / AVERAGED).is_file() else WEIGHTS
    tensors = load_tensors(checkpoint / name)
    own = model.state_dict()
    missing, foreign = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
    shapes = [
        f"{key} is {tuple(tensors[key].shape)} there and {tuple(own[key].shape)} here"
        for key in own
        if key in tensors and own[key].shape != tensors[key].shape
    ]
    faults = shapes or [f"{key} is missing there" for key in missing] or [f"{key} is unknown here" for key in foreign]
    if faults:
        raise CheckpointError(
            f"{checkpoint}: its weights belong to another model ({faults[0]}); use the model settings it was saved with."
        )
    with torch.no_grad():
        for key, tensor in tensors.items():
            own[key].copy_(tensor)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; raises CheckpointError when it is not one."""
    try:
        return load_file(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(
            f"{path}: is not a readable weights file ({error}); choose another checkpoint."
        ) from error


def load_state(checkpoint: Path) -> dict[str, Any]:
    """A verified checkpoint's training state; raises CheckpointError for anything but plain data and tensors.

    ``weights_only`` refuses every other object, so a hostile file executes nothing.
    """
    path = checkpoint / STATE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch remarks on odd pickles before it refuses them
            state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path}: holds objects other than tensors and numbers and was not loaded; do not trust its source."
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: is not a readable training state ({error}); choose another checkpoint."
        ) from error
    if not isinstance(state, dict) or not {"progress", "optimizer", "rng"} <= set(state):
        raise CheckpointError(f"{path}: is not the training state of a run; choose another checkpoint.")
    return state
