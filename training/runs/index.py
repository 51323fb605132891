"""The database of all runs: quick lists and search. Everything in it can be rebuilt from the folders."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Float, Integer, String, create_engine, delete, event, select
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from training.runs.folder import RunFolder
from training.runs.workspace import run_folders

logger = logging.getLogger(__name__)


class Base(DeclarativeBase):
    """SQLAlchemy's registry of our tables."""


class RunRow(Base):
    """One run; ``record`` is its whole status record, the other columns are for sorting and searching."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(String(120), primary_key=True)
    name: Mapped[str] = mapped_column(String(120), index=True)
    folder: Mapped[str] = mapped_column(String)
    status: Mapped[str] = mapped_column(String(20), index=True)
    created: Mapped[float] = mapped_column(Float, index=True)
    step: Mapped[int] = mapped_column(Integer)
    best_value: Mapped[float | None] = mapped_column(Float, nullable=True)
    record: Mapped[dict[str, Any]] = mapped_column(JSON)


class Index:
    """The index of one workspace: ``index.sqlite`` in it, or the database of ``$TRAINWRIGHT_INDEX`` (an SQLAlchemy URL).

    The folders are the truth: a damaged file is set aside and rebuilt, and a database that cannot be reached is
    logged, never an error of the run.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._url = os.environ.get("TRAINWRIGHT_INDEX") or f"sqlite:///{workspace / 'index.sqlite'}"
        self._engine: Engine | None = None

    def record(self, status: Mapping[str, Any]) -> None:
        """Insert or replace the row of one run from its status record."""
        try:
            try:
                self._merge(status)
            except IntegrityError:  # another process inserted the row between our look and our insert: it is there now
                self._merge(status)
        except (SQLAlchemyError, OSError) as error:
            logger.warning("The index of runs could not be updated and will be rebuilt later: %s", error)

    def _merge(self, status: Mapping[str, Any]) -> None:
        with Session(self._open()) as session, session.begin():
            session.merge(_row(status))

    def forget(self, run_id: str) -> None:
        """Remove one run's row."""
        try:
            with Session(self._open()) as session, session.begin():
                session.execute(delete(RunRow).where(RunRow.id == run_id))
        except (SQLAlchemyError, OSError) as error:
            logger.warning("The index of runs could not be updated and will be rebuilt later: %s", error)

    def runs(self) -> list[dict[str, Any]]:
        """Status records of all runs, newest first, true to the folders.

        Runs whose folder is new or gone are added or dropped, and those not ended are read afresh.
        """
        folders = {folder.id: folder for folder in run_folders(self._workspace)}
        rows = self._rows()
        records: dict[str, dict[str, Any]] = {}
        for run_id, folder in folders.items():
            known = rows.get(run_id)
            if (
                known
                and known.get("status") in ("completed", "failed", "stopped")
                and known["folder"] == str(folder.path)
                and not _changed(folder, since=float(known.get("updated", 0.0)))
            ):
                records[run_id] = known
                continue
            status = folder.status()
            if status:
                records[run_id] = status
                if status != known:
                    self.record(status)
        for run_id in set(rows) - set(folders):
            self.forget(run_id)
        return sorted(records.values(), key=lambda record: float(record.get("created", 0.0)), reverse=True)

    def rebuild(self) -> int:
        """Make the index anew from the folders; returns the number of runs."""
        with Session(self._open()) as session, session.begin():
            session.execute(delete(RunRow))
        statuses = [status for folder in run_folders(self._workspace) if (status := folder.status())]
        for status in statuses:
            self.record(status)
        return len(statuses)

    def close(self) -> None:
        """Let go of the database."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _rows(self) -> dict[str, dict[str, Any]]:
        try:
            with Session(self._open()) as session:
                return {row.id: dict(row.record) for row in session.scalars(select(RunRow))}
        except (SQLAlchemyError, OSError) as error:
            logger.warning("The index of runs could not be read, the folders are used instead: %s", error)
            return {}

    def _open(self) -> Engine:
        if self._engine is None:
            self._workspace.mkdir(parents=True, exist_ok=True)
            try:
                self._engine = _connect(self._url)
            except OperationalError:  # locked or not writable, which says nothing about its content
                raise
            except DatabaseError:
                database = self._workspace / "index.sqlite"
                if not self._url.startswith("sqlite") or not database.exists():
                    raise
                database.replace(database.with_suffix(".damaged"))
                self._engine = _connect(self._url)
        return self._engine


def _changed(folder: RunFolder, since: float) -> bool:
    """Whether the status file was written (or lost) after the row was, as the row's own time tells."""
    try:
        return folder.status_file.stat().st_mtime > since + 1.0
    except OSError:
        return True


def _connect(url: str) -> Engine:
    engine = create_engine(url)
    if url.startswith("sqlite"):

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, _record: Any) -> None:
            connection.execute("PRAGMA busy_timeout = 3000")
            connection.execute("PRAGMA journal_mode = WAL")

    Base.metadata.create_all(engine)
    return engine


def _row(status: Mapping[str, Any]) -> RunRow:
    best = status.get("best") or {}
    return RunRow(
        id=str(status["run"]),
        name=str(status.get("name", "")),
        folder=str(status.get("folder", "")),
        status=str(status.get("status", "")),
        created=float(status.get("created", 0.0)),
        step=int(status.get("step", 0)),
        best_value=best.get("value"),
        record=dict(status),
    )


def index_run(folder: RunFolder) -> None:
    """Bring one run's row in the index of its workspace up to date."""
    if folder.path.parent.name != "runs":
        return  # a run folder copied somewhere else belongs to no workspace
    index = Index(folder.path.parent.parent)
    index.record(folder.status())
    index.close()
