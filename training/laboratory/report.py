"""The report: one page that needs nothing else (HTML), the same words as text (Markdown), and its figures (JSON)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic_core import to_jsonable_python

from training.laboratory.comparisons import Compared
from training.laboratory.criteria import Verdict
from training.laboratory.measure import Figures, Measured
from training.laboratory.sameness import Sameness
from training.laboratory.short_script import ScriptNote
from training.laboratory.steps import STEPS, Step
from training.metric_names import CURVE_TITLES
from training.report.chart import Curve, Drawing, Numbers, histogram, line_drawing, smooth
from training.report.pages import render
from training.system.atomic import write_text

PAGE, TEXT, FIGURES = "report.html", "report.md", "report.json"


@dataclass(frozen=True)
class Row:
    """One step in the report; ``measured`` and ``verdict`` are None where it has not run."""

    number: int
    step: Step
    measured: Measured | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Findings:
    """Everything the report is made from. ``settings`` are the options that each step was given, ``failures`` sentences
    by step for what could not be done."""

    data: str
    command: str
    settings: Mapping[str, str]
    measured: Mapping[str, Measured]
    verdicts: Mapping[str, Verdict]
    sameness: Mapping[str, Sameness]
    failures: Mapping[str, str]
    script: ScriptNote
    expected: str
    named_share: float
    comparisons: tuple[Compared, ...]


@dataclass(frozen=True)
class StepRecord:
    """One step in ``report.json``; None is what it has not come to."""

    key: str
    preset: str
    title: str
    met: bool | None
    asked: str | None
    found: str | None
    figures: Figures | None
    sameness: Sameness | None
    failure: str | None


@dataclass(frozen=True)
class LabReport:
    """``report.json``: each step's figures, its verdict, and what was compared to the bit."""

    data: str
    script: ScriptNote
    steps: tuple[StepRecord, ...]
    comparisons: tuple[Compared, ...]


@dataclass(frozen=True)
class Drawings:
    """Of all steps, of the step that clips, and of the one that was killed; None where those have not run."""

    loss: Drawing
    accuracy: Drawing
    rate: Drawing
    norms: Drawing | None
    crash: tuple[Drawing, Drawing] | None


def write_report(folder: Path, findings: Findings) -> LabReport:
    """Write the three files into ``folder``; returns the figures."""
    rows = [
        Row(number, step, findings.measured.get(step.key), findings.verdicts.get(step.key))
        for number, step in enumerate(STEPS, start=1)
    ]
    for name, template in ((PAGE, "report.html.jinja"), (TEXT, "report.md.jinja")):
        text = render(
            "training.laboratory",
            template,
            rows=rows,
            findings=findings,
            machine=next((row.measured.figures.device for row in rows if row.measured), ""),
            met=sum(1 for row in rows if row.verdict and row.verdict.met),
            columns=[(title, shown) for title, shown, _ in _COLUMNS],
            cells={row.step.key: _cells(row.measured) for row in rows},
            drawings=_draw(rows, findings) if name == PAGE else None,
        )
        write_text(folder / name, text)
    report = LabReport(
        findings.data, findings.script, tuple(_record_step(row, findings) for row in rows), findings.comparisons
    )
    figures = to_jsonable_python(report, inf_nan_mode="null")
    write_text(folder / FIGURES, json.dumps(figures, indent=1, allow_nan=False) + "\n")
    return report


def _record_step(row: Row, findings: Findings) -> StepRecord:
    step, verdict = row.step, row.verdict
    return StepRecord(
        key=step.key,
        preset=step.preset,
        title=step.title,
        met=verdict.met if verdict else None,
        asked=verdict.asked if verdict else None,
        found=verdict.found if verdict else None,
        figures=row.measured.figures if row.measured else None,
        sameness=findings.sameness.get(step.key),
        failure=findings.failures.get(step.key),
    )


