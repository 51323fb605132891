"""Everything exported of all runs, read in the background: what the runs noted, and whether the files are still those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background, Refresher
from studio.state.runs.run_library import RunLibrary, RunSummary
from training.errors import TrainingError
from training.runs.export_consent import FACTS
from training.runs.folder import RunFolder, read_json
from training.runs.records.exports import ExportNote, read_exports
from training.runs.records.manifest import digest
from training.system.untrusted import MEGABYTE

FileState = Literal["", "present", "missing", "changed"]
_Stamp = tuple[int, int]


@dataclass(frozen=True)
class Exported:
    """An export of the run ``folder``. ``state`` is "" until its file was compared with the digest; ``adjusted`` says with which
    temperature or threshold it answers."""

    folder: RunFolder
    run: str
    note: ExportNote
    state: FileState = ""
    adjusted: str = ""

    @property
    def path(self) -> Path:
        """Of its main file."""
        return Path(self.note.path)

    @property
    def format(self) -> str:
        """As ``--to`` names it, and whether it was quantized."""
        return f"{self.note.format} {self.note.quantized}".strip()


class Exports(QObject):
    """Signals: ``changed()``: ``found`` or what is known of the files is another; ``failed()``: ``problem`` says why not."""

    changed, failed = Signal(), Signal()

    def __init__(self, library: RunLibrary, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: tuple[Exported, ...] = ()
        self.loaded, self.problem = False, ""
        self._library, self._background = library, background
        self._refresher = Refresher(background, self._prepare, self._on_read, self._on_failed)
        self._digests: dict[Path, tuple[_Stamp, str]] = {}  # used in the background thread alone

    @Slot()
    def refresh(self) -> None:
        """Read all again; many calls at once become one more look."""
        self._refresher.ask()

    def _prepare(self) -> Callable[[], tuple[Exported, ...]]:
        runs = self._library.runs
        return lambda: self._read(runs)

    def _read(self, runs: tuple[RunSummary, ...]) -> tuple[Exported, ...]:
        found = [Exported(run.folder, run.name, note) for run in runs for note in read_exports(run.folder)]
        return tuple(sorted(found, key=lambda each: each.note.time, reverse=True))

    def _on_read(self, found: tuple[Exported, ...]) -> None:
        known = {each.note: each for each in self.found}
        self.found = tuple(
            replace(each, state=known[each.note].state, adjusted=known[each.note].adjusted)
            if each.note in known
            else each
            for each in found
        )
        self.loaded, self.problem = True, ""
        self.changed.emit()
        self._background.submit(lambda: tuple(map(self._check, found)), self._on_checked, self._on_failed)

    def _check(self, each: Exported) -> Exported:
        try:
            status = each.path.stat()
            stamp = (status.st_size, status.st_mtime_ns)
            known = self._digests.get(each.path)
            if known is None or known[0] != stamp:
                known = self._digests[each.path] = stamp, digest(each.path)
        except OSError:
            return replace(each, state="missing")
        state: FileState = "present" if known[1] == each.note.sha256 else "changed"
        return replace(each, state=state, adjusted=_read_adjusted(each.path.parent))

    def _on_checked(self, found: tuple[Exported, ...]) -> None:
        self.found = found
        self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        self.problem = str(error)
        self.failed.emit()


def _read_adjusted(folder: Path) -> str:
    try:
        output = read_json(folder / FACTS, 4 * MEGABYTE).get("output")
    except (TrainingError, OSError):
        return ""
    told = output if isinstance(output, dict) else {}
    named = {name: told.get(name) for name in ("temperature", "threshold")}
    return ", ".join(f"{name} {value:.4g}" for name, value in named.items() if isinstance(value, int | float))
