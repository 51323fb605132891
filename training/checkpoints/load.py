"""Reading checkpoints: digests first, then tensors only; nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from training.checkpoints.plain_state import Refused, read_plain
from training.checkpoints.snapshot import TrainingState
from training.checkpoints.write import AVERAGED
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.records.forms import Manifest
from training.runs.records.manifest import (
    STATE,
    WEIGHTS,
    NewerFormat,
    checkpoint_folders,
    checkpoint_name,
    has_changed,
    read_manifest,
    verify,
)
from training.system.untrusted import escape_unprintable, open_file

_MOST_BYTES = 1 << 44
_MOST_STEPS = 1 << 53


class WholeCheckpoint(NamedTuple):
    """A checkpoint whose files match their digests, and a sentence for each newer one that is damaged."""

    checkpoint: Path
    manifest: Manifest
    refused: list[str]


def newest_good(folder: RunFolder) -> WholeCheckpoint | None:
    """The newest whole checkpoint; None when the run has none yet.

    Raises CheckpointError when there are checkpoints but none of use, and when one of a newer format comes before the newest
    whole one: to go on from there would cut off what a newer version has trained.
    """
    refused: list[str] = []
    for path in checkpoint_folders(folder):
        try:
            manifest = verify(path)
        except NewerFormat:
            raise
        except CheckpointError as error:
            if has_changed(path, error):
                return newest_good(folder)
            refused.append(str(error))
            continue
        if checkpoint_name(manifest.step) == path.name:
            return WholeCheckpoint(path, manifest, refused)
        refused.append(f"{path}: says that it belongs to step {manifest.step}; do not trust it.")
    if refused:
        raise CheckpointError(
            f"No checkpoint of this run is whole, so it cannot go on: {refused[0].partition(';')[0]}.",
            "Put the files back from a backup, or start a new run.",
        )
    return None


def load_weights(checkpoint: Path, model: nn.Module, averaged: bool = False) -> None:
    """Copy a verified checkpoint's weights into ``model``, keeping its device, dtype and memory order.

    ``averaged`` prefers the averaged weights (EMA, SWA) where the checkpoint has them. Raises CheckpointError, naming the difference,
    when the weights belong to another model.
    """
    fill_weights(
        checkpoint / (AVERAGED if averaged and (checkpoint / AVERAGED).is_file() else WEIGHTS), model, checkpoint
    )


def fill_weights(file: Path, model: nn.Module, shown: Path) -> None:
    """The same of a safetensors file, which messages call ``shown``."""
    tensors = load_tensors(file)
    own = model.state_dict()
    # A tied layer has two names for one tensor, of which averages are saved under the first alone.
    held = {_memory(own[key]) for key in tensors if key in own}
    shared = [key for key in own if key in tensors]
    faults = [
        *(
            f"{key} is {_form(tensors[key])} there and {_form(own[key])} here"
            for key in shared
            if _differ(own[key], tensors[key])
        ),
        *(f"{key} is missing there" for key in own if key not in tensors and _memory(own[key]) not in held),
        *(f"{escape_unprintable(key, 100)} is unknown here" for key in tensors if key not in own),
    ]
    if faults:
        raise CheckpointError(
            f"{shown}: its weights belong to another model ({faults[0]}); use the model settings it was saved with."
        )
    with torch.no_grad():
        for key, tensor in tensors.items():
            own[key].copy_(tensor)


def _memory(tensor: Tensor) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """What two names of one tensor have in common."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def _differ(one: Tensor, other: Tensor) -> bool:
    return (one.shape, one.dtype) != (other.shape, other.dtype)


def _form(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; raises CheckpointError when it is not one."""
    try:
        open_file(path, _MOST_BYTES).close()  # safetensors itself would open pipes and devices, too
        return load_file(path)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError, MemoryError) as error:
        raise CheckpointError(
            f"{path}: is not a readable weights file ({escape_unprintable(str(error), 200)}); choose another checkpoint."
        ) from error


def load_state(checkpoint: Path) -> TrainingState:
    """A verified checkpoint's training state; raises CheckpointError for anything but plain data and tensors.

    Every other object is refused before anything is built, so a hostile file executes nothing.
    """
    path = checkpoint / STATE
    try:
        state = read_plain(path)
    except Refused as error:
        raise CheckpointError(f"{path}: {error} and was not loaded; do not trust its source.") from error
    except Exception as error:  # archives and pickles that are broken raise anything
        raise CheckpointError(
            f"{path}: is not a readable training state ({escape_unprintable(str(error), 200)}); choose another checkpoint."
        ) from error
    fault = _fault_of_state(state)
    if not fault and state["progress"]["step"] != read_manifest(checkpoint).step:
        fault = "it stands at another step than its manifest says"
    if fault:
        raise CheckpointError(f"{path}: is not the training state of a run ({fault}); choose another checkpoint.")
    return cast(TrainingState, state)


def _fault_of_state(state: Any) -> str:
    """What a training state lacks before anybody works with it; "" when it has the form of ours."""
    if not isinstance(state, dict):
        return "it is no table"
    for name in ("progress", "optimizer", "rng"):
        if not isinstance(state.get(name), dict):
            return f"it has no {name}"
    progress, optimizer, rng = state["progress"], state["optimizer"], state["rng"]
    for name in ("step", "epoch", "window"):
        number = progress.get(name)
        if type(number) is not int or not 0 <= number <= _MOST_STEPS:
            return f"its {name} is no count"
    groups, numbers = optimizer.get("param_groups"), optimizer.get("state")
    if not isinstance(groups, list) or not all(
        isinstance(group, dict) and isinstance(group.get("params"), list) for group in groups
    ):
        return "its optimizer has no parameter groups"
    if not isinstance(numbers, dict) or not all(isinstance(entry, dict) for entry in numbers.values()):
        return "its optimizer has no state"
    generators = [rng.get("cpu"), *(rng["cuda"] if isinstance(rng.get("cuda"), list) else [None])]
    if not all(isinstance(item, Tensor) and item.dtype == torch.uint8 and item.ndim == 1 for item in generators):
        return "its random generators are no bytes"
    return ""
