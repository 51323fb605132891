"""The curves of runs as drawings: the raw line as the pyramid beside the series has it, the smoothed one, computed on all steps, over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from training.config.rules.metrics import is_share, title_of
from training.errors import InputError
from training.events import Validated
from training.report.chart import COLUMNS, Curve, Drawing, line_drawing
from training.report.facts import RunFacts
from training.runs.pyramid.curve import Pyramid
from training.runs.pyramid.kept import STEP_CURVES
from training.runs.pyramid.smoothing import make_smoother
from training.runs.pyramid.stored import StoredSeries
from training.runs.records.series import STEP_ROW, is_series

_MOST_METRICS = 6
_POINTS = 60  # validations that are drawn as points
_STEP_TITLES = {"grad_norm": "Gradient norm before clipping", "lr": "Learning rate"}


def draw_curves(runs: Sequence[RunFacts]) -> list[Drawing]:
    """Loss, what was validated, learning rate and gradient norm of each over the steps."""
    drawn = [*_draw_loss(runs)]
    names = dict.fromkeys(name for run in runs for item in run.history.validations for name in item.metrics)
    for name in [name for name in names if name.startswith("val/") and name != "val/loss"][:_MOST_METRICS]:
        curves = [
            curve
            for number, run in enumerate(runs)
            for curve in _draw_validations(run, name, _call(run, runs, ""), number)
        ]
        title = f"Validation: {title_of(name.removeprefix('val/'))}"
        drawn.append(line_drawing(title, "Step", title_of(name.removeprefix("val/")), curves, percent=is_share(name)))
    for column, title in _STEP_TITLES.items():
        curves = [
            curve
            for number, run in enumerate(runs)
            for curve in _draw_steps(
                run, column, _call(run, runs, title), number, _columns(runs), column == "grad_norm"
            )
        ]
        if curves:
            drawn.append(line_drawing(title, "Step", title, curves, log_y=column == "grad_norm"))
    return drawn


def _draw_loss(runs: Sequence[RunFacts]) -> Iterator[Drawing]:
    trained = [
        curve
        for number, run in enumerate(runs)
        for curve in _draw_steps(run, "loss", _call(run, runs, "Training"), number, _columns(runs), True)
    ]
    validated = [
        curve
        for number, run in enumerate(runs)
        for curve in _draw_validations(run, "val/loss", _call(run, runs, "Validation"), number if len(runs) > 1 else 1)
    ]
    together = [[*trained, *validated]] if len(runs) == 1 else [trained, validated]
    titles = ("Loss",) if len(runs) == 1 else ("Training loss", "Validation loss")
    for title, curves in zip(titles, together, strict=True):
        if curves:
            positive = all((curve.y > 0).all() for curve in curves if curve.style != "raw")
            yield line_drawing(title, "Step", "Loss", curves, log_y=positive)


def _call(run: RunFacts, runs: Sequence[RunFacts], quantity: str) -> str:
    return quantity or "Run" if len(runs) == 1 else run.name


def _columns(runs: Sequence[RunFacts]) -> int:
    """Fewer where many runs share the page."""
    return max(COLUMNS // len(runs), 120)


def _draw_steps(run: RunFacts, column: str, label: str, color: int, columns: int, smooths: bool) -> Iterator[Curve]:
    """The steps' own line, behind it where it is ``smooths``, and the average over a fiftieth of the run."""
    curve = _open(run, column)
    if curve is None:
        return
    first, last = float(curve.x[0]), float(curve.x[-1])
    x, y = curve.view(first, last, columns)
    smoother = make_smoother(1.0 - 1.0 / max(len(curve) / 50, 1.0)) if smooths else None
    yield Curve(label, color, x, y, "raw" if smoother else "line")
    if smoother is not None:
        smoother.grow(curve)
        yield Curve(label, color, *smoother.view(curve, first, last, columns))


def _open(run: RunFacts, column: str) -> Pyramid | None:
    with suppress(InputError, OSError):
        if is_series(run.folder.series_file, STEP_ROW):
            series = StoredSeries(run.folder.series_file)
            if len(series.steps):
                return series.curve(STEP_CURVES[STEP_CURVES.index(column)], series.steps)
    return None


def _draw_validations(run: RunFacts, name: str, label: str, color: int) -> Iterator[Curve]:
    found: list[Validated] = [item for item in run.history.validations if name in item.metrics]
    if found:
        x = np.array([item.step for item in found], dtype=np.float64)
        y = np.array([item.metrics[name] for item in found], dtype=np.float64)
        yield Curve(label or "Validation", color, x, y, "points" if len(found) <= _POINTS else "line")
