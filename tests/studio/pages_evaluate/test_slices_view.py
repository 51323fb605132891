"""Slices: what has something in common and is told worse than the rest stands first, and chooses its samples."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.views.loss_view import LossView
from studio.pages.evaluate.views.slices_view import SlicesView, is_marked
from studio.state.context import AppContext
from studio.state.evaluations.slices import find_members, find_slices
from tests.evaluations import make_classes, write_evaluation
from tests.studio.pages_evaluate.page_driver import NAMES, open_page
from training.config import RunConfig
from training.runs.folder import create_run
from training.statistics.grouped import count_cells, rate_intervals

MakeConfig = Callable[..., RunConfig]


def test_the_slice_that_costs_most_is_first_and_shows_its_samples(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    rng, count = np.random.default_rng(0), 2000
    columns, port = (
        make_classes(count, 3),
        rng.choice(["Cherbourg", "Queenstown", "Southampton"], count, p=(0.3, 0.1, 0.6)),
    )
    age = np.where(np.arange(count) < 40, np.nan, rng.integers(18, 90, count))
    is_bad = (port == "Queenstown") & (rng.random(count) < 0.6)
    columns["prediction"] = np.where(is_bad, (columns["target"] + 1) % 3, columns["prediction"]).astype(np.int32)
    days = [date(2020, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 900, count)]
    names = [f"Ann {number}" for number in range(count)]  # of no use: no two are alike
    kinds = np.array(NAMES)[columns["target"]]  # the true class once more
    rows = polars.DataFrame({"age": age, "port": port, "day": days, "name": names, "kind": kinds})
    brightness = rng.random((count, 1)).astype(np.float32)
    write_evaluation(
        create_run(workspace, config()).path,
        columns | {"properties": brightness, "group": np.arange(count) // 2},
        NAMES,
        rows=rows,
        properties=("brightness",),
    )
    page = open_page(qtbot, context)
    view = page.views["slices"]
    assert isinstance(view, SlicesView)
    first, *others = view.model.slices
    right, inside = columns["prediction"] == columns["target"], port == "Queenstown"
    assert first.words == "port: Queenstown"
    pairs = [count_cells(np.where(inside, 0, -1), 1, np.arange(count) // 2, each) for each in (right, None)]
    assert [first.figure] == rate_intervals(*pairs)  # by groups of two samples
    assert first.figure.value == right[inside].mean()
    assert first.rest == pytest.approx(right[~inside].mean())
    assert first.harm == pytest.approx(right[~inside].mean() - right.mean())
    assert is_marked(first)
    aspects = [each.aspect for each in view.model.slices]
    assert {name: aspects.count(name) for name in aspects} == {
        "True class": 3,
        "Image brightness": 4,
        "age": 5,  # four quarters, and what is missing
        "port": 3,
        "day": 4,
    }
    assert sum(map(is_marked, others)) < 4
    view.choose_row(0)
    assert set(page.samples.table.rows) == set(np.flatnonzero(inside))
    assert view.model.slices[0].samples == inside.sum()  # a view does not narrow itself
    assert view.model.tabulate()["samples"][0] == inside.sum()
    page.selection.clear()
    losses = page.views["loss"]
    assert isinstance(losses, LossView)
    losses.chart.chosen.emit((20, 39))
    chosen = page.samples.table.rows
    found = next(each for each in view.model.slices if each.words == "port: Queenstown")
    assert found.figure.value == right[chosen][inside[chosen]].mean()


def test_values_are_compared_by_their_errors(workspace: Path, config: MakeConfig) -> None:
    rng, count = np.random.default_rng(1), 600
    target = rng.normal(size=(count, 1)).astype(np.float32)
    error = rng.normal(size=(count, 1)) * np.where(target > 1.0, 5.0, 1.0)
    columns: dict[str, Any] = {
        "index": np.arange(count),
        "loss": np.square(error[:, 0]).astype(np.float32),
        "target": target,
        "prediction": (target + error).astype(np.float32),
    }
    run = create_run(workspace, config())
    evaluation = write_evaluation(run.path, columns, ("height",), target="values", task="regression")
    first = find_slices(evaluation, None)[0]
    members = find_members(evaluation, aspect=first.aspect, title=first.title)
    assert members.sum() == first.samples
    assert target[members].min() >= np.quantile(target, 0.74)
    errors = error[members]
    assert first.figure.value == pytest.approx(np.sqrt(np.square(errors).mean()), rel=1e-5)
    assert first.figure.low < first.figure.value < first.figure.high
    assert is_marked(first)
