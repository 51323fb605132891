"""Calibration: bins of confidence choose their samples, and a temperature mends what is too sure."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.views.calibration_view import CalibrationView
from studio.state.context import AppContext
from tests.evaluations import make_binary, make_classes, write_evaluation
from tests.studio.pages_evaluate.page_driver import open_page
from training.config import RunConfig
from training.predictions.probabilities import find_temperature
from training.runs.folder import RunFolder, create_run

MakeConfig = Callable[..., RunConfig]


def test_a_model_that_is_too_sure_is_mended_and_a_bin_shows_its_samples(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    columns = make_binary(3000, sharpness=3.0)
    run = create_run(workspace, config())
    write_evaluation(run.path, columns, ("no", "yes"), task="binary")
    write_evaluation(run.path, make_binary(500, seed=1, sharpness=3.0), ("no", "yes"), task="binary", on="test")
    page = open_page(qtbot, context)
    view, table = page.views["calibration"], page.samples.table
    assert isinstance(view, CalibrationView)
    qtbot.waitUntil(lambda: view.temperature is not None)
    assert view.temperature == pytest.approx(3.0, rel=0.1)
    logits = columns["scores"][:, 1].astype(float)
    for form, temperature in (("width", 1.0), ("mass", view.temperature)):
        view.form.set_current(form)
        view.state.set_current("before" if temperature == 1.0 else "after")
        bins = view.tabulate()
        number = 7
        view.chart.chosen.emit(number)
        chances = 1 / (1 + np.exp(-logits / temperature))
        low, high = float(bins["from"][number] or 0), float(bins["to"][number] or 0)
        wanted = (chances > low - 1e-12) & (chances < high + 1e-12)
        assert set(table.rows) == set(np.flatnonzero(wanted))
        assert len(table.rows) == bins["samples"][number]
        assert bins["accuracy"][number] == columns["target"][wanted].mean()
        assert view.chart._marked == number

    # Each error has its interval.
    def read_limits() -> list[float]:
        return [float(each) for each in re.findall(r"[\d.]+", view.figures._values["ECE, equal mass"].text())]

    qtbot.waitUntil(
        lambda: "with temperature" in view.figures._values["ECE, equal mass"].text() and len(read_limits()) == 6
    )
    value, low, high, *after_it = read_limits()
    assert low <= value <= high
    assert after_it[0] < low  # mended
    before, after = (
        float(part.split("%")[0]) for part in view.figures._values["ECE, equal mass"].text().split("temperature ")
    )
    assert after < before / 2
    # Of other data the temperature is that of the validation part.
    page.choice.choose_data("test")
    qtbot.waitUntil(lambda: view.temperature is not None)
    assert view.temperature == pytest.approx(3.0, rel=0.1)
    assert "the very samples" not in view.words.text()


def test_of_many_classes_the_temperature_is_that_of_all_of_them(workspace: Path, config: MakeConfig) -> None:
    run = create_run(workspace, config())
    # Logits of a classifier that is right by its own probabilities, times 2; 20 of 40 are kept.
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 40)) * 2
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    target = (chances.cumsum(1) > rng.random((4000, 1))).argmax(1)
    logits *= 2.0
    columns = make_classes(4000, 40)
    largest = np.argsort(-logits, 1)[:, :20]
    columns |= {
        "target": target.astype(np.int32),
        "scores": np.take_along_axis(logits, largest, 1).astype(np.float32),
        "classes": largest.astype(np.int32),
        "log_sum": np.log(np.exp(logits).sum(1)).astype(np.float32),
    }
    evaluation = write_evaluation(RunFolder(run.path).path, columns, tuple(map(str, range(40))))
    assert find_temperature(evaluation) == pytest.approx(2.0, rel=0.05)
