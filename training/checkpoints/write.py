"""A snapshot becomes a folder, whole or not at all."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import IO, cast

import torch

import training
from training.checkpoints.files import HashedFile, write_tensors
from training.checkpoints.snapshot import Snapshot
from training.errors import CheckpointError
from training.runs.records.forms import FileFacts, Manifest
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, checkpoint_name, seal, verify
from training.system.atomic import sync_folder

AVERAGED = "ema.safetensors"
TEMPORARY = ".writing-"
_HERE, _RENAME_EXCHANGE = -100, 2  # AT_FDCWD and the flag, from linux/fcntl.h and linux/fs.h


def write_checkpoint(snapshot: Snapshot, folder: Path) -> Path:
    """Write ``snapshot`` below ``folder`` (the run's checkpoints) and return the finished checkpoint's folder.

    Everything is written to a temporary sibling and fsynced, then renamed, then the parent is fsynced: whoever looks
    at the final name finds the old checkpoint of that step, the new one or none, never half of one. A step that is
    done again comes to the same tensors; then the checkpoint that is there already stays.
    """
    snapshot.wait_for_copies()
    final = folder / checkpoint_name(snapshot.step)
    temporary = folder / f"{TEMPORARY}{final.name}-{secrets.token_hex(4)}"
    temporary.mkdir()
    try:
        files = _write_files(snapshot, temporary)
        if _is_there(final, files):
            shutil.rmtree(temporary, ignore_errors=True)
            return final
        with HashedFile(temporary / MANIFEST) as stream:
            stream.write(json.dumps(seal(_manifest(snapshot, files).dump()), indent=1).encode() + b"\n")
        sync_folder(temporary)
        _replace_folder(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(folder)
    return final


def _write_files(snapshot: Snapshot, folder: Path) -> dict[str, FileFacts]:
    """All files but the manifest; returns what the manifest says about them."""
    files: dict[str, FileFacts] = {}
    for name, weights in ((AVERAGED, snapshot.averaged), (WEIGHTS, snapshot.weights)):
        if weights:
            with HashedFile(folder / name) as stream:
                write_tensors(weights, stream)
            files[name] = stream.facts()
    with HashedFile(folder / STATE) as stream:
        torch.save(snapshot.state, cast(IO[bytes], stream))
    files[STATE] = stream.facts()
    return files


def _is_there(checkpoint: Path, files: dict[str, FileFacts]) -> bool:
    """Whether ``checkpoint`` is whole and holds the very ``files``."""
    try:
        return checkpoint.exists() and verify(checkpoint).files == files
    except (CheckpointError, OSError):
        return False


def _manifest(snapshot: Snapshot, files: dict[str, FileFacts]) -> Manifest:
    versions = {
        "trainwright": training.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    return Manifest.model_validate(
        {
            "format": FORMAT,
            "step": snapshot.step,
            "epoch": snapshot.epoch,
            "time": time.time(),
            "metrics": dict(snapshot.metrics),
            "versions": versions,
            **snapshot.facts,
            "files": files,
        }
    )


def _replace_folder(temporary: Path, final: Path) -> None:
    """Rename to ``final``, exchanging what is in the way (the same step, done again with another result)."""
    if not final.exists():
        temporary.rename(final)
        return
    aside = final.with_name(f"{TEMPORARY}old-{final.name}-{secrets.token_hex(4)}")
    if _exchange(temporary, final):
        temporary.rename(aside)
    else:  # for a moment there is no checkpoint of this step, where the system cannot exchange
        final.rename(aside)
        temporary.rename(final)
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders swap their names at once (renameat2 of Linux); False where that cannot be done."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc has it since 2.28
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0


def remove_leftovers(folder: Path) -> None:
    """Delete what an earlier, killed attempt left half-written below ``folder``."""
    for path in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def remove_checkpoint(path: Path) -> None:
    """Delete a checkpoint; it stops being one at once, however long the deletion takes."""
    aside = path.with_name(f"{TEMPORARY}old-{path.name}-{secrets.token_hex(4)}")
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
