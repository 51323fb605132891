"""What is found in curves made of formulas, what cause is named and what is proposed; and where nothing is found."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.diagnosis.made_runs import LARGE, PER_EPOCH, make_run, noisy
from training.diagnosis import LayerRows, Recorded, replay
from training.diagnosis.judges.curves import guessing_loss, judge_flat
from training.diagnosis.level import scatter, slope, smooth
from training.events import STOPPED_EARLY, Finding
from training.runs.records.layers import layer_columns

T = np.arange(2000.0)
LEARNS = 0.2 + 0.9 * np.exp(-T / 300)
CHANCE = math.log(3)


def judge(run: Recorded) -> dict[str, Finding]:
    """The last word on each code."""
    return {each.code: each for each in replay(run)}


def serious(run: Recorded) -> list[str]:
    return [each.code for each in replay(run) if each.level in ("warning", "error")]


def held(curve: NDArray[np.float64], share: float = 0.01, seed: int = 1) -> list[float]:
    """Of a curve over steps the values at the ends of epochs."""
    return list(noisy(curve[PER_EPOCH - 1 :: PER_EPOCH], share, seed))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["constant", "cosine"])
def test_a_run_that_learns_gets_nothing_above_a_note(seed: int, kind: str) -> None:
    rates = 1e-3 * (1 if kind == "constant" else (1 + np.cos(np.pi * T / 2000)) / 2)
    losses = {"val/loss": held(LEARNS * 1.1, 0.03, seed), "val/accuracy": held(1 - LEARNS / 4, 0.005, seed)}
    run = make_run(noisy(LEARNS, 0.3, seed), losses, {"schedule": {"kind": kind}}, lr=rates, ended="all steps done")
    assert serious(run) == []


def test_levels_are_means_with_their_standard_errors() -> None:
    losses = noisy(LEARNS, 0.2)
    run = make_run(losses)
    levels = smooth(run.steps)
    assert len(levels) == 40
    part = losses.astype(np.float32)[100:150].astype(np.float64)
    assert (levels[2].first, levels[2].last) == (101, 150)
    assert levels[2].mean == pytest.approx(part.mean(), rel=1e-12)
    assert levels[2].error == pytest.approx(part.std(ddof=1) / math.sqrt(50), rel=1e-10)


def test_the_slope_is_that_of_least_squares() -> None:
    values = 3.0 - 0.01 * np.arange(200) + np.random.default_rng(0).standard_normal(200)
    rise, t = slope(values)
    design = np.stack([np.ones(200), np.arange(200)], 1)
    fitted, rest, *_ = np.linalg.lstsq(design, values, rcond=None)
    error = math.sqrt(float(rest[0]) / 198 * np.linalg.inv(design.T @ design)[1, 1])
    assert rise == pytest.approx(fitted[1], rel=1e-9)
    assert t == pytest.approx(fitted[1] / error, rel=1e-9)


def test_scatter_is_the_noise_about_a_trend() -> None:
    values = 5.0 + 0.3 * np.arange(4000) + 0.7 * np.random.default_rng(0).standard_normal(4000)
    assert scatter(values) == pytest.approx(0.7, rel=0.05)


def test_divergence_is_an_error_and_says_since_when() -> None:
    falls_and_rises = np.where(T < 1000, LEARNS, LEARNS[1000] + (T - 1000) * 0.005)
    run = make_run(noisy(falls_and_rises, 0.2), lr=1e-3, parameters=LARGE)
    found = [each for each in replay(run) if each.code == "loss.diverged"]
    assert [each.level for each in found] == ["warning", "error"]
    assert found[-1].evidence["cause"] == "learning rate too high"
    assert found[-1].fix == {"optimizer.lr": 0.000333}
    assert found[-1].since is not None
    assert 1000 < found[-1].since < 1200
    assert found[0].step < 1300


def test_divergence_at_the_very_start_began_by_its_peak() -> None:
    losses = np.where(T < 1, CHANCE, CHANCE + 40.0)
    losses[2] = 4000.0
    [found, *_] = [each for each in replay(make_run(noisy(losses, 0.02))) if each.code == "loss.diverged"]
    assert found.evidence["peak_step"] == found.since == 3


def test_a_rate_far_from_the_usual_one_is_set_to_that() -> None:
    rises = np.where(T < 20, 1.1, 1.1 + T / 100)
    settings = {"optimizer": {"kind": "adamw", "lr": 0.5}, "schedule": {"kind": "constant"}}
    [found, *_] = replay(make_run(noisy(rises, 0.1), settings=settings, lr=0.5))
    assert (found.code, found.fix) == ("loss.diverged", {"optimizer.lr": 0.001})


@pytest.mark.parametrize(("highest", "first"), [(18_310.0, 120), (300.0, 140)])
def test_a_loss_of_a_thousand_times_its_start_is_told_at_the_first_look_with_its_peak(
    highest: float, first: int
) -> None:
    losses = np.where(T < 95, CHANCE, 2.0)[:400]
    losses[95:125] = highest * 0.8 ** np.abs(np.arange(95, 125) - 110)
    run = make_run(noisy(losses, 0.02), parameters=LARGE)
    [found, *_] = [each for each in replay(run) if each.code == "loss.diverged"]
    assert found.step == first
    assert found.evidence["highest_loss"] == pytest.approx(highest, rel=0.05)
    if highest > 1e4:
        assert re.search(r"rose to 1\d,\d{3} at step 11\d and was", found.title)
    single = noisy(LEARNS, 0.02)
    single[700] = 1e6
    assert "loss.diverged" not in judge(make_run(single))


def test_a_loss_that_gives_back_a_little_has_not_diverged() -> None:
    assert "loss.diverged" not in judge(make_run(noisy(LEARNS + np.where(T > 1000, 0.2, 0.0), 0.2)))


@pytest.mark.parametrize(
    ("lr", "cause", "fix"),
    [
        (1e-6, "learning rate too low", {"optimizer.lr": 1e-3}),
        (1.0, "learning rate too high", {"optimizer.lr": 1e-3}),
        (1e-3, None, {}),
    ],
)
def test_a_flat_loss_is_explained_by_the_rate(lr: float, cause: str | None, fix: dict[str, Any]) -> None:
    settings = {"optimizer": {"kind": "adamw", "lr": lr}}
    found = judge(make_run(noisy(np.full(2000, CHANCE), 0.05), settings=settings, lr=lr))["loss.flat"]
    assert (found.level, found.evidence.get("cause"), found.fix) == ("warning", cause, fix)
    assert "guessing" in found.title
    assert found.step <= 0.35 * 2000


def test_updates_of_layers_tell_whether_a_usual_rate_is_too_low() -> None:
    columns = layer_columns(("a", "b"))
    rows = np.zeros(200, columns.row)
    rows["step"] = np.arange(10, 2001, 10)
    rows["values"] = (1.0, 1.0, 10.0, 10.0, 1e-5, 1e-5)  # of gradient, weight and update
    flat = make_run(noisy(np.full(2000, CHANCE), 0.05), settings={"optimizer": {"kind": "adamw", "lr": 1e-3}})
    [told] = judge_flat(replace(flat, layers=LayerRows(columns.names, rows)))
    assert (told.evidence["cause"], told.fix) == ("learning rate too low", {"optimizer.lr": 0.01})


def test_a_flat_loss_of_clipped_gradients_is_laid_to_the_limit() -> None:
    settings = {"optimizer": {"kind": "sgd", "lr": 0.05}, "loop": {"clip_norm": 1e-4}}
    short = judge(make_run(noisy(np.full(200, CHANCE), 0.05), settings=settings, lr=0.05, norm=0.34))["loss.flat"]
    assert (short.evidence["cause"], short.fix) == ("optimizer settings", {"loop.clip_norm": 0.3})
    long = judge(make_run(noisy(np.full(2000, CHANCE), 0.05), settings=settings, lr=0.05, norm=0.34))
    assert "loop.clip_norm" in long["grad.clipped_always"].fix
    assert "loss.flat" not in long


def test_a_network_without_gradient_is_told_so() -> None:
    found = judge(make_run(noisy(np.full(2000, CHANCE), 0.05), norm=0.0))["loss.flat"]
    assert found.evidence["cause"] == "dead initialization"
    assert found.fix == {}


def test_a_loss_that_begins_late_but_comes_is_not_flat() -> None:
    late = CHANCE - 1e-4 * T
    assert "loss.flat" not in judge(make_run(noisy(late, 0.02)))


def test_a_loss_far_below_guessing_is_not_flat_though_it_stands() -> None:
    assert "loss.flat" not in judge(make_run(noisy(np.full(2000, 0.3), 0.05)))


def test_guessing_costs_the_entropy_of_the_shares() -> None:
    uneven = make_run(LEARNS, counts=(900, 90, 10))
    shares = np.array([0.9, 0.09, 0.01])
    assert guessing_loss(uneven) == pytest.approx(-(shares * np.log(shares)).sum())
    balanced = make_run(
        LEARNS, counts=(900, 90, 10), settings={"objective": {"kind": "classification", "balanced": True}}
    )
    assert guessing_loss(balanced) == pytest.approx(CHANCE)


def test_a_plateau_at_a_constant_rate_is_a_note() -> None:
    stands = 0.5 + 0.9 * np.exp(-T / 100)
    found = judge(make_run(noisy(stands, 0.1)))["loss.plateau"]
    assert (found.level, found.fix) == ("info", {"schedule.kind": "cosine"})
    assert "loss.plateau" not in judge(make_run(noisy(stands, 0.1), settings={"schedule": {"kind": "cosine"}}))
    assert "loss.plateau" not in judge(make_run(noisy(1.4 - 0.9 * T / 2000, 0.1)))


def test_swings_are_told_from_the_noise_of_batches() -> None:
    swings = 0.6 + 0.3 * np.exp(-T / 100) + 0.25 * np.sin(2 * np.pi * T / 400)
    found = judge(make_run(noisy(swings, 0.1)))["loss.oscillates"]
    assert found.evidence["cause"] == "learning rate too high"
    assert found.fix == {"optimizer.lr": 0.000333}
    for seed in range(3):
        assert "loss.oscillates" not in judge(make_run(noisy(np.full(2000, 0.6) + LEARNS, 0.5, seed)))


def test_spikes_that_no_gradient_explains_are_noted() -> None:
    losses = noisy(LEARNS, 0.1)
    losses[[700, 900, 1300, 1700]] += 3.0
    assert judge(make_run(losses))["loss.spike"].evidence["steps"] == [701, 901, 1301]
    explained = make_run(losses)
    explained.steps["grad_norm"][[700, 900, 1300, 1700]] = 50.0
    assert "loss.spike" not in judge(explained)
    assert "loss.spike" not in judge(make_run(noisy(LEARNS, 0.3)))


def test_overfitting_is_told_with_what_restrains_it() -> None:
    rises = 0.5 + 0.6 * np.exp(-T / 100) + np.maximum(T - 600, 0) / 4000
    falls = np.maximum(1.1 * np.exp(-T / 300), 0.001)
    settings = {"model": {"kind": "mlp", "dropout": 0.0}, "optimizer": {"kind": "adamw", "weight_decay": 0.0}}
    found = judge(make_run(noisy(falls), {"val/loss": held(rises)}, settings, parameters=100_000))["fit.over"]
    assert found.level == "warning"
    assert found.fix == {"loop.early_stopping_patience": 3, "model.dropout": 0.3}
    assert found.since is not None
    assert 500 <= found.since <= 750
    small = judge(make_run(noisy(falls), {"val/loss": held(rises)}, settings, parameters=1_000))["fit.over"]
    assert small.fix == {"loop.early_stopping_patience": 3}


def test_overfitting_of_the_loss_alone_is_a_note() -> None:
    rises = 0.5 + 0.6 * np.exp(-T / 100) + np.maximum(T - 600, 0) / 4000
    better = 0.5 + 0.4 * T / 2000
    falls = np.maximum(1.1 * np.exp(-T / 300), 0.001)
    found = judge(make_run(noisy(falls), {"val/loss": held(rises), "val/accuracy": held(better, 0.002)}))["fit.over"]
    assert found.level == "info"


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_validation_is_not_overfitting(seed: int) -> None:
    falls = np.maximum(1.1 * np.exp(-T / 300), 0.001)
    stands = {"val/loss": held(0.5 + 0.6 * np.exp(-T / 100), 0.15, seed)}
    assert "fit.over" not in serious(make_run(noisy(falls), stands))
    both_rise = 0.5 + 0.6 * np.exp(-T / 100) + np.maximum(T - 600, 0) / 4000
    assert "fit.over" not in judge(make_run(noisy(both_rise), {"val/loss": held(both_rise)}))


def test_validation_that_is_too_good_is_told_where_nothing_makes_training_harder() -> None:
    plain = {"model": {"kind": "mlp", "dropout": 0.0}}
    settled = 0.6 + 0.5 * np.exp(-T / 100)
    found = judge(make_run(noisy(settled), {"val/loss": held(settled * 0.5)}, plain))["val.too_good"]
    assert found.level == "warning"
    assert judge(make_run(noisy(settled), {"val/loss": held(settled * 0.8)}, plain))["val.too_good"].level == "info"
    harder = {"model": {"kind": "mlp", "dropout": 0.3}}
    assert "val.too_good" not in judge(make_run(noisy(settled), {"val/loss": held(settled * 0.5)}, harder))
    assert "val.too_good" not in judge(make_run(noisy(settled), {"val/loss": held(settled * 0.97)}, plain))


def test_labels_that_contradict_each_other_leave_a_network_unsure_and_right() -> None:
    plain = {"model": {"kind": "mlp", "dropout": 0.0}}
    settled = 0.95 + 0.15 * np.exp(-T / 50)
    right = {"val/accuracy": [0.95] * 40}
    found = judge(make_run(noisy(settled), {"val/loss": held(settled * 0.8), **right}, plain))
    assert found["label.noisy"].level == "warning"
    assert "val.too_good" not in found
    sure = {"val/loss": held(settled * 0.2), **right}
    assert "label.noisy" not in judge(make_run(noisy(settled * 0.25), sure, plain))
    often_wrong = {"val/loss": held(settled * 0.8), "val/accuracy": [0.55] * 40}
    assert "label.noisy" not in judge(make_run(noisy(settled), often_wrong, plain))
    smoothed = {**plain, "objective": {"label_smoothing": 0.3}}
    assert "label.noisy" not in judge(make_run(noisy(settled), {"val/loss": held(settled * 0.8), **right}, smoothed))
    falling = 1.1 - 0.3 * T / 2000
    assert "label.noisy" not in judge(make_run(noisy(falling), {"val/loss": held(falling), **right}, plain))


def test_one_answer_for_all_is_told_and_its_cause() -> None:
    counts, share = (1200, 60, 60), 1200 / 1320
    falls = 0.37 + 0.7 * np.exp(-T / 100)
    answers = {"val/loss": held(falls), "val/accuracy": [share] * 40, "val/f1": [2 * share / (1 + share) / 3] * 40}
    found = judge(make_run(noisy(falls, 0.01), answers, counts=counts))
    assert found["classes.collapsed"].fix == {"objective.balanced": True}
    assert "imbalance" in str(found["classes.collapsed"].evidence["cause"])
    answers["val/f1"] = [2 * share / (1 + share) / 3 + 0.01] * 40
    assert "classes.collapsed" not in judge(make_run(noisy(falls, 0.01), answers, counts=counts))
    flat = {"val/loss": [CHANCE] * 40, "val/accuracy": [1 / 3] * 40, "val/f1": [1 / 6] * 40}
    assert serious(make_run(noisy(np.full(2000, CHANCE), 0.05), flat)) == ["loss.flat"]


def test_a_run_that_ends_while_it_improves_is_told_to_go_on() -> None:
    falls = 2.0 - 1.0 * T / 2000
    run = make_run(
        noisy(falls, 0.05), {"val/loss": held(falls)}, ended="all steps done", settings={"loop": {"epochs": 40}}
    )
    assert judge(run)["run.ends_too_early"].fix == {"loop.epochs": 120}
    assert judge(run)["run.ends_too_early"].level == "warning"
    settled = {"val/loss": held(falls), "val/accuracy": [0.99] * (len(T) // PER_EPOCH)}
    by_accuracy = {"checkpoints": {"monitor": "val/accuracy"}}
    told = judge(make_run(noisy(falls, 0.05), settled, by_accuracy, ended="all steps done"))
    assert told["run.ends_too_early"].level == "info"  # the loss alone still falls
    most = 2.0 - 1.6 * T / 2000  # to a fifth of where it began
    told = judge(make_run(noisy(most, 0.05), {"val/loss": held(most)}, ended="all steps done"))
    assert told["run.ends_too_early"].level == "info"
    slow = {"loop": {"epochs": 40}, "optimizer": {"kind": "adamw", "lr": 1e-5}}
    told = judge(make_run(noisy(falls, 0.05), {"val/loss": held(falls)}, slow, ended="all steps done", lr=1e-5))
    assert told["run.ends_too_early"].fix == {"optimizer.lr": 0.001}
    assert "run.ends_too_early" not in judge(make_run(noisy(LEARNS, 0.2), {"val/loss": held(LEARNS)}, ended=""))
    assert "run.ends_too_early" not in judge(make_run(noisy(falls, 0.05), {"val/loss": held(falls)}))


def test_answers_in_the_right_order_that_are_far_off() -> None:
    falls, done = 1.0 + 0.5 * np.exp(-T / 100), "all steps done"
    measured = {"val/loss": held(falls), "val/r2": [-0.4] * 40, "val/spearman": [0.75] * 40}
    assert judge(make_run(noisy(falls), measured, ended=done))["fit.biased"].level == "warning"
    for better in ({"val/r2": [0.4] * 40}, {"val/spearman": [0.2] * 40}):
        assert "fit.biased" not in judge(make_run(noisy(falls), {**measured, **better}, ended=done))


def test_a_threshold_that_is_reached_on_the_way_up() -> None:
    falls = (1.1 * np.exp(-T / 300))[:500]
    rises = {"val/loss": held(falls), "val/accuracy": [0.3 + 0.05 * each for each in range(10)]}
    limit = {"loop": {"stopping_threshold": 0.7}}
    run = make_run(noisy(falls), rises, limit, total=2000, ended="reached accuracy 0.75 (loop.stopping_threshold: 0.7)")
    found = judge(run)["run.ends_too_early"]
    assert (found.level, dict(found.fix)) == ("warning", {"loop.stopping_threshold": None})
    settled = {**rises, "val/accuracy": [0.6 + 0.01 * each for each in range(10)]}
    assert "run.ends_too_early" not in judge(
        replace(make_run(noisy(falls), settled, limit, total=2000), ended=run.ended)
    )


def test_early_stopping_that_ended_a_run_on_its_way() -> None:
    falls = (1.1 - 1.0 * T / 1000)[:500]
    settings = {"loop": {"early_stopping_patience": 2, "epochs": 40}}
    run = make_run(
        noisy(falls, 0.05), {"val/loss": held(falls)}, settings, total=2000, ended=f"{STOPPED_EARLY}: 2 validations"
    )
    found = judge(run)["run.ends_too_early"]
    assert (found.level, found.fix["loop.early_stopping_patience"]) == ("warning", 10)
    worse = {"val/loss": [*held(falls)[:3], *(3.0 for _ in held(falls)[3:])]}
    in_time = make_run(noisy(falls, 0.05), worse, settings, total=2000, ended=run.ended)
    assert "run.ends_too_early" not in judge(in_time)
    rising = [*held(falls)[:-2], held(falls)[-3] + 0.01, held(falls)[-3] + 0.02]
    overfits = make_run(noisy(falls, 0.05), {"val/loss": rising}, settings, total=2000, ended=run.ended)
    assert "run.ends_too_early" not in judge(overfits)


def test_a_plateau_that_was_none() -> None:
    falls = noisy(np.where(T < 1000, 2.0 - 1.0 * T / 1000, 1.0), 0.05)
    lowered = np.where(T < 700, 1e-3, np.where(T < 900, 1e-4, 1e-5))
    settings = {"schedule": {"kind": "plateau"}}
    found = judge(make_run(falls, {"val/loss": held(falls)}, settings, lr=lowered, ended="all steps done"))
    assert dict(found["schedule.lowered"].fix) == {"schedule.kind": "cosine"}
    flat = noisy(np.where(T < 200, 2.0 - 1.5 * T / 200, 0.5), 0.05)
    at_last = make_run(flat, {"val/loss": held(flat)}, settings, lr=lowered, ended="all steps done")
    assert "schedule.lowered" not in judge(at_last)


def test_a_run_whose_best_came_long_ago_is_noted() -> None:
    falls = noisy(np.maximum(1.1 * np.exp(-T / 300), 0.5), 0.05)
    better_then_worse = 0.9 - np.abs(T - 500) / 10_000
    losses = {"val/loss": held(0.5 + np.abs(T - 500) / 50_000), "val/accuracy": held(better_then_worse, 0.002)}
    found = judge(make_run(falls, losses, ended="all steps done"))["run.ends_too_late"]
    assert (found.level, found.fix) == ("info", {"loop.early_stopping_patience": 4})
    assert "run.ends_too_late" not in judge(make_run(falls, losses))
    steady = {**losses, "val/accuracy": held(0.5 + T / 5000, 0.002)}
    assert "run.ends_too_late" not in judge(make_run(falls, steady, ended="all steps done"))


def test_a_best_validation_by_chance_is_noted() -> None:
    scattered = {"val/loss": held(LEARNS), "val/accuracy": held(np.full(2000, 0.8), 0.02)}
    few = make_run(noisy(LEARNS, 0.2), scattered, counts=(80, 80, 80), ended="all steps done")
    assert judge(few)["val.noisy"].level == "info"
    many = make_run(noisy(LEARNS, 0.2), scattered, counts=(80_000, 80_000, 80_000), ended="all steps done")
    assert "val.noisy" not in judge(many)
