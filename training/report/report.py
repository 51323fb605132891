"""A run, an evaluation or a comparison of runs as one page: no script, nothing else needed, less than 1.5 MB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from training.config.diff import flatten
from training.config.files import overrides_of
from training.environment import list_facts
from training.errors import InputError, format_bytes, format_duration, format_moment, format_number
from training.events import Finding
from training.metric_names import show_metric, title_of
from training.report.curves import draw_curves
from training.report.facts import RunFacts, choose_common, find_changed_settings
from training.report.measured import (
    EvaluationTables,
    MetricRow,
    ReadImages,
    describe_metrics,
    shorten,
    tabulate,
    title_metric,
)
from training.report.pages import render
from training.report.proofs import describe_proofs
from training.runs.groups import differing
from training.runs.records.exports import ExportNote
from training.runs.records.history import History
from training.runs.records.progress import worked_seconds
from training.system.atomic import write_text
from training.system.untrusted import visible_lines
from training.verify.check import describe

MOST_RUNS: Final = 20
MOST_BYTES: Final = 1_500_000
_MOST_CLASSES = 50  # whose samples are counted
_MOST_FINDINGS = 40
_MOST_EXPORTS = 20
_MOST_DIFFERING = 60


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same samples: what is compared, and a sentence for each metric."""

    title: str
    sentences: tuple[str, ...]


class FindingRow(NamedTuple):
    """A finding and what was done about it."""

    level: str
    step: int
    words: str
    done: str


class ExportRow(NamedTuple):
    """An export and its proof."""

    file: str
    format: str
    size: str
    step: int
    proof: str
    sha256: str


def write_report(
    out: Path, runs: Sequence[RunFacts], read_images: ReadImages | None = None, comparisons: Sequence[Comparison] = ()
) -> int:
    """Write the page of one run, or the comparison of several, to ``out``; returns its size in bytes. Raises InputError where that cannot
    be."""
    if len(runs) > MOST_RUNS:
        raise InputError(f"These are {len(runs)} runs, and a report compares {MOST_RUNS} at most; leave some out.")
    page = render_page(runs, read_images, comparisons)
    if len(page.encode()) > MOST_BYTES and read_images is not None:
        page = render_page(runs, None, comparisons)
    try:
        write_text(out, page)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); choose another place.") from error
    return len(page.encode())


def render_page(
    runs: Sequence[RunFacts], read_images: ReadImages | None = None, comparisons: Sequence[Comparison] = ()
) -> str:
    """The page's text."""
    drawings = draw_curves(runs)
    if len(runs) > 1:
        return render(
            "training.report",
            "comparison.html.jinja",
            runs=runs,
            rows=[_summarize(run) for run in runs],
            measured=[*_measure_all(runs)],
            evaluated=[*zip(runs, choose_common(runs), strict=True)],
            differing=_differing(runs),
            comparisons=comparisons,
            drawings=drawings,
            links=[Markup(run.embedded.link()) for run in runs],
        )
    run = runs[0]
    return render(
        "training.report",
        "report.html.jinja",
        run=run,
        facts=dict(_summarize(run)),
        notes=visible_lines(run.about.notes).split("\n") if run.about.notes else [],
        settings=[*find_changed_settings(run.config)] if run.config else [],
        classes=_count_classes(run),
        drawings=drawings,
        attempts=_attempts(run.history),
        findings=[*_findings(run.history)],
        proofs=[*describe_proofs(run.folder)],
        evaluations=[*_tabulate_all(run, read_images)],
        metrics=[*_plain_metrics(run)],
        exports=[_describe_export(each) for each in run.exports[:_MOST_EXPORTS]],
        environment=[*list_facts(run.environment)],
        link=Markup(run.embedded.link()),
        config=visible_lines(run.text, 4000),
    )


def _summarize(run: RunFacts) -> Iterator[tuple[str, str]]:
    """What stands at the head of a run."""
    record = run.record
    yield "Run", shorten(run.folder.id, 120)
    yield "Status", shorten(record.status)
    steps = f"{record.step:,}" + (f" of {record.total_steps:,}" if record.total_steps else "")
    yield "Steps", steps
    if (best := record.best) is not None:
        yield "Best", f"{title_metric(best.metric)} {show_metric(best.metric, best.value)} at step {best.step:,}"
    yield "Time", format_duration(worked_seconds(record))
    yield "Begun", format_moment(record.created)
    if record.parent is not None and record.parent.run:
        yield "Branch of", shorten(record.parent.run, 120)
    if run.about.tags:
        yield "Tags", ", ".join(run.about.tags)


