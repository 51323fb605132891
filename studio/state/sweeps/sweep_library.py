"""The sweeps of the workspace with their trials, read in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background, Refresher
from studio.state.formats import format_metric, metric_title
from training.errors import TrainingError, pluralize
from training.sweeps.folder import Sweep, list_sweeps
from training.sweeps.optuna_study import require_optuna
from training.sweeps.records import SweepRecord, read_record

_Stamp = tuple[int, int]


@dataclass(frozen=True)
class KnownSweep:
    """One sweep; ``record`` is None with why in ``problem``."""

    sweep: Sweep
    record: SweepRecord | None
    problem: str = ""

    @property
    def is_alive(self) -> bool:
        """Whether any process works on a trial of it."""
        return self.record is not None and any(trial.alive for trial in self.record.trials)

    @property
    def varied(self) -> str:
        """Which settings."""
        return ", ".join(each.path for each in self.sweep.space.dimensions)

    @property
    def count(self) -> str:
        """Trials that have ended, of how many."""
        if self.record is None:
            return ""
        done = sum(trial.state in ("complete", "pruned", "failed") for trial in self.record.trials)
        most = self.sweep.budget.trials
        by_hand = sum(trial.by_hand for trial in self.record.trials)
        return pluralize(done, "trial") if most is None else f"{done} of {pluralize(most + by_hand, 'trial')}"

    @property
    def best(self) -> str:
        """The best value with the name of its metric; "" while there is none."""
        if self.record is None or self.record.best is None:
            return ""
        value = self.record.trials[self.record.best].value
        metric = self.sweep.metric
        return "" if value is None else f"{metric_title(metric)} {format_metric(metric, value)}"


class SweepLibrary(QObject):
    """Signals: `changed()` when ``sweeps``, the newest first, were read again, or could not be: ``problem`` says why."""

    changed = Signal()

    def __init__(self, workspace: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sweeps: tuple[KnownSweep, ...] = ()
        self.loaded = False
        self.problem = ""
        self._workspace = workspace
        self._stamps: dict[Path, _Stamp] = {}
        self._refresher = Refresher(background, self._prepare, self._on_read, self._on_failed)

    def find(self, path: Path | None) -> KnownSweep | None:
        """The sweep in that folder."""
        return next((each for each in self.sweeps if each.sweep.path == path), None)

    @Slot()
    def refresh(self) -> None:
        """Read all that may have changed; many calls at once become one more look."""
        self._refresher.ask()

    def _prepare(self) -> Callable[[], tuple[KnownSweep, ...]]:
        known = {each.sweep.path: each for each in self.sweeps}
        return lambda: tuple(self._read(sweep, known) for sweep in reversed(list_sweeps(self._workspace)))

    def _read(self, sweep: Sweep, known: Mapping[Path, KnownSweep]) -> KnownSweep:
        """A database may wait long, and has no stamp: it is asked again each time, as is a sweep with trials under way."""
        before, stamp = known.get(sweep.path), _read_stamp(sweep)
        is_open = before is None or before.record is None or before.record.count("running") > 0
        if before is not None and not is_open and stamp is not None and self._stamps.get(sweep.path) == stamp:
            return before
        try:
            require_optuna(sweep.sampler, sweep.pruner)
            record = read_record(sweep)
        except (TrainingError, OSError) as error:
            return KnownSweep(sweep, None, str(error))
        if stamp is not None:
            self._stamps[sweep.path] = stamp
        return KnownSweep(sweep, record)

    def _on_read(self, found: tuple[KnownSweep, ...]) -> None:
        self.sweeps, self.loaded, self.problem = found, True, ""
        self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        self.problem = str(error)
        self.changed.emit()


def _read_stamp(sweep: Sweep) -> _Stamp | None:
    if sweep.storage:
        return None
    try:
        status = sweep.journal.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
