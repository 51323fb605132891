"""A run that is complete: what to say to whoever wants to go on with it."""

from __future__ import annotations

import shlex
from pathlib import Path

from training.errors import InputError
from training.events import REACHED, STOPPED_EARLY
from training.runs.folder import RunFolder
from training.runs.records.manifest import checkpoint_name


def explain_complete(folder: RunFolder, checkpoint: Path | None) -> str:
    """That nothing is left to train from ``checkpoint`` (None: the newest), and how to train longer; "" where something
    is left: the run did not complete, or the checkpoint is an earlier one."""
    record = folder.status()
    if record.status != "completed":
        return ""
    last = folder.checkpoints / checkpoint_name(record.step)
    if checkpoint is not None and checkpoint.name != last.name:
        return ""
    try:
        loop = folder.config().loop
    except InputError:  # the resume mends what can be mended and says the rest
        return ""
    reason = record.reason or ""
    if reason.startswith(STOPPED_EARLY):
        longer = "loop.early_stopping_patience=none"
    elif reason.startswith(REACHED):
        longer = "loop.stopping_threshold=none"
    elif loop.max_steps is not None and record.step >= loop.max_steps:
        longer = f"loop.max_steps={2 * loop.max_steps}"
    else:
        longer = f"loop.epochs={2 * loop.epochs}"
    return (
        f"The run {folder.id} is complete at step {record.step:,}{f' ({reason})' if reason else ''}; to train longer, "
        f"branch from it: python -m training resume {shlex.quote(str(folder.path))} --set {longer}"
    )
