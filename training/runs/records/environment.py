"""Reading ``environment.json``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from training.environment import Environment
from training.events import AttemptStarted
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_sealed


def read_environment(folder: RunFolder) -> Environment:
    """What the run began on; with nothing set where the file is missing, damaged, or not what was sealed when it was written."""
    try:
        return Environment.model_validate(read_sealed(folder.environment_file))
    except ValidationError:
        return Environment()


def newest_environment(folder: RunFolder, attempts: Sequence[AttemptStarted]) -> Environment:
    """What the newest attempt that tells was computed on; what the run began on where none does."""
    known = [attempt.environment for attempt in attempts if attempt.environment.model_fields_set]
    return known[-1] if known else read_environment(folder)
