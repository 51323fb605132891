"""The curves of runs as drawings: the raw line as the pyramid beside the series has it, the smoothed one, computed on all steps, over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from training.errors import InputError
from training.events import Validated
from training.metric_names import CURVE_TITLES, is_share, title_of
from training.report.chart import COLUMNS, Curve, Drawing, find_weight, line_drawing
from training.report.facts import RunFacts
from training.runs.pyramid.curve import Pyramid
from training.runs.pyramid.kept import STEP_CURVES
from training.runs.pyramid.smoothing import make_smoother
from training.runs.pyramid.stored import StoredSeries
from training.runs.records.series import STEP_ROW, is_series

_MOST_METRICS = 6
_POINTS = 60  # validations that are drawn as points
_SMOOTHED = ("loss", "grad_norm")
"""Of what is drawn of each step."""


def draw_curves(runs: Sequence[RunFacts]) -> list[Drawing]:
    """Loss, what was validated, learning rate and gradient norm of each over the steps."""
    of_steps = _draw_steps(runs)
    drawn = [*_draw_loss(runs, of_steps["loss"])]
    names = dict.fromkeys(name for run in runs for item in run.history.validations for name in item.metrics)
    for name in [name for name in names if name.startswith("val/") and name != "val/loss"][:_MOST_METRICS]:
        curves = [
            curve
            for number, run in enumerate(runs)
            for curve in _draw_validations(run, name, _call(run, runs, ""), number)
        ]
        title = f"Validation: {title_of(name.removeprefix('val/'))}"
        drawn.append(line_drawing(title, "Step", title_of(name.removeprefix("val/")), curves, percent=is_share(name)))
    for column in ("grad_norm", "lr"):
        if curves := of_steps[column]:
            title = CURVE_TITLES[column]
            drawn.append(line_drawing(title, "Step", title, curves, log_y=column == "grad_norm"))
    return drawn


def _draw_loss(runs: Sequence[RunFacts], trained: list[Curve]) -> Iterator[Drawing]:
    validated = [
        curve
        for number, run in enumerate(runs)
        for curve in _draw_validations(run, "val/loss", _call(run, runs, "Validation"), number if len(runs) > 1 else 1)
    ]
    together = [[*trained, *validated]] if len(runs) == 1 else [trained, validated]
    titles = ("Loss",) if len(runs) == 1 else (CURVE_TITLES["train/loss"], "Validation loss")
    for title, curves in zip(titles, together, strict=True):
        if curves:
            positive = all((curve.y > 0).all() for curve in curves if curve.style != "raw")
            yield line_drawing(title, "Step", "Loss", curves, log_y=positive)


def _call(run: RunFacts, runs: Sequence[RunFacts], quantity: str) -> str:
    return quantity or "Run" if len(runs) == 1 else run.name


def _draw_steps(runs: Sequence[RunFacts]) -> dict[str, list[Curve]]:
    """The curves of all runs, by what they are of; of each run its series is opened once."""
    columns = max(COLUMNS // len(runs), 120)  # fewer where many runs share the page
    found: dict[str, list[Curve]] = {name: [] for name in STEP_CURVES}
    for number, run in enumerate(runs):
        if (series := _open(run)) is not None:
            for name in STEP_CURVES:
                curve, label = series.curve(name, series.steps), CURVE_TITLES.get(name, "Training")
                found[name] += _draw_curve(curve, _call(run, runs, label), number, columns, name in _SMOOTHED)
    return found


def _draw_curve(curve: Pyramid, label: str, color: int, columns: int, smooths: bool) -> Iterator[Curve]:
    """The steps' own line, behind it where it is ``smooths``, and the average over a fiftieth of the run."""
    first, last = float(curve.x[0]), float(curve.x[-1])
    x, y = curve.view(first, last, columns)
    smoother = make_smoother(find_weight(len(curve))) if smooths else None
    yield Curve(label, color, x, y, "raw" if smoother else "line")
    if smoother is not None:
        smoother.grow(curve)
        yield Curve(label, color, *smoother.view(curve, first, last, columns))


def _open(run: RunFacts) -> StoredSeries | None:
    with suppress(InputError, OSError):
        if is_series(run.folder.series_file, STEP_ROW):
            series = StoredSeries(run.folder.series_file)
            return series if len(series.steps) else None
    return None


def _draw_validations(run: RunFacts, name: str, label: str, color: int) -> Iterator[Curve]:
    found: list[Validated] = [item for item in run.history.validations if name in item.metrics]
    if found:
        x = np.array([item.step for item in found], dtype=np.float64)
        y = np.array([item.metrics[name] for item in found], dtype=np.float64)
        yield Curve(label or "Validation", color, x, y, "points" if len(found) <= _POINTS else "line")
