"""What a run was written for and where it was submitted: a small file in its folder. How far it is says the folder itself."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from training.launch.plan import KINDS, Kind, Machines
from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text

_FILE = "launch.json"
_SCRIPTS: dict[Kind, str] = {"slurm": "slurm.sh", "kubernetes": "trainjob.yaml", "skypilot": "skypilot.yaml"}


class Launch(BaseModel):
    """``launch.json``; ``job`` is "" until it is submitted, ``cluster`` where Slurm names one of several."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    kind: Kind
    nodes: int
    ranks: int
    job: str = ""
    cluster: str = ""
    submitted: float | None = None

    @property
    def machines(self) -> str:
        """ "2 nodes x 4 ranks"."""
        return str(Machines(self.nodes, self.ranks))

    @property
    def name(self) -> str:
        """What is to train it."""
        return KINDS[self.kind]


def script_of(folder: RunFolder, kind: Kind) -> Path:
    """Where the file lies that such a cluster takes."""
    return folder.launch / _SCRIPTS[kind]


def read_launch(folder: RunFolder) -> Launch | None:
    """None for a run that no file was written for."""
    try:
        return Launch.model_validate(read_json(folder.launch / _FILE))
    except ValidationError:
        return None


def write_launch(folder: RunFolder, launch: Launch) -> None:
    """Keep it in the run's folder. Raises OSError."""
    folder.launch.mkdir(exist_ok=True)
    write_text(folder.launch / _FILE, json.dumps(launch.model_dump(), indent=1) + "\n")
