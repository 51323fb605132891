"""The rows of what a run was set to, measured and is said to be: made from its folder, replaced where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from training.config.diff import flatten
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.groups import recipe
from training.runs.index.tables import Base, FinalRow, SettingRow, TagRow
from training.runs.query.conditions import plain
from training.runs.records.finals import Final
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml

_AT_ONCE = 500  # runs named in one statement: databases limit how many values one may hold
_LONGEST_NAME = 255


@dataclass(frozen=True)
class RunSettings:
    """What a run was set to, by the settings' whole names, and the digest of all but the seed; "" where nothing of it can be
    read."""

    values: Mapping[str, float | str]
    recipe: str


def read_settings(folder: RunFolder) -> RunSettings:
    """Every setting of the run, defaults too; of a configuration that another version wrote, what stands in the file."""
    try:
        config = folder.readable_config()
        flat = flatten(config) if config is not None else _flatten_raw(folder.settings())
    except InputError:
        return RunSettings({}, "")
    values: dict[str, float | str] = {}
    for name, value in flat.items():
        inner = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
        for key, item in inner.items():
            found = plain(item)
            if found is not None and key != "name":
                values[escape_unprintable(key, _LONGEST_NAME)[:_LONGEST_NAME]] = (
                    escape_unprintable(found) if isinstance(found, str) else found
                )
    return RunSettings(values, recipe(flat))


def _flatten_raw(settings: Mapping[str, Toml]) -> dict[str, Toml]:
    flat: dict[str, Toml] = {}
    for name, value in settings.items():
        flat |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def write_settings(session: Session, run: str, settings: RunSettings, *, is_first: bool = False) -> None:
    """Replace the rows of a run's settings where they are others. ``is_first``: there are none yet."""
    wanted = {
        name: (value, None) if isinstance(value, float) else (None, value) for name, value in settings.values.items()
    }
    query = select(SettingRow.name, SettingRow.number, SettingRow.text).where(SettingRow.run == run)
    there = {} if is_first else {row.name: (row.number, row.text) for row in session.execute(query)}
    if there == wanted:
        return
    rows = [{"run": run, "name": name, "number": number, "text": text} for name, (number, text) in wanted.items()]
    _replace(session, SettingRow, [run] if there else [], rows)


def write_finals(session: Session, run: str, finals: Mapping[str, Final], *, is_first: bool = False) -> None:
    """Replace the rows of a run's metrics. ``is_first``: there are none yet."""
    rows = [
        {"run": run, "name": escape_unprintable(name, 120)[:120], **each._asdict()} for name, each in finals.items()
    ]
    _replace(session, FinalRow, [] if is_first else [run], rows)


def write_tags(session: Session, tags: Mapping[str, tuple[str, ...]]) -> None:
    """Replace the tags of each of these runs."""
    rows = [{"run": run, "tag": tag} for run, said in tags.items() for tag in said]
    _replace(session, TagRow, list(tags), rows)


def forget_facts(session: Session, runs: Iterable[str]) -> None:
    """Remove all rows of ``runs``."""
    gone = list(runs)
    for table in (SettingRow, FinalRow, TagRow):
        _replace(session, table, gone, [])


def _replace(
    session: Session, table: type[SettingRow | FinalRow | TagRow], runs: list[str], rows: list[dict[str, Any]]
) -> None:
    for first in range(0, len(runs), _AT_ONCE):
        session.execute(delete(table).where(table.run.in_(runs[first : first + _AT_ONCE])))
    insert_rows(session, table, rows)


def insert_rows(session: Session, table: type[Base], rows: list[dict[str, Any]]) -> None:
    """Add rows that all have the same columns. Through the connection: the session would write a statement for each change of which
    values are NULL, and look at each row besides."""
    if rows:
        session.connection().execute(insert(table), rows)
