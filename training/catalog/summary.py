"""What a run trains on what, in one line: ``diamonds.csv → price · Tabular MLP 148k · AdamW, OneCycleLR 3e-3 · Huber``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from training.catalog.entries import entry
from training.config.describe import describe
from training.config.run import RunConfig
from training.config.sections.multi_task import MultiTask
from training.config.sections.objective import OwnLoss
from training.data_report import DataSummary
from training.errors import list_first
from training.system.untrusted import escape_unprintable

_MOST_NAMED = 2
_LONGEST = 40  # characters of a name out of a file
_TOKENS = {"characters": "next character", "bytes": "next byte", "bpe": "next token"}
_ANSWERS = {
    "classification": "class",
    "binary": "class",
    "multi_label": "labels",
    "regression": "value",
    "ranking": "order",
    "distillation": "class",
    "embedding": "embedding",
    "multi_task": "several targets",
    "segmentation": "class of each pixel",
    "language_model": "next token",
}


def summarize(config: RunConfig, report: DataSummary | None = None, parameters: int = 0) -> str:
    """Data and target, network, optimizer with its schedule and highest rate, loss. ``report`` is what the run told of its
    data once they were open, ``parameters`` how many the network has; both say more where they are known."""
    schedule = config.schedule
    peak = schedule.peak(config.optimizer.lr) if schedule.kind == "one_cycle" else config.optimizer.lr
    optimizer, scheduler = entry("optimizer", config.optimizer.kind).title, entry("schedule", schedule.kind).title
    parts = (
        f"{_data(config)} → {_target(config, report)}",
        f"{_model(config)} {_count(parameters)}" if parameters else _model(config),
        f"{optimizer}, {scheduler} {_rate(peak)}",
        _loss(config),
    )
    return " · ".join(parts)


def _data(config: RunConfig) -> str:
    name, path = getattr(config.dataset, "name", None), getattr(config.dataset, "path", None)
    place = name or (PurePath(str(path).replace("\\", "/")).name if path else "")
    return escape_unprintable(str(place), _LONGEST) if place else entry("dataset", config.dataset.kind).title


def _target(config: RunConfig, report: DataSummary | None) -> str:
    dataset, task = config.dataset, getattr(config.objective, "task", config.objective.kind)
    chosen = getattr(dataset, "targets", None)
    if isinstance(chosen, str):  # an array of an archive
        return escape_unprintable(chosen, _LONGEST)
    if chosen:
        return _join_targets([str(name) for name in chosen], len(chosen))
    if report is not None and report.target in ("values", "labels"):
        return _join_targets(report.classes, report.class_count)
    if report is not None and report.target in ("class", "mask") and task != "embedding":
        classes = f"{report.class_count:,} classes"
        each = " for each pixel" if task == "segmentation" else ""
        return f"{classes}{each}" if chosen is None else f"last column, {classes}"
    if chosen is not None:
        return "last column"
    return _TOKENS.get(str(getattr(dataset, "vocabulary", "")), _ANSWERS[task])


def _join_targets(names: Sequence[str], count: int) -> str:
    shown = [escape_unprintable(name, _LONGEST) for name in names[:_MOST_NAMED]]
    return list_first(shown, count)


def _model(config: RunConfig) -> str:
    own = str(getattr(config.model, "name", None) or _own_file(config.model))
    return escape_unprintable(own, _LONGEST) if own else entry("model", config.model.kind).title


def _own_file(section: object) -> str:
    """The name of a file that the person wrote; "" where none is named."""
    path = getattr(section, "path", None)
    return PurePath(str(path).replace("\\", "/")).name if path else ""


def _loss(config: RunConfig) -> str:
    loss = next((spec for spec in describe(type(config.objective)) if spec.name == "loss"), None)
    own = _own_file(config.objective) if isinstance(config.objective, OwnLoss) else ""
    title = escape_unprintable(own, _LONGEST) if own else entry("objective", config.objective.kind).title
    if loss is None or isinstance(config.objective, MultiTask):  # whose setting is for targets that are numbers alone
        return title
    return loss.label(getattr(config.objective, loss.name))


def _count(parameters: int) -> str:
    """Three figures at most: 812, 1.2k, 148k, 25.6M."""
    size, unit = float(parameters), ""
    for larger in ("k", "M", "G"):
        if round(size) < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f}".removesuffix(".0") + unit if unit and size < 100 else f"{size:.0f}{unit}"


def _rate(rate: float) -> str:
    if rate >= 0.01:
        return f"{rate:.3g}"
    mantissa, exponent = f"{rate:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}" if rate else "0"
