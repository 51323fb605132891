"""The learning-rate range test: what curves say, and what a whole study says of data whose best rate is known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.config import load_config, save_config
from training.errors import ConfigError
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.schedules.schedule import make_run_schedule
from training.studies.folder import make_plan
from training.studies.lr_range.curve import find_end, find_valley, read_curve
from training.studies.lr_range.ramp import Band, choose_band, look_closer
from training.studies.lr_range.trials import Trials, make_trial
from training.studies.records import Cost, Draft, PlannedRun

BAND = Band(1e-6, 10.0, 210)


def draw_losses(seed: int, noise: float = 0.05, fall: float = 1.0) -> NDArray[np.float64]:
    """Level 2 at low rates, falling by ``fall`` around 3e-3, growing from 0.1 on."""
    logs = np.log10(BAND.rates())
    clean = 2.0 - fall / (1.0 + np.exp(-4.0 * (logs + 2.5))) + np.exp(np.minimum(4.0 * (logs + 0.5), 20.0))
    return clean + noise * np.random.default_rng(seed).normal(size=len(logs))


def test_the_valley_lies_in_the_fall_whatever_the_noise() -> None:
    for first in range(0, 60, 3):
        curve = read_curve(BAND.rates(), [draw_losses(first + each) for each in range(3)])
        assert curve.is_clear
        assert 5e-4 < curve.valley < 3e-2
        assert 1e-3 < curve.steepest < 3e-2
        assert curve.rates[-1] < 3.0  # cut where it diverges
        assert len(curve.valleys) == 3


def test_steepest_is_by_the_logarithm_of_the_rate() -> None:
    """Of early noise a derivative by the rate makes the most, since rates are smallest there."""
    losses = draw_losses(0, noise=0.0)
    losses[:3] += [0.03, 0.02, 0.01]
    curve = read_curve(BAND.rates(), [losses] * 3)
    by_rate = BAND.rates()[int(np.argmin(np.gradient(curve.smoothed, curve.rates)))]
    assert by_rate < 1e-5
    assert 1e-3 < curve.steepest < 1e-2


def test_noise_alone_is_no_clear_valley() -> None:
    clear = [
        read_curve(BAND.rates(), [draw_losses(7 * first + each, noise=0.3, fall=0.0) for each in range(3)]).is_clear
        for first in range(100)
    ]
    assert sum(clear) <= 2
    small = [
        read_curve(BAND.rates(), [draw_losses(9 * k + each, noise=0.3, fall=0.5) for each in range(3)])
        for k in range(20)
    ]
    assert all(curve.is_clear for curve in small)


def test_a_curve_ends_before_it_is_four_times_its_best_or_no_number() -> None:
    losses = np.full(100, 1.0)
    assert find_end(losses, 100) == 100
    losses[50:] = 100.0
    assert find_end(losses, 100) == 50
    losses[30] = math.nan
    assert find_end(losses, 100) == 30
    assert find_end(np.full(5, math.nan), 100) == 0
    assert not read_curve(BAND.rates(), [np.full(5, math.nan)] * 3).is_clear


def test_where_a_curve_ends_does_not_rest_on_how_much_was_seen_of_it() -> None:
    losses = np.concatenate([np.full(400, 1.0), np.geomspace(1.0, 1e4, 600)])
    end = find_end(losses, 1000)
    assert 400 < end < 900
    assert [find_end(losses[:seen], 1000) for seen in (end, end + 1, end + 100)] == [end] * 3


def test_replicates_that_get_going_at_rates_of_their_own_have_fallen() -> None:
    """Their median stays where it was, which is no reason to say that nothing was learned."""
    steps = np.arange(len(BAND.rates()))
    losses = [
        2.0 - (np.abs(steps - place) < 10) + 0.05 * np.random.default_rng(place).normal(size=len(steps))
        for place in (120, 145, 170)
    ]
    curve = read_curve(BAND.rates(), losses)
    assert curve.drop < 3.0 * curve.error
    assert curve.is_clear
    assert not read_curve(BAND.rates(), [losses[0], *(draw_losses(each, 0.05, fall=0.0) for each in (1, 2))]).is_clear


def test_a_closer_look_is_at_the_upper_rates() -> None:
    curve = read_curve(BAND.rates(), [draw_losses(each, 0.3, fall=0.0) for each in range(3)])
    upper = look_closer(BAND, curve)
    assert upper is not None
    assert upper.high == curve.rates[-1] < BAND.high
    assert upper.low == pytest.approx(upper.high / 1000.0)
    assert upper.steps == 2 * BAND.steps
    assert look_closer(BAND, read_curve(BAND.rates(), [np.full(5, math.nan)] * 3)) is None


class MadeRun:
    """A run that came to these metrics."""

    def __init__(self, key: str, metrics: dict[str, float]) -> None:
        self.id, self._metrics = key, metrics

    def status(self) -> SimpleNamespace:
        done = all(math.isfinite(value) for value in self._metrics.values())
        return SimpleNamespace(status="completed" if done else "failed", metrics=self._metrics)


def make_trials(measure: Callable[[float, int], dict[str, float]]) -> tuple[Trials, list[tuple[float, int]]]:
    """Trials whose runs come to what ``measure`` says of rate and seed, and the list of them."""
    made: list[tuple[float, int]] = []

    def train(planned: Iterable[PlannedRun], accept: object) -> dict[str, MadeRun]:
        runs = {}
        for each in planned:
            made.append((each.config.optimizer.lr, each.config.seed))
            runs[each.key] = MadeRun(each.key, measure(*made[-1]))
        return runs

    cost = Cost(step=1.0, validation=1.0, start=1.0, steps=1000, steps_per_epoch=10, validations=1, checkpoint=1)
    plan = make_plan("lr-range", tiny("schedule.kind=cosine"), {}, cost, Draft())
    return Trials(plan, SimpleNamespace(train=train), 200), made  # type: ignore[arg-type]


def test_trials_go_out_until_the_best_lies_between_others() -> None:
    """The loss is lowest at 0.3, which is far from where they begin; beyond 1 all diverges."""
    trials, made = make_trials(
        lambda rate, seed: {
            "val/loss": abs(math.log(rate / 0.3)) if rate < 1.0 else math.nan,
            "val/accuracy": 0.5,
        }
    )
    trials.search(0.003)
    assert trials.rates == [0.001, 0.003, 0.009, 0.027, 0.081, 0.24, 0.72]
    assert trials.find_best() == 0.24
    assert trials.decide(3) == (0.24, 0.72)
    assert made[7:] == [(0.24, 1), (0.72, 1), (0.24, 2), (0.72, 2)]
    trials, made = make_trials(lambda rate, seed: {"val/loss": math.nan, "val/accuracy": math.nan})
    trials.search(0.003)
    assert trials.find_best() is None
    assert min(rate for rate, _ in made) < 1e-4


def test_one_lucky_seed_does_not_decide() -> None:
    """0.03 has the lower loss on the first seed. Where the metric says on all that it is better, it is taken, and where that is noise the lower."""

    def measure(rate: float, seed: int) -> dict[str, float]:
        return {"val/loss": {0.01: 1.1, 0.03: 1.0}.get(rate, 2.0), "val/accuracy": 0.5 + 0.01 * (seed % 2)}

    def measure_better(rate: float, seed: int) -> dict[str, float]:
        return measure(rate, seed) | {"val/accuracy": (0.9 if rate == 0.03 else 0.5) + 0.01 * (seed % 2)}

    def diverge(rate: float, seed: int) -> dict[str, float]:
        return {
            name: math.nan if seed and rate == 0.03 else value for name, value in measure_better(rate, seed).items()
        }

    for function, chosen, other in ((measure, 0.01, 0.03), (measure_better, 0.03, 0.01), (diverge, 0.01, 0.03)):
        trials, _ = make_trials(function)
        trials.search(0.01)
        assert trials.find_best() == 0.03
        assert trials.decide(3) == (chosen, other)
        assert trials.decide(1) == (0.03, None)


def test_one_replicate_that_diverges_early_does_not_decide() -> None:
    early = draw_losses(0)
    early[60:] = math.nan
    curve = read_curve(BAND.rates(), [early, draw_losses(1), draw_losses(2)])
    assert 5e-4 < curve.valley < 3e-2


def test_the_valley_is_that_of_the_longest_fall() -> None:
    values = np.concatenate([np.linspace(1.0, 0.9, 4), np.linspace(1.5, 0.0, 31), np.linspace(0.1, 2.0, 10)])
    assert find_valley(values) == pytest.approx(4 + 15, abs=2)


@pytest.mark.parametrize(
    "overrides",
    [
        ["schedule.kind=cosine", "schedule.warmup=40"],
        ["schedule.kind=linear", "schedule.warmup=2 epochs", "schedule.every=step"],
        ["schedule.kind=one_cycle", "schedule.max_lr=0.02"],
        ["schedule.kind=one_cycle"],
        ["schedule.kind=step", "schedule.step_size=100", "schedule.gamma=0.5"],
        ["schedule.kind=multi_step", "schedule.milestones=[100, 300]"],
        ["schedule.kind=exponential", "schedule.gamma=0.99"],
        ["schedule.kind=wsd"],
        ["schedule.kind=cosine_restarts", "schedule.t_0=100", "schedule.t_mult=2"],
        ["schedule.kind=polynomial", "schedule.power=2.0", "schedule.warmup=10 %"],
    ],
)
def test_a_trial_goes_through_the_whole_schedule(overrides: list[str]) -> None:
    config = tiny(*overrides, "loop.epochs=50")
    total, steps, rate = 400, 100, 0.05
    trial = make_trial(config, rate, steps, total, steps_per_epoch=8)
    assert trial.loop.max_steps == steps
    peak: float = getattr(config.schedule, "max_lr", None) or config.optimizer.lr
    whole = make_run_schedule(config, total, 8)
    short = make_run_schedule(trial, steps, 8)
    apart = [short.lr(step) / rate - whole.lr(4 * step) / peak for step in range(0, steps, 5)]
    assert np.abs(apart).max() < 0.05


def write_table(folder: Path, noise_only: bool = False) -> Path:
    """Three independent inputs of unit variance and a target that is linear in them, or noise."""
    random = np.random.default_rng(0)
    inputs = random.normal(size=(1200, 3))
    target = random.normal(size=1200) if noise_only else inputs @ [1.0, -2.0, 0.5] + 0.1 * random.normal(size=1200)
    rows = "\n".join(",".join(f"{value:.5f}" for value in (*row, y)) for row, y in zip(inputs, target, strict=True))
    (folder / "table.csv").write_text(f"a,b,c,y\n{rows}\n")
    config = tiny(
        "dataset.kind=table",
        f"dataset.path={folder / 'table.csv'}",
        'dataset.targets=["y"]',
        "dataset.task=values",
        "objective.kind=regression",
        "model.hidden=[4]" if noise_only else "model.hidden=[8]",
        "model.dropout=0.0",
        "optimizer.kind=sgd",
        "optimizer.momentum=0.0",
        "optimizer.nesterov=false",
        "schedule.kind=constant",
        "loop.clip_norm=none",
        "loop.epochs=10",
        "loop.batch_size=32",
        "loop.layer_norms=false",
    )
    save_config(config, folder / "table.toml")
    return folder / "table.toml"


@pytest.mark.slow
def test_a_problem_whose_best_rate_is_known(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    """Standardized and nearly quadratic: rates far below 0.1 do not get there in 200 steps, and beyond about 1 it diverges."""
    config, new = write_table(tmp_path), tmp_path / "new.toml"
    workspace = ["--workspace", str(tmp_path / "ws"), "--json"]
    assert main(["study", "lr-range", str(config), *workspace, "--out", str(new), "--set", "optimizer.lr=0.0001"]) == 0
    told = json_line(capsys)
    rate = told["adopt"]["optimizer.lr"]
    assert 0.02 <= rate <= 1.5
    assert told["details"]["clear"]
    trials = {each["rate"]: each["value"] for each in told["details"]["trials"]}
    assert len(trials) >= 3
    best = max(value for value in trials.values() if value is not None and math.isfinite(value))
    assert trials[rate] == best or "is noise" in told["notes"][0]  # R²
    assert trials[rate] > 0.98
    adopted = load_config(new)
    assert adopted.optimizer.lr == rate
    assert adopted == load_config(config, [f"optimizer.lr={rate}"])
    for key, name in told["details"]["runs"].items():
        run = RunFolder(tmp_path / "ws" / "runs" / name)
        rows = read_series(run.series_file)
        band = choose_band(adopted, None, 200)
        assert rows["lr"] == pytest.approx(band.rates()[: len(rows)], rel=1e-4)
        assert run.config().seed == int(key.removeprefix("ramp-"))
    ramps = [name for name in in_process if "range test" in name]
    assert len(ramps) == 3
    assert main(["study", "--resume", told["study"], *workspace, "--out", str(tmp_path / "again.toml")]) == 0
    assert json_line(capsys) == told
    assert load_config(tmp_path / "again.toml") == adopted
    assert len([name for name in in_process if "range test" in name]) == 3


def test_data_of_noise_alone_gives_no_rate(tmp_path: Path, capsys: Captured, in_process: list[str]) -> None:
    config, new = write_table(tmp_path, noise_only=True), tmp_path / "new.toml"
    words = ["--workspace", str(tmp_path / "ws"), "--json", "--steps", "100", "--out", str(new)]
    assert main(["study", "lr-range", str(config), "--set", "loop.batch_size=8", *words]) == 0
    out, said = capsys.readouterr()
    told = json.loads(out.strip().splitlines()[-1])
    assert told["sentence"].startswith("No clear valley")
    assert told["adopt"] == {}
    assert not new.exists()
    assert "was not written" in said
    assert [name.rpartition(" range test")[0].rpartition(" ")[2] for name in in_process].count("closer") == 3
    assert len(in_process) == 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--steps", "10"], "--steps 10: must be from 50 to 5,000"),
        (["--band", "1", "2"], "--band 1 2: must be two rates"),
        (["--against", "seed=3"], "--against: is not for the study lr-range"),
    ],
)
def test_options_that_cannot_be(
    config: Path, tmp_path: Path, capsys: Captured, in_process: list[str], words: list[str], sentence: str
) -> None:
    assert main(["study", "lr-range", str(config), *words, "--workspace", str(tmp_path / "ws")]) == 2
    assert sentence in capsys.readouterr().err


def test_a_rate_that_rises_beyond_all_bounds_is_refused() -> None:
    config = tiny("schedule.kind=exponential", "schedule.gamma=2.0")
    assert make_run_schedule(config, 24, 8).lr(3) == 8 * config.optimizer.lr
    with pytest.raises(ConfigError, match=r"schedule\.gamma"):
        make_run_schedule(config, 5000, 8)
