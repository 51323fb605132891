"""``python -m training evaluate``: a checkpoint measured on data, sample by sample."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from training.cli.options import workspace_of
from training.console import Console
from training.errors import format_bytes, pluralize
from training.events import PhaseChanged
from training.metric_names import show_metric, title_of
from training.predictions import Evaluation, Measured
from training.predictions.importance import Importance, read_importance
from training.predictions.record import PARTS
from training.runs.cli_consent import trust_resume
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path


def evaluate(arguments: argparse.Namespace) -> int:
    """Compute it, or take what was computed before; returns the exit code."""
    checkpoint, instead = find_checkpoint(arguments.checkpoint, workspace_of(arguments))
    if instead:
        say(instead)
    found = evaluate_given(arguments, checkpoint, arguments.again, arguments.importance)
    importance = read_importance(found) if arguments.importance else None
    for line in (*describe(found), *describe_importance(importance)):
        say(line)
    if arguments.json:
        told = record_of(found)
        if importance is not None:
            told["importance"] = importance.model_dump(mode="json")
        print_json(told)
    return 0


def evaluate_given(
    arguments: argparse.Namespace, checkpoint: Path, again: bool = False, importance: bool = False
) -> Evaluation:
    """The evaluation of ``checkpoint`` on what --on says, with its progress told; ``importance``: with that of the columns."""
    on: str = arguments.on
    if on not in PARTS:
        on = str(parse_path(on).absolute())
    if arguments.trust:
        trust_resume(RunFolder(checkpoint.absolute().parent.parent), ())
    from training.evaluation import evaluate_checkpoint
    from training.evaluation.importance import measure_importance

    console = Console()

    def report(text: str, fraction: float | None) -> None:
        if fraction == 0:  # what will be written, in a line that stays
            console.clear()
            say(text)
        console.event(PhaseChanged(phase=text, fraction=fraction))

    try:
        if importance:
            return measure_importance(checkpoint, on, report, again)[0]
        return evaluate_checkpoint(checkpoint, on, report, again)
    finally:
        console.clear()


def record_of(found: Evaluation) -> dict[str, JsonValue]:
    """For other programs."""
    record = found.record
    told = {
        "run",
        "checkpoint",
        "step",
        "epoch",
        "on",
        "fingerprint",
        "target",
        "task",
        "samples",
        "metrics",
        "per_class",
        "notes",
    }
    return {
        "folder": str(found.folder),
        "bytes": record.bytes,
        **record.model_dump(mode="json", include=told),
        "names": list(record.names[:1000]),
    }


def describe(found: Evaluation) -> Iterator[str]:
    """In lines for people."""
    record = found.record
    size = format_bytes(record.bytes)
    yield f"{record.checkpoint} on {record.on}: {pluralize(record.samples, 'sample')}, {size} in {found.folder}"
    for name, measured in record.metrics.items():
        yield _describe_metric(name, measured)
    yield from record.notes


def describe_importance(importance: Importance | None) -> Iterator[str]:
    """In lines for people; none of none."""
    if importance is None:
        return
    times, samples = importance.repetitions, pluralize(importance.samples, "sample")
    yield f"{importance.title}: what is lost when a column is shuffled (mean of {times} times, 95 % interval, {samples})"
    for column in importance.columns:
        doubt = "" if column.matters else "; not shown to matter"
        yield f"  {escape_unprintable(column.name, 100)} {importance.describe(column)}{doubt}"


def _describe_metric(name: str, measured: Measured) -> str:
    line = f"  {title_of(name)} {show_metric(name, measured.value)}"
    if measured.low is not None or measured.high is not None:
        line += f" ({show_metric(name, measured.low)} to {show_metric(name, measured.high)})"
    for simple in (measured.baseline, measured.linear):
        if simple is not None:
            line += f"; {simple.name} {show_metric(name, simple.value)}"
    return "; ".join((line, *measured.lacks))
