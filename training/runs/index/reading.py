"""What the tables are asked about settings, metrics and data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from training.runs.index.tables import FinalRow, RunRow, SettingRow
from training.runs.index.where import make_clause
from training.runs.query import Names, Query, collect_names
from training.runs.query.names import is_measured, metric_of

Where = Sequence[ColumnElement[bool]]


def find_runs(session: Session, query: Query, where: Where) -> set[str]:
    """The runs that ``query`` wants."""
    return set(session.scalars(select(RunRow.id).where(*where, make_clause(query.condition))))


def read_columns(session: Session, keys: Iterable[str]) -> dict[str, dict[str, float | str]]:
    """The values of settings and metrics by the runs that have them: "optimizer.lr", "val/accuracy", "best(val/accuracy)"."""
    found: dict[str, dict[str, float | str]] = {}
    for key in keys:
        if key == "data":
            rows = session.execute(select(RunRow.id, RunRow.data).where(RunRow.data != ""))
            found[key] = {row.id: row.data for row in rows}
        elif is_measured(key):
            metric, best = metric_of(key)
            value = FinalRow.best if best else FinalRow.last
            rows = session.execute(select(FinalRow.run, value).where(FinalRow.name == metric, value.is_not(None)))
            found[key] = {run: measured for run, measured in rows if measured is not None}
        else:
            query = select(SettingRow.run, SettingRow.number, SettingRow.text).where(SettingRow.name == key)
            found[key] = {run: _join(number, text) for run, number, text in session.execute(query)}
    return found


def _join(number: float | None, text: str | None) -> float | str:
    return number if number is not None else text or ""


def read_settings_of(session: Session, runs: Sequence[str]) -> dict[str, dict[str, float | str]]:
    """All settings of some runs, by run and name."""
    found: dict[str, dict[str, float | str]] = {run: {} for run in runs}
    query = select(SettingRow.run, SettingRow.name, SettingRow.number, SettingRow.text)
    for run, name, number, text in session.execute(query.where(SettingRow.run.in_(runs))):
        found[run][name] = _join(number, text)
    return found


def read_names(session: Session) -> Names:
    """The names of all settings and metrics there are, those of the rows and those that every version knows."""
    known = collect_names()
    settings = set(session.scalars(select(SettingRow.name).distinct()))
    metrics = set(session.scalars(select(FinalRow.name).distinct()))
    return Names(known.settings | settings, known.metrics | metrics, metrics)


def read_recipes(session: Session, where: Where) -> dict[str, str]:
    """Of each run the digest of all its settings but the seed; "" of one that is behind."""
    return {row.id: row.recipe for row in session.execute(select(RunRow.id, RunRow.recipe).where(*where))}


def find_data(session: Session, beginning: str, where: Where) -> dict[str, str]:
    """The runs on data whose fingerprint begins so, and their fingerprints."""
    query = select(RunRow.id, RunRow.data).where(*where, RunRow.data.startswith(beginning, autoescape=True))
    return {row.id: row.data for row in session.execute(query)}
