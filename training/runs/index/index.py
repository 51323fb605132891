"""The database of all runs: quick lists and search. Everything in it can be rebuilt from the folders."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError
from sqlalchemy import URL, ColumnElement, delete, func, insert, select, update
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.index.best import BestEpoch, find_best
from training.runs.index.database import connect, explain, migrate, prepare_tables, read_schema
from training.runs.index.epochs import EpochRows, forget_epochs, history_stamp
from training.runs.index.tables import EpochRow, MetricRow, RunRow
from training.runs.records.forms import StatusRecord
from training.runs.workspace import run_folders
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)


_Result = TypeVar("_Result")

_VARIABLE = "TRAINWRIGHT_INDEX"
_AT_ONCE = 500  # rows named in one statement: databases limit how many values one may hold


class Index:
    """The index of one workspace: ``index.sqlite`` in it, or the database of ``$TRAINWRIGHT_INDEX`` (an SQLAlchemy URL).

    The folders are the truth: a damaged file is set aside and rebuilt, and a database that cannot be used, for whatever
    reason, is logged, never an error of the run. In a database that several workspaces share each looks after its own rows.
    """

    def __init__(self, workspace: Path, url: str | None = None) -> None:
        self._workspace = workspace
        self._file = workspace / "index.sqlite"
        self._given = url or os.environ.get(_VARIABLE)
        self._place = escape_unprintable(f"{platform.node()}:{workspace}") if self._given else ""
        self._told = ""  # why it could not be used last time: said once
        self._engine: Engine | None = None
        self._prepared = False  # whether its tables were looked at
        # What the database held when it was read, and what was written since.
        self._known: dict[str, _Known] | None = None

    def record(self, status: StatusRecord, stamp: str = "") -> None:
        """Insert or replace the row of one run from its status record; ``stamp`` tells the file it was read from."""
        self._try(lambda session: session.merge(RunRow(**self._columns(status, stamp))))

    def epoch_rows(self, folder: RunFolder) -> EpochRows:
        """The rows of the epochs of the run in ``folder``, for ``record_run``."""
        return EpochRows(folder)

    def record_run(self, folder: RunFolder, rows: EpochRows) -> bool:
        """Bring the rows of the run in ``folder`` and of its epochs up to date; returns whether the database has them."""
        stamp, status = _stamp(folder), folder.status()
        if not status.status:  # the folder is gone
            return True

        def write(session: Session) -> bool:
            session.merge(RunRow(**self._columns(status, stamp)))
            session.flush()
            rows.write(session)
            return True

        written = bool(self._try(write))
        if written:
            rows.settle()
        return written

    def catch_up(self, most: int | None = None) -> int:
        """Bring the epochs of runs that changed up to date, of ``most`` runs at once; returns how many are still behind."""
        query = select(RunRow.id, RunRow.history).where(*self._mine())
        known = self._try(lambda session: {row.id: row.history for row in session.execute(query)}) or {}
        folders = (folder for folder in run_folders(self._workspace) if folder.id in known)
        behind = [folder for folder in folders if known[folder.id] != history_stamp(folder)]
        for done, folder in enumerate(behind[:most]):
            try:
                written = self.record_run(folder, EpochRows(folder))
            except (OSError, InputError) as error:  # its files: the others' rows are made all the same
                logger.warning("The epochs of %s cannot be read: %s", folder.id, error)
                continue
            if not written:
                return len(behind) - done
        return max(len(behind) - len(behind[:most]), 0)

    def best(self, name: str, runs: Sequence[str] | None = None) -> tuple[BestEpoch | None, BestEpoch | None] | None:
        """The best epoch by the metric ``name`` of ``runs``, else of all in the database, and the best of those whose checkpoint is
        kept; None where the database cannot be used."""
        return self._try(
            lambda session: (find_best(session, name, runs=runs), find_best(session, name, kept=True, runs=runs))
        )

    def describe(self) -> dict[str, JsonValue]:
        """Where the index is, of which schema, and how many rows it has. Raises InputError where it cannot be used."""

        def count(session: Session) -> dict[str, JsonValue]:
            tables = {"runs": RunRow, "epochs": EpochRow, "metrics": MetricRow}
            rows = {name: session.scalar(select(func.count()).select_from(table)) for name, table in tables.items()}
            return {"schema": read_schema(session.connection()), **rows}

        try:
            # Without the password, which may stand among the parameters, too.
            return {"index": self._connect().url.set(query={}).render_as_string(), **self._work(count)}
        except Exception as error:  # as in _try
            raise InputError(f"The index of runs cannot be used: {explain(error, self._given)}.") from error

    def migrate(self, revision: str) -> None:
        """Bring the tables up or down to ``revision``. Raises InputError where that cannot be done."""
        try:
            migrate(self._connect(), revision)
        except Exception as error:  # as in _try
            raise InputError(f"The index of runs cannot be migrated: {explain(error, self._given)}.") from error
        finally:
            self.close()

    def forget(self, run_id: str) -> None:
        """Remove one run's row."""
        self._try(lambda session: self._update(session, [], [run_id]))

    def runs(self) -> list[StatusRecord]:
        """Status records of all runs, newest first, true to the folders.

        Runs whose folder is new or gone are added or dropped, and those not ended are read afresh. The record of a run
        that has not changed since the last call is the very same object.
        """
        folders = run_folders(self._workspace)
        if not self._workspace.is_dir():
            return []
        rows = self._known if self._known is not None else self._try(self._read_rows)
        known: dict[str, _Known] = {}
        changed = []
        for folder in reversed(folders):
            stamp = _stamp(folder)
            row = (rows or {}).get(folder.id)
            if row is None or not row.tells_of(folder, stamp):
                status = folder.status()
                if not status.status:
                    continue
                if row is None or (row.record, row.stamp) != (status, stamp):
                    row = _Known(stamp, status)
                    changed.append(row)
            known[folder.id] = row
        if rows is not None:
            gone = rows.keys() - known.keys()
            if changed or gone:
                self._try(lambda session: self._update(session, changed, gone))
            self._known = known
        return [row.record for row in known.values()]

    def close(self) -> None:
        """Let go of the database; what is known of the runs stays, and is looked up again where it is wanted."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _try(self, work: Callable[[Session], _Result]) -> _Result | None:
        """What ``work`` returns; None when the database cannot be used, which is logged and never an error."""
        try:
            try:
                return self._work(work)
            except OperationalError:  # locked or not writable, which says nothing about its content
                raise
            except IntegrityError:  # another process inserted the row between our look and our insert: it is there now
                return self._work(work)
            except DatabaseError:
                self._set_aside()
                return self._work(work)
        except Exception as error:  # noqa: BLE001 - a driver is a stranger's code, which may be missing or raise anything
            why = escape_unprintable(explain(error, self._given))
            if why != self._told:
                logger.warning("The index of runs cannot be used, the folders are read instead: %s", why)
            self._told = why
            return None

    def _work(self, work: Callable[[Session], _Result]) -> _Result:
        engine = self._connect()
        if not self._prepared:
            prepare_tables(engine, upgrade=not self._given)
            self._prepared = True
        with Session(engine) as session, session.begin():
            result = work(session)
        self._told = ""
        return result

    def _connect(self) -> Engine:
        if self._engine is None:
            if not self._workspace.is_dir():  # removed under our feet: what is left of it is not ours to make
                raise FileNotFoundError(f"{self._workspace} is gone")
            # Made of its parts: a path may hold what means something in the text of a URL.
            self._engine = connect(self._given or URL.create("sqlite", database=str(self._file)))
            self._prepared = False
        return self._engine

    def _mine(self) -> list[ColumnElement[bool]]:
        """Which rows are those of this workspace."""
        return [RunRow.workspace == self._place] if self._given else []

    def _read_rows(self, session: Session) -> dict[str, _Known]:
        """What is known of each run."""
        rows = session.execute(select(RunRow.id, RunRow.record, RunRow.check).where(*self._mine())).all()
        known = {}
        for run_id, record, stamp in rows:
            with suppress(ValidationError):  # another program's: the folder is read instead
                known[run_id] = _Known(stamp, StatusRecord.model_validate_json(record))
        return known

    def _update(self, session: Session, changed: Sequence[_Known], gone: Iterable[str]) -> None:
        """Change, add and remove rows: a statement for hundreds of them, as a rebuilt index may have ten thousand."""
        lost, ids, there = list(gone), [row.record.run for row in changed], set[str]()
        for first in range(0, len(lost), _AT_ONCE):
            session.execute(delete(RunRow).where(RunRow.id.in_(lost[first : first + _AT_ONCE])))
        forget_epochs(session, lost)
        for first in range(0, len(ids), _AT_ONCE):
            there.update(session.scalars(select(RunRow.id).where(RunRow.id.in_(ids[first : first + _AT_ONCE]))))
        rows = [self._columns(row.record, row.stamp) for row in changed]
        if old := [row for row in rows if row["id"] in there]:
            session.execute(update(RunRow), old)
        if new := [row for row in rows if row["id"] not in there]:
            session.execute(insert(RunRow), new)

    def _columns(self, status: StatusRecord, stamp: str) -> dict[str, str | float | None]:
        return {
            "id": status.run,
            "name": status.name,
            # To search in, as the record has the path itself: that of a folder whose name is no text is no text of a database.
            "folder": escape_unprintable(status.folder),
            "status": status.status,
            "created": status.created,
            "step": status.step,
            "best_value": status.best.value if status.best else None,
            "record": json.dumps(status.dump()),
            "check": stamp,
            "workspace": self._place,
        }

    def _set_aside(self) -> None:
        """Put a damaged database out of the way, with its journals, which would be taken for the new one's."""
        self.close()
        if self._given or not self._file.exists():
            return
        self._file.replace(self._file.with_suffix(".damaged"))
        for journal in ("index.sqlite-wal", "index.sqlite-shm"):
            (self._workspace / journal).unlink(missing_ok=True)


