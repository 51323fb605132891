"""What must be true of a run folder at any moment a kill may leave it in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from training.errors import CheckpointError, InputError
from training.events import FINAL_EVENTS, CheckpointSaved, decode
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, LAST, checkpoint_folders, read_labels, verify
from training.runs.records.series import STEP_ROW, read_series


@dataclass
class Inspector:
    """Looks at ``folder`` after each kill; ``reference`` holds the series of the run that nobody killed."""

    reference: bytes
    newest: int = -1  # step of the newest checkpoint that was ever seen whole or registered
    lost: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def look(self, folder: RunFolder) -> str:
        """Note what is wrong; returns a few words on where the run stands."""
        whole = self._checkpoints(folder)
        registered = self._registered(folder)
        for label, name in read_labels(folder).items():
            if name not in whole:
                self.lost.append(f"the label {label} points at {name}, which is not a whole checkpoint")
        newest = max((int(name.rpartition("-")[2]) for name in whole), default=-1)
        self.newest = max(self.newest, newest, registered)
        if newest < self.newest:
            self.lost.append(
                f"the newest whole checkpoint is that of step {newest}, but there was one of {self.newest}"
            )
        rows = self._series(folder)
        if rows < newest:
            self.faults.append(f"the series has {rows} steps, but there is a checkpoint of step {newest}")
        self._records(folder)
        return f"{rows} steps, checkpoint {max(newest, 0) or 'none'}"

    def _checkpoints(self, folder: RunFolder) -> set[str]:
        """Names of those that verify; anything else under such a name is half of one."""
        whole = set()
        for path in checkpoint_folders(folder):
            try:
                verify(path)
                whole.add(path.name)
            except CheckpointError as error:
                self.lost.append(f"not whole: {error}")
        return whole

    def _registered(self, folder: RunFolder) -> int:
        """The newest step of which the run has said that its checkpoint is saved."""
        lines = folder.events_file.read_bytes().splitlines() if folder.events_file.exists() else []
        return max((event.step for line in lines if isinstance(event := decode(line), CheckpointSaved)), default=-1)

    def _series(self, folder: RunFolder) -> int:
        try:
            rows = read_series(folder.series_file)
        except InputError as error:
            self.faults.append(str(error))
            return 0
        if not self.reference.startswith(rows.tobytes()):
            size = STEP_ROW.itemsize
            pairs = ((rows.tobytes()[n : n + size], self.reference[n : n + size]) for n in range(0, rows.nbytes, size))
            first = next(number for number, (mine, other) in enumerate(pairs, 1) if mine != other)
            self.faults.append(f"row {first} of the series differs from the run that nobody killed")
        return len(rows)

    def _records(self, folder: RunFolder) -> None:
        """Small files are replaced whole, and the status tells the truth."""
        for path in (
            folder.status_file,
            folder.labels_file,
            folder.data_file,
            folder.environment_file,
            folder.packages_file,
        ):
            if path.exists() and not _is_json(path):
                self.faults.append(f"{path.name} is damaged")
        folder.config()
        ended = folder.events_file.exists() and any(
            isinstance(decode(line), FINAL_EVENTS) for line in folder.events_file.read_bytes().splitlines()[-1:]
        )
        status = folder.status().status
        if status != "interrupted" and not (ended and status == "completed"):
            self.faults.append(f'the status reads "{status}"')


def _is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except ValueError:
        return False


def labels_of_the_end(folder: RunFolder) -> dict[str, str]:
    """The labels that a finished run has, "none" for one it has not."""
    labels = read_labels(folder)
    return {label: str(labels.get(label, "none")) for label in (LAST, BEST)}
