"""The rows of a run's epochs: made from its folder, and brought up to date by what differs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from training.runs.folder import RunFolder
from training.runs.index.facts import RunSettings, insert_rows, read_settings, write_finals, write_settings
from training.runs.index.tables import EpochRow, MetricRow, RunRow
from training.runs.records.environment import newest_environment
from training.runs.records.finals import find_finals
from training.runs.records.history import History
from training.runs.records.manifest import checkpoint_folders, checkpoint_name
from training.runs.records.series import read_steps
from training.system.untrusted import escape_unprintable

_AT_ONCE = 500  # rows named in one statement: databases limit how many values one may hold


@dataclass(frozen=True)
class _Epoch:
    """What the tables hold of one epoch."""

    step: int
    train_loss: float | None
    val_loss: float | None
    lr: float | None
    checkpoint: str | None
    metrics: dict[str, float | None] = field(default_factory=dict)


class EpochRows:
    """The rows of one run. Remembers what it wrote, so that an epoch more is one row more.

    ``write`` belongs into a transaction, and ``settle`` behind its commit; without that the next one looks again at what the
    database holds.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._history = History(folder.events_file)
        self._rates: dict[tuple[int, float], float] = {}  # by step and time of the event: a step may be done again
        self._settings: RunSettings | None = None
        self._written: dict[int, _Epoch] | None = None
        self._wanted: dict[int, _Epoch] = {}

    def write(self, session: Session) -> None:
        """Replace, add and remove what differs from the folder."""
        run = self._folder.id
        # One writer of a run's rows at a time: a list that catches up and the run itself would both add the newest epoch.
        before = session.scalar(select(RunRow.history).where(RunRow.id == run).with_for_update())
        stamp = history_stamp(self._folder)
        wanted = self._read_folder()
        written, self._written = self._written, None
        if written is None:
            written = _read_rows(session, run)
        self._write_facts(session, stamp, is_first=before == "")
        changed = {epoch: row for epoch, row in wanted.items() if written.get(epoch) != row}
        _remove(session, run, [*(written.keys() - wanted.keys()), *(changed.keys() & written.keys())])
        _add(session, run, changed)
        self._wanted = wanted

    def _write_facts(self, session: Session, stamp: str, *, is_first: bool) -> None:
        run, history = self._folder.id, self._history
        if self._settings is None:  # a configuration does not change
            self._settings = read_settings(self._folder)
        write_settings(session, run, self._settings, is_first=is_first)
        write_finals(session, run, find_finals(history), is_first=is_first)
        environment = newest_environment(self._folder, history.attempts)
        data = escape_unprintable(environment.data or "", 80)[:80]
        facts = {"history": stamp, "recipe": self._settings.recipe, "data": data}
        session.execute(update(RunRow).where(RunRow.id == run).values(**facts))

    def settle(self) -> None:
        """What ``write`` was about is in the database."""
        self._written = self._wanted

    def _read_folder(self) -> dict[int, _Epoch]:
        self._history.poll()
        kept = {path.name for path in checkpoint_folders(self._folder)}
        found = {}
        for end in self._history.epochs:
            name = checkpoint_name(end.step)
            metrics = {each: _finite(value) for each, value in end.metrics.items()}
            found[end.epoch] = _Epoch(
                step=end.step,
                train_loss=metrics.get("train/loss"),
                val_loss=metrics.get("val/loss"),
                lr=self._rate(end.step, end.time),
                checkpoint=escape_unprintable(str(self._folder.checkpoints / name)) if name in kept else None,
                metrics=metrics,
            )
        return found

    def _rate(self, step: int, time: float) -> float | None:
        if (step, time) not in self._rates:
            rows = read_steps(self._folder.series_file, step, step)
            if len(rows):
                self._rates[step, time] = float(rows["lr"][0])
        rate = self._rates.get((step, time))
        return None if rate is None else _finite(rate)


def history_stamp(folder: RunFolder) -> str:
    """Tells one state of a run's events and checkpoints from another."""
    parts = []
    for name in ("events.jsonl", "checkpoints"):
        try:
            found = os.stat(f"{folder.path}{os.sep}{name}")
        except OSError:
            parts.append("")
            continue
        parts.append(f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}")
    return " ".join(parts)


def forget_epochs(session: Session, runs: Iterable[str]) -> None:
    """Remove all rows of the epochs of ``runs``."""
    gone = list(runs)
    for first in range(0, len(gone), _AT_ONCE):
        for table in (EpochRow, MetricRow):
            session.execute(delete(table).where(table.run.in_(gone[first : first + _AT_ONCE])))


def _finite(value: float) -> float | None:
    """Databases sort what is no number each in its own way."""
    return value if math.isfinite(value) else None


def _read_rows(session: Session, run: str) -> dict[int, _Epoch]:
    metrics: dict[int, dict[str, float | None]] = {}
    for epoch, name, value in session.execute(
        select(MetricRow.epoch, MetricRow.name, MetricRow.value).where(MetricRow.run == run)
    ):
        metrics.setdefault(epoch, {})[name] = value
    rows = session.execute(
        select(
            EpochRow.epoch, EpochRow.step, EpochRow.train_loss, EpochRow.val_loss, EpochRow.lr, EpochRow.checkpoint
        ).where(EpochRow.run == run)
    )
    return {row.epoch: _Epoch(*row[1:], metrics=metrics.pop(row.epoch, {})) for row in rows}


def _remove(session: Session, run: str, epochs: list[int]) -> None:
    for first in range(0, len(epochs), _AT_ONCE):
        some = epochs[first : first + _AT_ONCE]
        for table in (EpochRow, MetricRow):
            session.execute(delete(table).where(table.run == run, table.epoch.in_(some)))


def _add(session: Session, run: str, epochs: dict[int, _Epoch]) -> None:
    rows, metrics = [], []
    for epoch, row in epochs.items():
        facts = {name: value for name, value in vars(row).items() if name != "metrics"}
        rows.append({"run": run, "epoch": epoch, **facts})
        metrics += [{"run": run, "epoch": epoch, "name": name, "value": value} for name, value in row.metrics.items()]
    insert_rows(session, EpochRow, rows)
    insert_rows(session, MetricRow, metrics)
