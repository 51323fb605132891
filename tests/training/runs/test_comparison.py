"""Several runs together: their curves over any axis, the mean of repeats, and which settings go along with the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.runs.comparison.bands import average
from training.runs.comparison.compared_run import ComparedRun
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.statistics.setting_shares import measure_share


def test_curves_of_a_run_over_every_axis(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny(), tmp_path).folder))
    run = ComparedRun(folder)
    rows = read_series(folder.series_file)
    assert {"train/loss", "lr", "grad_norm", "val/loss", "val/accuracy"} <= set(run.names())
    by_step = run.curve("train/loss")
    assert by_step is not None
    np.testing.assert_array_equal(by_step.y, rows["loss"])
    ends = {}
    for axis in ("step", "epoch", "samples", "time"):
        curve = run.curve("val/loss", axis)
        assert curve is not None
        assert len(curve) == 3
        ends[axis] = float(curve.x[-1])
    assert (ends["step"], ends["epoch"], ends["samples"]) == (24, 3, 3 * 240)
    assert ends["time"] > 0
    assert run.curve("val/iou") is None


def test_a_mean_is_of_those_that_are_there_and_loses_no_digits() -> None:
    steps = np.arange(1.0, 6.0)
    first, second = np.array([1.0, 2, np.nan, 4, 5]) + 1e9, np.array([3.0, 2, 7]) + 1e9
    band = average([(steps, first), (steps[:3], second)])
    np.testing.assert_array_equal(band.n, [2, 2, 1, 1, 1])
    np.testing.assert_allclose(band.mean - 1e9, [2, 2, 7, 4, 5])
    np.testing.assert_allclose(band.std[:2], [np.sqrt(2), 0])
    np.testing.assert_array_equal(band.edges("range")[0] - 1e9, [1, 2, 7, 4, 5])
    apart = average([(np.array([1.0, 3]), np.array([1.0, 3])), (np.array([2.0, 3]), np.array([2.0, 5]))])
    np.testing.assert_array_equal(apart.steps, [1, 2, 3])
    np.testing.assert_array_equal(apart.mean, [1, 2, 4])


def test_shares_are_those_of_scipy_and_chance_gives_none() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(3)
    rates = (10.0 ** generator.uniform(-4, -1, 40)).tolist()
    kinds = generator.choice(["sgd", "adam", "muon"], 40).tolist()
    results = [np.log10(rate) + 0.3 * (kind == "muon") for rate, kind in zip(rates, kinds, strict=True)]
    rate, kind = measure_share(rates, results), measure_share(kinds, results)
    assert rate is not None
    assert kind is not None
    assert rate.rank_correlation == pytest.approx(stats.spearmanr(rates, results).statistic)
    groups = [[r for r, k in zip(results, kinds, strict=True) if k == name] for name in ("sgd", "adam", "muon")]
    eta = stats.kruskal(*groups).statistic / 39
    assert kind.share == pytest.approx(max((eta - 2 / 39) / (1 - 2 / 39), 0))
    assert rate.share > 0.8 > 0.2 > kind.share
    assert rate.chance <= 0.01 < kind.chance
    nothing = [
        measure_share(generator.integers(0, 4, 30).tolist(), generator.normal(size=30).tolist()) for _ in range(20)
    ]
    assert np.mean([each.share for each in nothing if each]) < 0.05
    assert measure_share([1, 1, 1], [1, 2, 3]) is None
    assert measure_share([1, 2], [1, 2]) is None