class _Known(NamedTuple):
    """A status record and the ``stamp`` of the file it was read from."""

    stamp: str
    record: StatusRecord

    def tells_of(self, folder: RunFolder, stamp: str) -> bool:
        """Whether the record is what the folder would say: it ended, and its file is the same writing."""
        ended = self.record.status in ("completed", "failed", "stopped")
        return ended and bool(stamp) and self.stamp == stamp and self.record.folder == str(folder.path)


def _stamp(folder: RunFolder) -> str:
    """Tells one writing of the status file from another, by no clock's order; empty when the file is lost."""
    try:
        status = os.stat(f"{folder.path}{os.sep}status.json")  # a text: paths are dear, ten thousand times
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def workspace_of(folder: RunFolder) -> Path | None:
    """The workspace that a run belongs to; None for a run folder that was copied somewhere else."""
    return folder.path.parent.parent if folder.path.parent.name == "runs" else None


def is_on_server() -> bool:
    """Whether the index is another machine's or process's, which may be away."""
    return not os.environ.get(_VARIABLE, "sqlite").startswith("sqlite")


def index_run(folder: RunFolder) -> None:
    """Bring one run's rows in the index of its workspace up to date."""
    workspace = workspace_of(folder)
    if workspace is not None:
        index = Index(workspace)
        index.record_run(folder, index.epoch_rows(folder))
        index.close()
