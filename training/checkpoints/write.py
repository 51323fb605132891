"""A snapshot becomes a folder, whole or not at all."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

import training
from training.atomic import sync_folder
from training.checkpoints.snapshot import Snapshot
from training.runs.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, checkpoint_name, digest, seal

AVERAGED = "ema.safetensors"
TEMPORARY = ".writing-"


def write_checkpoint(snapshot: Snapshot, folder: Path) -> Path:
    """Write ``snapshot`` below ``folder`` (the run's checkpoints) and return the finished checkpoint's folder.

    Everything is written to a temporary sibling and fsynced, then renamed, then the parent is fsynced: whoever looks
    at the final name finds the old checkpoint of that step, the new one or none, never half of one.
    """
    final = folder / checkpoint_name(snapshot.step)
    temporary = folder / f"{TEMPORARY}{final.name}-{secrets.token_hex(4)}"
    temporary.mkdir()
    try:
        _save_weights(snapshot.weights, temporary / WEIGHTS)
        if snapshot.averaged:
            _save_weights(snapshot.averaged, temporary / AVERAGED)
        torch.save(snapshot.state, temporary / STATE)
        manifest = _manifest(snapshot, temporary)
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        for path in temporary.iterdir():
            _sync_file(path)
        sync_folder(temporary)
        _replace_folder(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(folder)
    return final


def _save_weights(weights: dict[str, Tensor], path: Path) -> None:
    # One metadata key only: the order of several is not fixed, and the digest must be.
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, path, metadata={"format": "pt"})


def _manifest(snapshot: Snapshot, folder: Path) -> dict[str, Any]:
    files = {path.name: {"bytes": path.stat().st_size, "sha256": digest(path)} for path in sorted(folder.iterdir())}
    return seal(
        {
            "format": FORMAT,
            "step": snapshot.step,
            "epoch": snapshot.epoch,
            "time": time.time(),
            "metrics": dict(snapshot.metrics),
            "versions": {
                "trainwright": training.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
            **snapshot.facts,
            "files": files,
        }
    )


def _sync_file(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _replace_folder(temporary: Path, final: Path) -> None:
    """Rename over ``final``; a folder that is in the way (the same step, done again) steps aside first."""
    if final.exists():
        aside = final.with_name(f"{TEMPORARY}old-{final.name}-{secrets.token_hex(4)}")
        final.rename(aside)
        temporary.rename(final)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        temporary.rename(final)


def remove_leftovers(folder: Path) -> None:
    """Delete what an earlier, killed attempt left half-written below ``folder``."""
    for path in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def remove_checkpoint(path: Path) -> None:
    """Delete a checkpoint; it stops being one at once, however long the deletion takes."""
    aside = path.with_name(f"{TEMPORARY}old-{path.name}-{secrets.token_hex(4)}")
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
