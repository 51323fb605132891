"""How a run that ended goes on, and how that is said: from its last checkpoint, or from the beginning where none was saved."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.manifest import checkpoint_folders
from training.runs.rewind import finish_rewind

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WayOn:
    """``verb`` stands on the button, ``tooltip`` says what it does, ``kept`` what is left of the run, in a sentence."""

    verb: str
    tooltip: str
    kept: str


RESUME = WayOn("Resume", "Go on from the last checkpoint", "Everything up to the last checkpoint is kept.")
START_OVER = WayOn("Start over", "Train this run again from its beginning", "No checkpoint was saved.")

LONGER = "A branch of its last checkpoint trains longer: raise Epochs in it."

UNREADABLE = "None of its checkpoints can be read: they are damaged, or a newer version of Trainwright wrote them."


def describe_lack(folder: RunFolder) -> str:
    """Why there is no checkpoint to choose from, of a run that is not at work."""
    return START_OVER.kept if way_on(folder) is START_OVER else UNREADABLE


def way_on(folder: RunFolder | None) -> WayOn:
    """The way on for the run in ``folder``. One whose checkpoints are damaged has none but RESUME: the engine refuses to
    start from the beginning where there was something to go on from, and says what is wrong."""
    if folder is None:
        return RESUME
    try:
        finish_rewind(folder)  # half-way through one there is no folder of checkpoints
        return RESUME if checkpoint_folders(folder) else START_OVER
    except (InputError, OSError) as error:
        logger.warning("The checkpoints of %s cannot be looked at: %s", folder.id, error)
        return RESUME
