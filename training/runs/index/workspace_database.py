"""The database of one workspace's index: connected when it is wanted, prepared, tried, set aside where it is damaged."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue
from sqlalchemy import URL, ColumnElement, func, select
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

from training.errors import InputError
from training.runs.index.database import connect, explain, migrate, prepare_tables, read_schema
from training.runs.index.tables import EpochRow, MetricRow, RunRow
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)

VARIABLE = "TRAINWRIGHT_INDEX"

_Result = TypeVar("_Result")


class WorkspaceDatabase:
    """``index.sqlite`` in a workspace, or the database of ``$TRAINWRIGHT_INDEX`` (an SQLAlchemy URL). One that cannot be used, for
    whatever reason, is logged, and no error of who asks."""

    def __init__(self, workspace: Path, url: str | None = None) -> None:
        self._workspace = workspace
        self._file = workspace / "index.sqlite"
        self._given = url or os.environ.get(VARIABLE)
        self._place = escape_unprintable(f"{platform.node()}:{workspace}") if self._given else ""
        self._told = ""  # why it could not be used last time: said once
        self._engine: Engine | None = None
        self._prepared = False  # whether its tables were looked at

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

    def close(self) -> None:
        """Let go of the database; what is known of the runs stays, and is looked up again where it is wanted."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _try(self, work: Callable[[Session], _Result]) -> _Result | None:
        """What ``work`` returns; None when the database cannot be used, which is logged and never an error, and where there is no
        workspace: it has no runs, and nothing to say of them."""
        if not self._workspace.is_dir():
            return None
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

    def _set_aside(self) -> None:
        """Put a damaged database out of the way, with its journals, which would be taken for the new one's."""
        self.close()
        if self._given or not self._file.exists():
            return
        self._file.replace(self._file.with_suffix(".damaged"))
        for journal in ("index.sqlite-wal", "index.sqlite-shm"):
            (self._workspace / journal).unlink(missing_ok=True)
