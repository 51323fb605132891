"""The sweeps of the workspace with their trials, read in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from studio.services.background import Background
from studio.state.formats import format_metric, metric_title
from studio.state.found_list import FoundList, State
from training.config import RunConfig
from training.errors import InputError, TrainingError, pluralize
from training.sweeps.folder import Budget, Sweep, delete_sweep, list_folders, read_sweep
from training.sweeps.optuna_study import require_optuna
from training.sweeps.records import SweepRecord, read_record
from training.sweeps.space import Space

_Stamp = tuple[int, int]
_OPEN = ("waiting", "running")  # states of a trial


@dataclass(frozen=True)
class KnownSweep:
    """One sweep with the configuration that its trials change; where that, or ``record``, is None, ``problem`` says why."""

    sweep: Sweep
    base: RunConfig | None
    record: SweepRecord | None
    problem: str = ""

    @property
    def id(self) -> str:
        """Its name in the workspace."""
        return self.sweep.id

    @property
    def title(self) -> str:
        """What it is called."""
        return self.sweep.name or (self.id if self.is_told else "Damaged sweep")

    @property
    def is_told(self) -> bool:
        """Whether its folder says at all what it varies."""
        return bool(self.sweep.space.dimensions)

    @property
    def state(self) -> State:
        """How it stands for all that its folder tells."""
        if self.record is None:
            return "damaged"
        if any(trial.alive for trial in self.record.trials):
            return "working"
        if self.record.ended and not self.has_left:
            return "done"
        return "stopped" if self.record.trials else "planned"

    @property
    def has_left(self) -> bool:
        """Whether a trial that was made has not ended."""
        return self.record is not None and any(trial.state in _OPEN for trial in self.record.trials)

    @property
    def fraction(self) -> float | None:
        """The share of its trials that has ended; None where they are not counted beforehand."""
        return self._done / self._most if self._most else None

    @property
    def count(self) -> str:
        """Trials that have ended, of how many."""
        if self.record is None:
            return ""
        done = self._done
        return pluralize(done, "trial") if self._most is None else f"{done} of {pluralize(self._most, 'trial')}"

    @property
    def _done(self) -> int:
        return sum(trial.state not in _OPEN for trial in self.record.trials) if self.record is not None else 0

    @property
    def _most(self) -> int | None:
        most = self.sweep.budget.trials
        by_hand = sum(trial.by_hand for trial in self.record.trials) if self.record is not None else 0
        return None if most is None else most + by_hand

    @property
    def best(self) -> str:
        """The best value with the name of its metric: "Lowest validation loss 0.21"; "" while there is none."""
        if self.record is None or self.record.best is None:
            return ""
        value = self.record.trials[self.record.best].value
        metric = self.sweep.metric
        return "" if value is None else f"{self.goal} {format_metric(metric, value)}"

    @property
    def goal(self) -> str:
        """What is best."""
        return f"{'Highest' if self.sweep.maximize else 'Lowest'} {metric_title(self.sweep.metric)}"


class SweepList(FoundList[KnownSweep, Sweep]):
    """A sweep whose journal is as it was, with no trial under way, is not read again."""

    def __init__(self, workspace: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(workspace, background, parent)
        self._stamps: dict[Path, _Stamp] = {}

    def _delete(self, folder: Sweep) -> None:
        delete_sweep(folder)

    def _prepare(self) -> Callable[[], tuple[KnownSweep, ...]]:
        known = {each.sweep.path: each for each in self.items}
        return lambda: self._read_all(known)

    def _read_all(self, known: Mapping[Path, KnownSweep]) -> tuple[KnownSweep, ...]:
        """The newest first, and those whose settings cannot be read last."""
        found, damaged = [], []
        for path in list_folders(self._workspace):
            try:
                found.append(self._read(read_sweep(path), known))
            except InputError as error:
                nothing = Sweep(path, Space(()), "random", "none", 0, Budget(), "", "", False)
                damaged.append(KnownSweep(nothing, None, None, str(error)))
        found.sort(key=lambda each: (each.sweep.created, each.id), reverse=True)
        return (*found, *damaged)

    def _read(self, sweep: Sweep, known: Mapping[Path, KnownSweep]) -> KnownSweep:
        """A database may wait long, and has no stamp: it is asked again each time, as is a sweep with trials under way."""
        before, stamp = known.get(sweep.path), _read_stamp(sweep)
        is_open = before is None or before.record is None or before.record.count("running") > 0
        if before is not None and not is_open and stamp is not None and self._stamps.get(sweep.path) == stamp:
            return before
        base = before.base if before is not None else None
        try:
            base = base or sweep.base()
            require_optuna(sweep.sampler, sweep.pruner)
            record = read_record(sweep)
        except (TrainingError, OSError) as error:
            return KnownSweep(sweep, base, None, str(error))
        if stamp is not None:
            self._stamps[sweep.path] = stamp
        return KnownSweep(sweep, base, record)


def _read_stamp(sweep: Sweep) -> _Stamp | None:
    if sweep.storage:
        return None
    try:
        status = sweep.journal.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
