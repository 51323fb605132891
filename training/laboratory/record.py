"""Which run stands for which step: ``laboratory.json``, so that a second start goes on where the first one ended."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from training.config import RunConfig
from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text

RECORD = "laboratory.json"
KILLED_SERIES = "killed.bin"  # the steps that the killed process had written, to be compared with later


@dataclass(frozen=True)
class Kill:
    """The kill of the last step: how many steps were on the disk, how many epochs had ended, when."""

    step: int
    epochs: int
    time: float


class _Content(BaseModel):
    """``laboratory.json``: the run of each step, the kill, and how long they were expected to take."""

    format: int = 1
    steps: dict[str, str] = {}
    kill: Kill | None = None
    expected: str = ""


class LabRecord:
    """Reads and writes ``laboratory.json`` in the laboratory's folder; every change is on the disk at once."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self._runs = workspace / "runs"
        known = _Content()
        with suppress(ValidationError):  # damaged: everything is trained again
            known = _Content.model_validate(read_json(folder / RECORD))
        self._steps, self.kill = dict(known.steps), known.kill
        self.expected = known.expected

    def any_run_of(self, key: str) -> RunFolder | None:
        """The run that was made for step ``key``, whatever it was told; None when there is none any more."""
        folder = RunFolder(self._runs / self._steps.get(key, ""))
        return folder if key in self._steps and folder.path.is_dir() else None

    def run_of(self, key: str, config: RunConfig) -> RunFolder | None:
        """The run that was made for step ``key`` with just this ``config``; None when there is none any more."""
        folder = self.any_run_of(key)
        return folder if folder is not None and folder.readable_config() == config else None

    def begin(self, key: str, run: RunFolder) -> None:
        """``run`` stands for step ``key`` from now on."""
        self._steps[key] = run.id
        self._write()

    def note_kill(self, kill: Kill | None) -> None:
        """The last step's process was killed, or (None) is to be killed again."""
        self.kill = kill
        self._write()

    def note_expected(self, words: str) -> None:
        """How long the runs that are missing were expected to take, said before the first of them."""
        self.expected = words
        self._write()

    def _write(self) -> None:
        content = _Content(steps=self._steps, kill=self.kill, expected=self.expected)
        write_text(self.folder / RECORD, content.model_dump_json(indent=1) + "\n")