def _count_classes(run: RunFacts) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    """Titles, a row for each of the first classes with its samples in each part, and how many more there are."""
    data = run.data
    if data is None or not any(data.counts.values()):
        return (), (), 0
    parts = [part for part in data.counts if data.counts[part]]
    rows = tuple(
        (shorten(name), *(f"{data.counts[part][at]:,}" if at < len(data.counts[part]) else "–" for part in parts))
        for at, name in enumerate(data.classes[:_MOST_CLASSES])
    )
    return ("Class", *parts), rows, data.class_count - len(rows)


def _attempts(history: History) -> list[tuple[str, ...]]:
    """When each began, from where, on what, and what was set otherwise."""
    return [
        (
            f"{each.attempt}",
            format_moment(each.time),
            f"{each.step:,}",
            shorten(each.device),
            shorten("; ".join(each.changes), 300),
        )
        for each in history.attempts
    ]


def _findings(history: History) -> Iterator[FindingRow]:
    """Each once, with the settings that it proposed and what became of them."""
    known: dict[tuple[str, str], FindingRow] = {}
    for found in history.findings:
        words = shorten(f"{found.title} {found.advice}".strip(), 600)
        known.setdefault(
            (found.level, words), FindingRow(found.level, found.step, words, _describe_done(found, history))
        )
    yield from [*known.values()][:_MOST_FINDINGS]


def _describe_done(found: Finding, history: History) -> str:
    if not found.fix:
        return ""
    proposed = ", ".join(overrides_of(found.fix))
    for attempt in history.attempts:
        if attempt.time > found.time and any(path in change for path in found.fix for change in attempt.changes):
            return f"Proposed {shorten(proposed, 200)}; attempt {attempt.attempt} changed {shorten('; '.join(attempt.changes), 200)}."
    return f"Proposed {shorten(proposed, 200)}; this run was not changed."


def _tabulate_all(run: RunFacts, read_images: ReadImages | None) -> Iterator[EvaluationTables]:
    for evaluation in run.evaluations:
        yield tabulate(evaluation, read_images)


def _plain_metrics(run: RunFacts) -> Iterator[tuple[str, str]]:
    """As the run itself measured them last."""
    for name, value in run.record.metrics.items():
        yield title_metric(name), show_metric(name, value)


def _measure_all(runs: Sequence[RunFacts]) -> Iterator[tuple[str, list[tuple[str, MetricRow | None]]]]:
    """The runs' chief evaluations side by side: for each metric a cell for each run."""
    chief = choose_common(runs)
    measured = [dict(each.record.metrics) if each else {} for each in chief]
    for name in dict.fromkeys(name for each in measured for name in each):
        cells = [
            (run.name, next(describe_metrics({name: each[name]})) if name in each else None)
            for run, each in zip(runs, measured, strict=True)
        ]
        yield shorten(title_of(name)), cells


def _differing(runs: Sequence[RunFacts]) -> list[tuple[str, list[str]]]:
    """The settings that are not the same in all runs whose configuration can be read."""
    settings = [flatten(run.config) if run.config else {} for run in runs]
    known = [each for each in settings if each]
    return [
        (path, [shorten(_show(each.get(path)), 120) for each in settings])
        for path in differing(known)[:_MOST_DIFFERING]
    ]


def _show(value: object) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _describe_export(note: ExportNote) -> ExportRow:
    form = f"{note.format} in {note.quantized}" if note.quantized else note.format
    file = Path(note.path.replace("\\", "/")).name
    return ExportRow(
        shorten(file), shorten(form), format_bytes(note.bytes), note.step, _describe_proof(note), note.sha256[:64]
    )


def _describe_proof(note: ExportNote) -> str:
    proof = note.proof
    if proof is None:
        return "Not proven."
    latency = "" if proof.latency_ms is None else f" {format_number(proof.latency_ms)} ms for a sample alone."
    return shorten(describe(proof.proof()), 600) + latency
