"""The database of all runs: quick lists and search. Everything in it can be rebuilt from the folders."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.index.best import BestEpoch, find_best
from training.runs.index.epochs import EpochRows, forget_epochs, history_stamp
from training.runs.index.facts import forget_facts, write_tags
from training.runs.index.reading import find_data, find_runs, read_columns, read_names, read_recipes, read_settings_of
from training.runs.index.tables import RunRow, TagRow
from training.runs.index.workspace_database import VARIABLE, WorkspaceDatabase
from training.runs.query import Names, Query, collect_names
from training.runs.records.about import About, name_of, read_about
from training.runs.records.forms import StatusRecord
from training.runs.records.progress import worked_seconds
from training.runs.workspace import run_folders
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)


_MOST_INTEGER = 2**31 - 1  # of PostgreSQL
_IN_ONE_GO = 50  # runs whose rows are written in one transaction
_AT_ONCE = 500  # rows named in one statement: databases limit how many values one may hold


class Index(WorkspaceDatabase):
    """The index of one workspace: ``index.sqlite`` in it, or the database of ``$TRAINWRIGHT_INDEX`` (an SQLAlchemy URL).

    The folders are the truth: a damaged file is set aside and rebuilt, and a database that cannot be used, for whatever
    reason, is logged, never an error of the run. In a database that several workspaces share each looks after its own rows.
    """

    def __init__(self, workspace: Path, url: str | None = None) -> None:
        super().__init__(workspace, url)
        # What the database held when it was read, and what was written since.
        self._known: dict[str, _Known] | None = None
        self._abouts: dict[str, About] = {}

    def record(self, status: StatusRecord, stamp: str = "") -> None:
        """Insert or replace the row of one run from its status record; ``stamp`` tells the file it was read from."""
        self._try(lambda session: self._merge(session, _Known(stamp, status)))

    def epoch_rows(self, folder: RunFolder) -> EpochRows:
        """The rows of the epochs of the run in ``folder``, for ``record_run``."""
        return EpochRows(folder)

    def record_run(self, folder: RunFolder, rows: EpochRows) -> bool:
        """Bring the rows of the run in ``folder`` and of its epochs up to date; returns whether the database has them."""
        known = _read_known(folder)
        if not known.record.status:  # the folder is gone
            return True

        def write(session: Session) -> bool:
            self._merge(session, known)
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
        wanted = behind[:most]
        for first in range(0, len(wanted), _IN_ONE_GO):
            some = wanted[first : first + _IN_ONE_GO]
            if not self._try(lambda session, some=some: self._write_behind(session, some)):  # type: ignore[misc]
                return len(behind) - first
        return len(behind) - len(wanted)

    def _write_behind(self, session: Session, folders: Sequence[RunFolder]) -> bool:
        for folder in folders:
            try:
                EpochRows(folder).write(session)  # the run itself has its row, by which it was found to be behind
            except (OSError, InputError) as error:  # its files: the others' rows are made all the same
                logger.warning("The epochs of %s cannot be read: %s", folder.id, error)
        return True

    def best(self, name: str, runs: Sequence[str] | None = None) -> tuple[BestEpoch | None, BestEpoch | None] | None:
        """The best epoch by the metric ``name`` of ``runs``, else of all in the database, and the best of those whose checkpoint is
        kept; None where the database cannot be used."""
        return self._try(
            lambda session: (find_best(session, name, runs=runs), find_best(session, name, kept=True, runs=runs))
        )

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
            row = (rows or {}).get(folder.id)
            now = _look_again(folder, row)
            if not now.record.status:
                continue
            if now is not row:
                changed.append(now)
            known[folder.id] = now
        self._abouts = {run: row.about for run, row in known.items()}
        if rows is not None:
            gone = rows.keys() - known.keys()
            if changed or gone:
                self._try(lambda session: self._update(session, changed, gone))
            self._known = known
        return [row.record for row in known.values()]

    def abouts(self) -> dict[str, About]:
        """What is said of each of the runs that ``runs`` returned last."""
        return self._abouts

    def find(self, query: Query) -> set[str] | None:
        """The runs that ``query`` wants, as far as their rows are up to date; None where the database cannot be used."""
        return self._try(lambda session: find_runs(session, query, self._mine()))

    def find_data(self, beginning: str) -> dict[str, str] | None:
        """The runs on data whose fingerprint begins so, and their fingerprints; None where the database cannot be used."""
        return self._try(lambda session: find_data(session, beginning, self._mine()))

    def columns(self, keys: Iterable[str]) -> dict[str, dict[str, float | str]] | None:
        """Values of settings and metrics by run: ``reading.read_columns``; None where the database cannot be used."""
        return self._try(lambda session: read_columns(session, keys))

    def settings(self, runs: Sequence[str]) -> dict[str, dict[str, float | str]] | None:
        """All settings of some runs, by run and name; None where the database cannot be used."""
        return self._try(lambda session: read_settings_of(session, runs))

    def recipes(self) -> dict[str, str] | None:
        """Of each run the digest of all its settings but the seed; None where the database cannot be used."""
        return self._try(lambda session: read_recipes(session, self._mine()))

    def names(self) -> Names:
        """What filters may ask for: the settings and metrics of ours, and those that the runs have besides."""
        return self._try(read_names) or collect_names()

    def _read_rows(self, session: Session) -> dict[str, _Known]:
        """What is known of each run."""
        row = RunRow
        columns = (row.id, row.record, row.check, row.title, row.star, row.notes, row.archived, row.about)
        tags: dict[str, list[str]] = {}
        for run_id, tag in session.execute(select(TagRow.run, TagRow.tag)):
            tags.setdefault(run_id, []).append(tag)
        known = {}
        for run_id, text, stamp, title, star, notes, archived, about_stamp in session.execute(
            select(*columns).where(*self._mine())
        ):
            with suppress(ValidationError):  # another program's: the folder is read instead
                record = StatusRecord.model_validate_json(text)
                name = title if title != record.name else ""
                about = About(name, star, tuple(sorted(tags.get(run_id, ()), key=str.casefold)), notes, archived)
                known[run_id] = _Known(stamp, record, about_stamp, about)
        return known

    def _merge(self, session: Session, known: _Known) -> None:
        session.merge(RunRow(**self._columns(known)))
        write_tags(session, {known.record.run: known.about.tags})

    def _update(self, session: Session, changed: Sequence[_Known], gone: Iterable[str]) -> None:
        """Change, add and remove rows: a statement for hundreds of them, as a rebuilt index may have ten thousand."""
        lost, ids, there = list(gone), [row.record.run for row in changed], set[str]()
        for first in range(0, len(lost), _AT_ONCE):
            session.execute(delete(RunRow).where(RunRow.id.in_(lost[first : first + _AT_ONCE])))
        forget_epochs(session, lost)
        forget_facts(session, lost)
        for first in range(0, len(ids), _AT_ONCE):
            there.update(session.scalars(select(RunRow.id).where(RunRow.id.in_(ids[first : first + _AT_ONCE]))))
        write_tags(session, {row.record.run: row.about.tags for row in changed})
        rows = [self._columns(row) for row in changed]
        if old := [row for row in rows if row["id"] in there]:
            session.execute(update(RunRow), old)
        if new := [row for row in rows if row["id"] not in there]:
            session.execute(insert(RunRow), new)

    def _columns(self, known: _Known) -> dict[str, str | float | None]:
        status, about = known.record, known.about
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
            "check": known.stamp,
            "workspace": self._place,
            "title": name_of(status, about)[:120],
            "star": about.star,
            "archived": about.archived,
            "notes": about.notes,
            "about": known.about_stamp,
            "dataset": escape_unprintable(status.dataset),
            "model": escape_unprintable(status.model),
            "parent": escape_unprintable(status.parent.run, 255)[:255] if status.parent else "",
            "epoch": min(status.epoch, _MOST_INTEGER),
            "duration": worked_seconds(status),
        }


class _Known(NamedTuple):
    """A status record, what a person says of the run, and the stamps of the files these were read from."""

    stamp: str
    record: StatusRecord
    about_stamp: str = ""
    about: About = About()

    def tells_of(self, folder: RunFolder, stamp: str) -> bool:
        """Whether the record is what the folder would say: it ended, and its file is the same writing."""
        ended = self.record.status in ("completed", "failed", "stopped")
        return ended and bool(stamp) and self.stamp == stamp and self.record.folder == str(folder.path)


def _read_known(folder: RunFolder) -> _Known:
    stamp, about_stamp = _stamp(folder, "status.json"), _stamp(folder, "about.json")
    return _Known(stamp, folder.status(), about_stamp, read_about(folder) if about_stamp else About())


def _look_again(folder: RunFolder, row: _Known | None) -> _Known:
    """What the folder says: ``row`` itself where that is the same."""
    if row is None:
        return _read_known(folder)
    stamp, about_stamp = _stamp(folder, "status.json"), _stamp(folder, "about.json")
    if not row.tells_of(folder, stamp):
        status = folder.status()
        if (row.record, row.stamp) != (status, stamp):
            row = row._replace(record=status, stamp=stamp)
    if row.about_stamp != about_stamp:
        row = row._replace(about=read_about(folder) if about_stamp else About(), about_stamp=about_stamp)
    return row


def _stamp(folder: RunFolder, name: str) -> str:
    """Tells one writing of a file of the run from another, by no clock's order; empty when there is none."""
    try:
        status = os.stat(f"{folder.path}{os.sep}{name}")  # a text: paths are dear, ten thousand times
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def workspace_of(folder: RunFolder) -> Path | None:
    """The workspace that a run belongs to; None for a run folder that was copied somewhere else."""
    return folder.path.parent.parent if folder.path.parent.name == "runs" else None


def is_on_server() -> bool:
    """Whether the index is another machine's or process's, which may be away."""
    return not os.environ.get(VARIABLE, "sqlite").startswith("sqlite")


def index_run(folder: RunFolder) -> None:
    """Bring one run's rows in the index of its workspace up to date."""
    workspace = workspace_of(folder)
    if workspace is not None:
        index = Index(workspace)
        index.record_run(folder, index.epoch_rows(folder))
        index.close()
