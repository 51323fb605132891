"""Throwing single checkpoints of a run away, and bringing them back."""

from __future__ import annotations

from pathlib import Path

from training.errors import CheckpointError, InputError
from training.runs.folder import RunFolder, claim, refuse_removal, release
from training.runs.records.manifest import checkpoint_folders, checkpoint_step, verify
from training.runs.trash import trash_part


def throw_away_checkpoint(folder: RunFolder, checkpoint: Path) -> RunFolder:
    """Move a checkpoint into the trash; returns where it lies, which ``restore_run`` takes. Labels stay as they are: they say nothing
    while the checkpoint is away, and are true again when it comes back.

    Raises RunBusyError while a process works on the run, InputError for the newest checkpoint that is whole: a run keeps it.
    """
    refuse_removal(folder)
    claim(folder.path)
    try:
        if not checkpoint.is_dir():
            raise InputError(f"{checkpoint}: there is no checkpoint folder here; it was deleted meanwhile.")
        if checkpoint == _newest_whole(folder):
            raise InputError(
                f"Step {checkpoint_step(checkpoint):,} is the newest checkpoint that is whole: the run goes on from there, so it stays. "
                "To be rid of all of it, delete the run."
            )
        return trash_part(folder, checkpoint, f"Checkpoint of step {checkpoint_step(checkpoint):,}")
    finally:
        release(folder.path)


def _newest_whole(folder: RunFolder) -> Path | None:
    for path in checkpoint_folders(folder):
        try:
            verify(path)
        except CheckpointError:
            continue
        return path
    return None
