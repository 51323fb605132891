"""The connection to the index's database, and the version of its tables."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.pool import NullPool

from training.runs.index.tables import Base
from training.runs.query.conditions import fold

HEAD = "0003"
"""The schema that this version reads and writes: the last of ``migrations/versions``."""
REVISIONS = ("0001", "0002", HEAD)
_LOCK = 7_423_100_264  # of PostgreSQL: any number that no other program takes
_POSTGRESQL = {
    # A server that does not answer is given up in seconds; libpq would wait for minutes.
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "trainwright",
}


class SchemaError(Exception):
    """The tables are of another version; the text says which, and what to do."""


def connect(url: str | URL) -> Engine:
    """An engine for ``url``; nothing is asked of the database yet."""
    url = make_url(url)
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"pool_pre_ping": True}  # a connection that was cut is made again
    if url.get_backend_name() == "sqlite" and url.database:
        options = {"poolclass": NullPool}  # a file is opened in a third of a millisecond, and left open by nobody
    if url.drivername == "postgresql+psycopg":
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # of a connection that is lost our own sentence tells
        options["connect_args"] = {name: value for name, value in _POSTGRESQL.items() if name not in url.query}
    engine = create_engine(url, **options)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, _record: Any) -> None:
            try:
                connection.create_function("fold", 1, _fold, deterministic=True)  # SQLite's own knows ASCII alone
                connection.execute("PRAGMA busy_timeout = 3000")
                connection.execute("PRAGMA journal_mode = WAL")
            except Exception:  # whatever the file is: who asked hears of it
                connection.close()
                raise

    return engine


def _fold(text: object) -> object:
    return fold(text) if isinstance(text, str) else text


def prepare_tables(engine: Engine, upgrade: bool) -> None:
    """Make the tables of an empty database, and upgrade older ones where ``upgrade`` allows it: a database that others share is
    upgraded when a person says so.

    Raises SchemaError for tables of a newer version, and for older ones that are not to be upgraded.
    """
    with engine.connect() as connection:
        if read_schema(connection) == HEAD:
            return
    with _lock_tables(engine) as connection:
        schema = read_schema(connection)  # another process may have been first
        if schema is None:
            Base.metadata.create_all(connection)
            connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
        elif schema not in ("", *REVISIONS):
            raise SchemaError(
                f"its tables are those of a newer Trainwright (schema {schema}, this one knows {HEAD}), so update Trainwright"
            )
        elif schema != HEAD and not upgrade:
            raise SchemaError(
                f"its tables are those of an older Trainwright, and others may use them; python -m training index --schema {HEAD} "
                "upgrades them"
            )
        elif schema != HEAD:
            _migrate(connection, HEAD)


def migrate(engine: Engine, revision: str) -> None:
    """Bring the tables, where there are some, up or down to ``revision``, one of ``REVISIONS``, in one transaction."""
    with _lock_tables(engine) as connection:
        schema = read_schema(connection)
        if schema not in (None, "", *REVISIONS):
            raise SchemaError(
                f"its tables are those of a newer Trainwright (schema {schema}, this one knows {HEAD}), so update Trainwright"
            )
        _migrate(connection, revision)


def read_schema(connection: Connection) -> str | None:
    """The revision of the tables; "" where they were made before there were revisions, None where there are none."""
    tables = inspect(connection)
    if tables.has_table("alembic_version"):
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none() or ""
    return "" if tables.has_table("run_records") else None


def explain(error: Exception, url: str | None) -> str:
    """Why the database cannot be used, in one line without a password."""
    if isinstance(error, ModuleNotFoundError) and error.name == "psycopg":
        return "the driver of PostgreSQL is missing; install it: pip install trainwright[postgresql]"
    said = str(getattr(error, "orig", None) or error)
    line = next((each.strip() for each in said.splitlines() if each.strip()), type(error).__name__)
    return re.sub(r"//[^/@\s]*:[^@\s]*@", "//***@", line) if url else line


@contextmanager
def _lock_tables(engine: Engine) -> Iterator[Connection]:
    """A transaction in which no other process changes the tables; nothing is left of one that fails."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        yield connection
        connection.commit()


def _migrate(connection: Connection, revision: str) -> None:
    from alembic import command  # only where there is something to migrate: it is slow to load
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    schema = read_schema(connection)
    (command.downgrade if schema and schema > revision else command.upgrade)(config, revision)
