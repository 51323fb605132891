"""Reading ``environment.json``."""

from __future__ import annotations

from pydantic import ValidationError

from training.environment import Environment
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_sealed


def read_environment(folder: RunFolder) -> Environment:
    """What the run began on; with nothing set where the file is missing, damaged, or not what was sealed when it was written."""
    try:
        return Environment.model_validate(read_sealed(folder.environment_file))
    except ValidationError:
        return Environment()
