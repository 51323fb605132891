"""The best epoch of all runs by a metric: the same question as the help page writes it in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, text
from sqlalchemy.orm import Session

from training.errors import InputError
from training.metric_names import METRICS, is_known, metric

QUERY = """
SELECT h.run, h.epoch, h.step, m.value, h.checkpoint
FROM training_metrics AS m
JOIN training_history AS h ON h.run = m.run AND h.epoch = m.epoch
JOIN run_records AS r ON r.id = h.run
WHERE m.name = :metric AND m.value IS NOT NULL{more}
ORDER BY m.value {direction}, r.created, h.epoch
LIMIT 1
"""


class BestEpoch(NamedTuple):
    """An epoch of a run with its ``value`` of the metric, and the checkpoint saved at its end; None: none is kept."""

    run: str
    epoch: int
    step: int
    value: float
    checkpoint: str | None


def metric_name(given: str) -> str:
    """``given`` with its part, that of the validation where it names none. Raises InputError for what is no metric."""
    if not is_known(given):
        known = ", ".join(each.name for each in METRICS)
        raise InputError(f"--best {given}: there is no such metric; choose one of {known}.")
    return given if "/" in given else f"val/{given}"


def find_best(session: Session, name: str, kept: bool = False, runs: Sequence[str] | None = None) -> BestEpoch | None:
    """The best epoch by the metric ``name``, in the direction that the metric declares; with ``kept`` the best of those whose
    checkpoint is there, with ``runs`` of those of these runs. The older run, then the earlier epoch, where values are equal."""
    direction = "DESC" if metric(name).maximize else "ASC"
    more = (" AND h.checkpoint IS NOT NULL" if kept else "") + (" AND m.run IN :runs" if runs is not None else "")
    query = text(QUERY.format(direction=direction, more=more))
    values: dict[str, object] = {"metric": name}
    if runs is not None:
        query = query.bindparams(bindparam("runs", expanding=True))
        values["runs"] = list(runs)
    row = session.execute(query, values).one_or_none()
    return None if row is None else BestEpoch(*row)
