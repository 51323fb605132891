"""The database of all runs: quick lists and search. Everything in it can be rebuilt from the folders."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from sqlalchemy import URL, Float, Integer, String, create_engine, delete, event, insert, select
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.workspace import run_folders
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)


class Base(DeclarativeBase):
    """SQLAlchemy's registry of our tables."""


class RunRow(Base):
    """One run; ``record`` is its whole status record as JSON, the other columns are for sorting and searching."""

    __tablename__ = "run_records"

    id: Mapped[str] = mapped_column(String(255), primary_key=True)
    name: Mapped[str] = mapped_column(String(120), index=True)
    folder: Mapped[str] = mapped_column(String)
    status: Mapped[str] = mapped_column(String(20), index=True)
    created: Mapped[float] = mapped_column(Float, index=True)
    step: Mapped[int] = mapped_column(Integer)
    best_value: Mapped[float | None] = mapped_column(Float, nullable=True)
    record: Mapped[str] = mapped_column(String)
    check: Mapped[str] = mapped_column(String(80))
    """Which writing of the status file the record was read from."""


_Result = TypeVar("_Result")

_AT_ONCE = 500  # rows named in one statement: databases limit how many values one may hold


class Index:
    """The index of one workspace: ``index.sqlite`` in it, or the database of ``$TRAINWRIGHT_INDEX`` (an SQLAlchemy URL).

    The folders are the truth: a damaged file is set aside and rebuilt, and a database that cannot be used, for whatever
    reason, is logged, never an error of the run.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._file = workspace / "index.sqlite"
        self._given = os.environ.get("TRAINWRIGHT_INDEX")
        self._engine: Engine | None = None
        # What the database held when it was read, and what was written since.
        self._known: dict[str, _Known] | None = None

    def record(self, status: StatusRecord, stamp: str = "") -> None:
        """Insert or replace the row of one run from its status record; ``stamp`` tells the file it was read from."""
        self._try(lambda session: session.merge(RunRow(**_columns(status, stamp))))

    def forget(self, run_id: str) -> None:
        """Remove one run's row."""
        self._try(lambda session: session.execute(delete(RunRow).where(RunRow.id == run_id)))

    def runs(self) -> list[StatusRecord]:
        """Status records of all runs, newest first, true to the folders.

        Runs whose folder is new or gone are added or dropped, and those not ended are read afresh. The record of a run
        that has not changed since the last call is the very same object.
        """
        folders = run_folders(self._workspace)
        if not self._workspace.is_dir():
            return []
        rows = self._known if self._known is not None else self._try(_read_rows)
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
                self._try(lambda session: _update(session, changed, gone))
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
            why = escape_unprintable(str(getattr(error, "orig", None) or error).partition("\n")[0])
            logger.warning("The index of runs cannot be used, the folders are read instead: %s", why)
            return None

    def _work(self, work: Callable[[Session], _Result]) -> _Result:
        if self._engine is None:
            if not self._workspace.is_dir():  # removed under our feet: what is left of it is not ours to make
                raise FileNotFoundError(f"{self._workspace} is gone")
            # Made of its parts: a path may hold what means something in the text of a URL.
            self._engine = _connect(self._given or URL.create("sqlite", database=str(self._file)))
        with Session(self._engine) as session, session.begin():
            return work(session)

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


def _read_rows(session: Session) -> dict[str, _Known]:
    """What is known of each run."""
    rows = session.execute(select(RunRow.id, RunRow.record, RunRow.check)).all()
    known = {}
    for run_id, record, stamp in rows:
        with suppress(ValidationError):  # another program's: the folder is read instead
            known[run_id] = _Known(stamp, StatusRecord.model_validate_json(record))
    return known


def _update(session: Session, changed: Sequence[_Known], gone: Iterable[str]) -> None:
    """Replace and remove rows: a statement for hundreds of them, as a rebuilt index may have ten thousand."""
    old = [*gone, *(row.record.run for row in changed)]
    for first in range(0, len(old), _AT_ONCE):
        session.execute(delete(RunRow).where(RunRow.id.in_(old[first : first + _AT_ONCE])))
    if changed:
        session.execute(insert(RunRow), [_columns(row.record, row.stamp) for row in changed])


def _stamp(folder: RunFolder) -> str:
    """Tells one writing of the status file from another, by no clock's order; empty when the file is lost."""
    try:
        status = os.stat(f"{folder.path}{os.sep}status.json")  # a text: paths are dear, ten thousand times
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def _connect(url: str | URL) -> Engine:
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, _record: Any) -> None:
            connection.execute("PRAGMA busy_timeout = 3000")
            connection.execute("PRAGMA journal_mode = WAL")

    try:
        Base.metadata.create_all(engine)
    except DatabaseError:  # another process made them between our look and our making: now they are seen
        Base.metadata.create_all(engine)
    return engine


def _columns(status: StatusRecord, stamp: str) -> dict[str, str | float | None]:
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
    }


def index_run(folder: RunFolder) -> None:
    """Bring one run's row in the index of its workspace up to date."""
    if folder.path.parent.name != "runs":
        return  # a run folder copied somewhere else belongs to no workspace
    stamp, status = _stamp(folder), folder.status()
    if status.status:  # else the folder is gone
        index = Index(folder.path.parent.parent)
        index.record(status, stamp)
        index.close()
