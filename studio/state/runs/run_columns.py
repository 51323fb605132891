"""What the columns of the table of runs show, of one run and of a group, and what they sort by."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from studio.state.formats import format_ago, format_metric, format_number, metric_title
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_values import RunValues
from training.errors import format_bytes, format_duration, pluralize
from training.metric_names import is_known, metric
from training.runs.folder import DAMAGED
from training.runs.groups import spread
from training.runs.query.names import is_measured, metric_of
from training.runs.records.progress import best_of

Number = Callable[[RunSummary], float | None]


@dataclass(frozen=True)
class Column:
    """One column: what it shows, what it sorts by (None comes last, whichever way), and, where means say something, its ``number``
    with ``show`` for how that is written."""

    title: str
    text: Callable[[RunSummary], str]
    key: Callable[[RunSummary], Any]
    number: Number | None = None
    show: Callable[[float], str] = format_number
    tip: str = ""
    total: Callable[[Sequence[RunSummary]], str] | None = None
    """What a group shows, where it is neither a mean nor what its runs have in common."""

    def group_text(self, runs: Sequence[RunSummary]) -> str:
        """Of several runs: mean ± std and of how many, or the text that they have in common."""
        if self.total is not None:
            return self.total(runs)
        if self.number is not None:
            return _show_spread([self.number(run) for run in runs], self.show)
        texts = {self.text(run) for run in runs}
        return texts.pop() if len(texts) == 1 else f"{len(texts)} different"

    def group_key(self, runs: Sequence[RunSummary]) -> Any:
        """What a group sorts by: its mean, or what its first run sorts by."""
        if self.number is None:
            return self.key(runs[0])
        found = spread([self.number(run) for run in runs])
        return (0, found.mean) if found else None


def _show_spread(values: Sequence[float | None], show: Callable[[float], str]) -> str:
    """Mean ± std of those that there are, and of how many."""
    found = spread(values)
    if found is None:
        return ""
    std = f" ± {show(found.std)}" if found.std is not None else ""
    return f"{show(found.mean)}{std} · n {found.n}"


def _best_of_all(runs: Sequence[RunSummary]) -> str:
    found = [best for run in runs if (best := best_of(run.record)) is not None]
    names = {name for name, _value in found}
    if len(names) != 1:
        return f"{len(names)} metrics" if names else ""
    name = names.pop()
    title = metric_title(name).removeprefix("validation ")
    return f"{title} {_show_spread([value for _name, value in found], lambda value: format_metric(name, value))}"


def _best_text(run: RunSummary) -> str:
    best = best_of(run.record)
    return f"{metric_title(best[0]).removeprefix('validation ')} {format_metric(*best)}" if best else ""


def _best_key(run: RunSummary) -> tuple[str, float] | None:
    """Metric by metric, the best value first."""
    best = best_of(run.record)
    if best is None:
        return None
    name, value = best
    return name, -value if not is_known(name) or metric(name).maximize else value


def _step_text(run: RunSummary) -> str:
    step, total = run.record.step, run.record.total_steps
    if run.status == DAMAGED:  # nothing is known of it
        return ""
    return f"{step:,} / {total:,}" if total else f"{step:,}"


def _get_created(run: RunSummary) -> float:
    return run.record.created


FIXED = (
    Column("Name", lambda run: run.name, lambda run: run.name.lower()),
    Column("Status", lambda run: run.status, lambda run: run.status),
    Column("Best", _best_text, _best_key, total=_best_of_all),
    Column("Loss", lambda run: "", lambda run: run.losses[-1] if run.losses else None),
    Column("Step", _step_text, lambda run: run.record.step),
    Column("Dataset", lambda run: run.dataset_title, lambda run: run.dataset_title),
    Column("Model", lambda run: run.model_title, lambda run: run.model_title),
    Column(
        "Started",
        lambda run: format_ago(_get_created(run), time.time()),
        _get_created,
        total=lambda runs: format_ago(max(map(_get_created, runs)), time.time()),
    ),
    Column(
        "Duration",
        lambda run: "" if run.status == DAMAGED else format_duration(run.duration),
        lambda run: run.duration,
        lambda run: run.duration,
        format_duration,
    ),
    Column(
        "Size",
        lambda run: "" if run.size is None else format_bytes(run.size),
        lambda run: run.size,
        total=lambda runs: format_bytes(sum(run.size or 0 for run in runs)),
    ),
    Column("Star", lambda run: "", lambda run: not run.about.star),
    Column("Tags", lambda run: ", ".join(run.about.tags), lambda run: ", ".join(run.about.tags).lower() or None),
)
NAME, STATUS, BEST, LOSS, STEP, DATASET, MODEL, STARTED, DURATION, SIZE, STAR, TAGS = range(len(FIXED))


def make_column(key: str, values: RunValues) -> Column:
    """A column of a setting ("optimizer.lr") or a metric ("val/accuracy", "best(val/accuracy)")."""
    name, best = metric_of(key)
    measured = is_measured(key)

    def show(value: float) -> str:
        return format_metric(name, value) if measured else _plain_number(value)

    def text(run: RunSummary) -> str:
        value = values.value(run, key)
        return show(value) if isinstance(value, float) else str(value or "")

    def sort_key(run: RunSummary) -> tuple[int, float | str] | None:
        value = values.value(run, key)
        if value is None:
            return None
        return (0, value) if isinstance(value, float) else (1, str(value))

    def number(run: RunSummary) -> float | None:
        value = values.value(run, key)
        return value if isinstance(value, float) else None

    title = f"Best {metric_title(name)}" if best else metric_title(key) if measured else key
    return Column(title, text, sort_key, number if measured else None, show, key)


def _plain_number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e9 else format_number(value, 6)


def describe_group(runs: Sequence[RunSummary], shared: Sequence[tuple[str, str]]) -> str:
    """What a group is called: by what its runs have in common, else by the name that they share."""
    if shared:
        words = " · ".join(f"{name.rpartition('.')[2]} {value or '–'}" for name, value in shared)
    else:
        words = max({run.name for run in runs}, key=lambda name: sum(run.name == name for run in runs))
    return f"{words} · {pluralize(len(runs), 'run')}"