_COLUMNS: tuple[tuple[str, str, Callable[[Figures], str]], ...] = (
    ("Training loss", "mean over the last epoch", lambda f: _format_number(f.train_loss, "{:.4f}")),
    ("Validation loss", "after the last epoch", lambda f: _format_number(f.val_loss, "{:.4f}")),
    ("Validation accuracy", "after the last epoch", lambda f: _format_number(f.val_accuracy, "{:.2%}")),
    ("Best", "best validation accuracy", lambda f: _format_number(f.best_val_accuracy, "{:.2%}")),
    ("Test accuracy", "of the best checkpoint, measured once", lambda f: _format_number(f.test_accuracy, "{:.2%}")),
    ("Seconds", "all work of the run's processes", lambda f: _format_number(f.seconds, "{:.1f}")),
    ("Samples/s", "while training, median of the epochs", lambda f: _format_number(f.samples_per_second, "{:,.0f}")),
    ("Steps", "updates of the weights", lambda f: f"{f.steps:,}"),
    ("Skipped", "steps whose gradient was not finite", lambda f: f"{f.skipped:,}"),
    ("Clipped", "share of all steps / in steady state", lambda f: _both(f.clipped, f.clipped_steady)),
    ("Checkpoint", "size of one", lambda f: _format_number(f.checkpoint_mb, "{:.1f} MB")),
)


def _format_number(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "–"


def _both(one: float, other: float) -> str:
    return f"{one:.1%} / {other:.1%}" if math.isfinite(one) else "–"


def _cells(measured: Measured | None) -> list[str]:
    return [cell(measured.figures) if measured else "–" for _, _, cell in _COLUMNS]


def _draw(rows: list[Row], findings: Findings) -> Drawings:
    raw, averages, rates, accuracies = [], [], [], []
    for row in rows:
        if (item := row.measured) is None or not len(item.rows):
            continue
        label, color, steps, loss = f"{row.number} {row.step.title}", row.number - 1, *_curve(item)
        raw.append(Curve(label, color, steps, loss, "raw"))
        averages.append(Curve(label, color, steps, smooth(loss)))
        rates.append(Curve(label, color, steps, item.rows["lr"]))
        accuracy = np.array(item.figures.epoch_accuracies)
        accuracies.append(Curve(label, color, np.arange(1.0, len(accuracy) + 1), accuracy, "points"))
    return Drawings(
        loss=line_drawing("Training loss of all steps", "Step", "Loss", [*raw, *averages], log_y=True),
        accuracy=line_drawing("Validation accuracy", "Epoch", "Accuracy", accuracies, percent=True),
        rate=line_drawing("Learning rate", "Step", "Rate", rates),
        norms=_norms(findings.measured.get("clip")),
        crash=_crash(findings.measured.get("crash"), findings.sameness.get("crash")),
    )


def _curve(measured: Measured) -> tuple[Numbers, Numbers]:
    """Numbers and losses of its steps."""
    return measured.rows["step"].astype(np.float64), measured.rows["loss"].astype(np.float64)


def _norms(clip: Measured | None) -> Drawing | None:
    if clip is None or not len(clip.rows):
        return None
    norms, steady = clip.rows["grad_norm"].astype(np.float64), clip.figures.steady_from - 1
    limit = clip.figures.clip_norm
    groups = [("Before", norms[:steady]), ("Last epoch", norms[steady:])]
    return histogram(CURVE_TITLES["grad_norm"], "Norm", groups, limit, f"limit {limit:g}")


def _crash(crash: Measured | None, same: Sameness | None) -> tuple[Drawing, Drawing] | None:
    """Loss and validation accuracy of both processes, each as one line."""
    if crash is None or not len(crash.rows):
        return None
    figures, (x, y) = crash.figures, _curve(crash)
    at = figures.resumed_at[-1] if figures.resumed_at else len(x)
    validated = figures.steps_per_epoch * np.arange(1, len(figures.epoch_accuracies) + 1, dtype=np.float64)
    accuracies = np.array(figures.epoch_accuracies)
    first, second = "First process", "Resumed process"
    average = smooth(y)
    loss = [
        Curve(first, 0, x[: at + 1], y[: at + 1], "raw"),
        Curve(second, 1, x[at:], y[at:], "raw"),
        Curve(first, 0, x[: at + 1], average[: at + 1]),
        Curve(second, 1, x[at:], average[at:]),
    ]
    before = int((validated <= at).sum())
    accuracy = [
        Curve(first, 0, validated[: before + 1], accuracies[: before + 1]),
        Curve(first, 0, validated[:before], accuracies[:before], "points"),
        Curve(second, 1, validated[before:], accuracies[before:], "points"),
    ]
    marks = []
    if figures.resumed_at:
        marks.append((float(at), f"resumed at step {at:,}"))
    if same is not None and same.kill is not None:
        marks.append((float(same.kill.step), f"killed after step {same.kill.step:,}"))
    return (
        line_drawing("The killed and resumed run: loss", "Step", "Loss", loss, log_y=True, marks=marks),
        line_drawing(
            "The killed and resumed run: validation accuracy", "Step", "Accuracy", accuracy, percent=True, marks=marks
        ),
    )
