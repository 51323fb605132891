"""Where the checkpoint is that the report of a branch begins with."""

from __future__ import annotations

from pathlib import Path

from training.embedded_config import EmbeddedConfig
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.manifest import MANIFEST


def find_origin(embedded: EmbeddedConfig, workspace: Path) -> Path | None:
    """The folder of that checkpoint in ``workspace``; None for the report of a run that began from nothing. Raises InputError, saying
    what is needed and where, where the workspace does not have it."""
    if not embedded.origin:
        return None
    run, _, checkpoint = embedded.origin.partition("/")
    found = RunFolder(workspace / "runs" / run).checkpoints / checkpoint
    if not (found / MANIFEST).is_file():
        raise InputError(
            f"This is the report of a branch: it began with {checkpoint} of the run {run}, which is needed and is not at {found}.",
            "Bring it there (copy it, or python -m training fetch), or save the configuration by the link in the report and train that "
            "from the beginning.",
        )
    return found
