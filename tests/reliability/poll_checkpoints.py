"""A reader that looks at a run folder as fast as it can; a process of its own.

    python -m tests.reliability.poll_checkpoints RUN_FOLDER ENOUGH

Looks until its input ends, and once more; makes the file ENOUGH when it has found ten whole checkpoints. Then prints as JSON how often it found a whole checkpoint, how often one had vanished, and what
it found that must not be.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from training.checkpoints import newest_good
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.records.manifest import checkpoint_folders, has_changed, verify


class Reader:
    """What was seen so far."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.whole = self.vanished = 0
        self.faults: list[str] = []
        self._had_one = False

    def look(self) -> None:
        """Once at everything."""
        try:
            newest = newest_good(self._folder)
            self.faults += newest.refused if newest else []
            if newest is None and self._had_one:
                self.faults.append("there is no checkpoint any more")
            self._had_one |= newest is not None
        except CheckpointError as error:
            self.faults.append(str(error))
        for path in checkpoint_folders(self._folder):
            try:
                verify(path)
                self.whole += 1
            except CheckpointError as error:
                if has_changed(path, error):
                    self.vanished += 1
                else:
                    self.faults.append(str(error))
        labels, _ = self._read(self._folder.labels_file), self._read(self._folder.path / "status.json")
        if self._had_one and labels is not None and "last" not in labels:
            self.faults.append(f"no label last among {labels}")

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            self.faults.append(f"{path.name}: {error}")
            return None
        return content


def main() -> None:
    reader = Reader(RunFolder(Path(sys.argv[1])))
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    sys.stdout.write("looking\n")
    sys.stdout.flush()
    looking = True
    while looking:
        looking = not ended.is_set()
        reader.look()
        if reader.whole > 10:
            Path(sys.argv[2]).touch()
    seen = {"whole": reader.whole, "vanished": reader.vanished, "faults": reader.faults[:20]}
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
