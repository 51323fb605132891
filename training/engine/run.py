"""A run: new, resumed or branched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.checkpoints import newest_good
from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import diff
from training.config.files import config_data
from training.engine.attempt import work_on
from training.engine.device import choose_device
from training.engine.hooks import Hooks
from training.engine.restore import Anew, Branch, Resume
from training.errors import CheckpointError
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.manifest import verify
from training.runs.series import read_series
from training.runs.workspace import find_target

__all__ = ["Hooks", "branch_run", "resume_run", "start_run"]


def start_run(config: RunConfig, workspace: Path, hooks: Hooks | None = None) -> dict[str, Any]:
    """Train ``config`` in a new run folder; returns the run's status record.

    Raises InputError, leaving nothing behind, when the configuration or its data cannot be used.
    """
    choose_device(config.precision.device)  # said before anything is made
    folder = create_run(workspace, config)
    return work_on(folder, config, hooks or Hooks(), restore=None, new=True)


def resume_run(
    target: str, workspace: Path, overrides: Sequence[str] = (), hooks: Hooks | None = None
) -> dict[str, Any]:
    """Go on with a run from its newest whole checkpoint, or from the one that ``target`` names.

    ``overrides`` that change no result (loader, saving) apply to this attempt; others make a branch, a new run, which
    begins from the start when there is no checkpoint yet. Raises InputError when there is nothing to go on with.
    """
    hooks = hooks or Hooks()
    folder, checkpoint = find_target(target, workspace)
    config = folder.config()
    if overrides:
        data = config_data(config)
        apply_overrides(data, overrides)
        changed = parse_config(data, "--set", paths=False)
        changes = diff(config, changed)
        if any(change.affects_result for change in changes):
            beside = folder.path.parent.parent if folder.path.parent.name == "runs" else workspace
            newest = checkpoint or newest_good(folder, len(read_series(folder.series_file)))[0]
            if newest is None:
                new = create_run(beside, changed, parent={"run": folder.id, "checkpoint": None})
                return work_on(new, changed, hooks, restore=Anew(folder, changes), new=True)
            return branch_run(newest, changed, beside, hooks)
        config = changed
    parse_config(config_data(config), folder.id)  # its files must still be there
    claim(folder)
    try:
        restore = _resume_from(folder, checkpoint)
    except BaseException:
        release(folder)
        raise
    return work_on(folder, config, hooks, restore=restore, new=False)


def branch_run(checkpoint: Path, config: RunConfig, workspace: Path, hooks: Hooks | None = None) -> dict[str, Any]:
    """A new run that begins with what ``checkpoint`` holds and goes on with ``config``."""
    manifest = verify(checkpoint)
    parent = RunFolder(checkpoint.parent.parent)
    folder = create_run(workspace, config, parent={"run": parent.id, "checkpoint": str(checkpoint)})
    return work_on(folder, config, hooks or Hooks(), restore=Branch(checkpoint, manifest, parent), new=True)


def _resume_from(folder: RunFolder, checkpoint: Path | None) -> Resume | None:
    """What to resume from; None (from the beginning) when the run was cut off before its first checkpoint."""
    rows = len(read_series(folder.series_file))
    if checkpoint is None:
        newest, manifest, refused = newest_good(folder, rows)
        return Resume(newest, manifest, refused) if newest else None
    manifest = verify(checkpoint)
    if manifest["step"] > rows:
        raise CheckpointError(
            f"{checkpoint}: lies ahead of the run, which was taken back to step {rows}; resume the run itself, or branch "
            "from this checkpoint."
        )
    return Resume(checkpoint, manifest, [])
