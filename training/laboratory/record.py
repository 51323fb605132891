"""Which run stands for which step: ``laboratory.json``, so that a second start goes on where the first one ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from training.atomic import write_text
from training.config import RunConfig
from training.errors import InputError
from training.runs.folder import RunFolder, read_json

RECORD = "laboratory.json"
KILLED_SERIES = "killed.bin"  # the steps that the killed process had written, to be compared with later


@dataclass(frozen=True)
class Kill:
    """The kill of the last step: how many steps were on the disk, how many epochs had ended, when."""

    step: int
    epochs: int
    time: float


class LabRecord:
    """Reads and writes ``laboratory.json`` in the laboratory's folder; every change is on the disk at once."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self._runs = workspace / "runs"
        found = read_json(folder / RECORD)
        steps, kill = found.get("steps"), found.get("kill")
        self._steps: dict[str, str] = (
            {key: value for key, value in steps.items() if isinstance(value, str) and Path(value).name == value}
            if isinstance(steps, dict)
            else {}
        )
        self.kill: Kill | None = None
        if isinstance(kill, dict):
            try:
                self.kill = Kill(int(kill["step"]), int(kill["epochs"]), float(kill["time"]))
            except (KeyError, TypeError, ValueError):
                self.kill = None  # damaged: the step is killed once more

    def run_of(self, key: str, config: RunConfig) -> RunFolder | None:
        """The run that was made for step ``key`` with just this ``config``; None when there is none any more."""
        name = self._steps.get(key)
        folder = RunFolder(self._runs / name) if name else None
        if folder is None or not folder.config_file.is_file():
            return None
        try:
            return folder if folder.config() == config else None
        except InputError:
            return None

    def any_run_of(self, key: str) -> RunFolder | None:
        """The run that was made for step ``key``, whatever it was told."""
        name = self._steps.get(key)
        folder = RunFolder(self._runs / name) if name else None
        return folder if folder is not None and folder.path.is_dir() else None

    def begin(self, key: str, run: RunFolder) -> None:
        """``run`` stands for step ``key`` from now on."""
        self._steps[key] = run.id
        self._write()

    def note_kill(self, kill: Kill | None) -> None:
        """The last step's process was killed, or (None) is to be killed again."""
        self.kill = kill
        self._write()

    def _write(self) -> None:
        content = {"format": 1, "steps": self._steps, "kill": asdict(self.kill) if self.kill else None}
        write_text(self.folder / RECORD, json.dumps(content, indent=1) + "\n")
