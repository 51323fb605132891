"""What the tests of runs that go back to an older checkpoint share: such a run, and all that there is of it."""

from __future__ import annotations

from pathlib import Path

from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.runs.folder import RunFolder
from training.runs.records.manifest import digest, list_checkpoints
from training.runs.set_aside import SET_ASIDE

OFTEN = "loop.validate_every_steps=4"

OF_THE_ATTEMPT = {"log.txt", "data.json"}
"""What an attempt says of itself and of how it reads the data; no part of what was trained."""


def state(folder: RunFolder) -> dict[str, str]:
    """Every file of the run by its digest, but for what is set aside."""
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    names = {path: str(path.relative_to(folder.path)) for path in files}
    return {
        name: digest(path)
        for path, name in names.items()
        if name not in OF_THE_ATTEMPT and not name.startswith(SET_ASIDE)
    }


def trained(workspace: Path, *overrides: str) -> RunFolder:
    return RunFolder(Path(start_run(tiny(*overrides), workspace).folder))


def steps(folder: RunFolder) -> list[int]:
    return [info.step for info in list_checkpoints(folder)]
