"""What norms of gradients, of layers, and their units tell, of records made of formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.training.diagnosis.made_runs import make_run, noisy
from training.diagnosis import Recorded
from training.diagnosis.judges.gradients import JUDGES as GRADIENTS
from training.diagnosis.judges.layers import JUDGES as LAYERS
from training.diagnosis.judges.units import JUDGES as UNITS
from training.diagnosis.layer_view import find_progress
from training.diagnosis.recorded import LayerRows
from training.events import Finding
from training.runs.records.layers import layer_columns
from training.runs.records.units import unit_columns

STEPS = 600
FALLING = noisy(2 * np.exp(-np.arange(STEPS) / 150) + 0.1)
FLAT = noisy(np.full(STEPS, 2.3))
NAMES = ("first", "second", "third", "last")


def with_layers(
    run: Recorded, gradient: Any = 1e-1, weight: Any = 1.0, update: Any = 1e-3, dead: Any = 0.0, saturated: Any = np.nan
) -> Recorded:
    """A row at each tenth step; each of a layer, of all, or of (rows, layers)."""
    steps = np.arange(10, STEPS + 1, 10)
    norms = [
        np.broadcast_to(np.asarray(value, float), (len(steps), len(NAMES))) for value in (gradient, weight, update)
    ]
    shares = [np.broadcast_to(np.asarray(value, float), (len(steps), len(NAMES))) for value in (dead, saturated)]
    records = []
    for columns, values in ((layer_columns(NAMES), norms), (unit_columns(NAMES), shares)):
        rows = np.zeros(len(steps), columns.row)
        rows["step"], rows["values"] = steps, np.concatenate(values, axis=1)
        records.append(LayerRows(columns.names, rows))
    return replace(run, layers=records[0], units=records[1])


def judge(run: Recorded) -> dict[str, Finding]:
    return {each.code: each for judge in (*GRADIENTS, *LAYERS, *UNITS) for each in judge(run)}


def test_run_that_learns_has_nothing_to_tell() -> None:
    assert judge(with_layers(make_run(FALLING))) == {}


@pytest.mark.parametrize("clip", [None, 0.5])
def test_gradients_that_jump_with_the_loss_are_clipped_where_nine_in_ten_stay_below(clip: float | None) -> None:
    losses, norms = FALLING.copy(), np.full(STEPS, 1.0)
    for step in (200, 300, 400):
        norms[step - 1] = 50.0
        losses[step - 1 : step + 30] += 2.0
    run = make_run(losses, settings={"loop": {"clip_norm": clip}}, norm=norms)
    found = judge(run)["grad.spike"]
    assert (found.level, found.evidence["steps"], found.since) == ("warning", [200, 300, 400], 200)
    assert found.fix == ({"loop.clip_norm": 1.0} if clip is None else {"optimizer.lr": 3.33e-4})
    assert "grad.spike" not in judge(replace(run, steps=make_run(FALLING, norm=norms).steps))  # the loss did not care


def test_progress_is_that_of_the_steps_that_were_made() -> None:
    run = make_run(FALLING)
    steps = run.steps.copy()
    steps["loss"][100], steps["skipped"][100] = np.nan, 1
    whole, broken = find_progress(run), find_progress(replace(run, steps=steps))
    assert whole is not None
    assert broken == pytest.approx(whole, rel=0.1)


def test_limit_that_takes_the_learning_rate_away_is_a_warning_of_sgd_that_does_not_learn() -> None:
    sgd = {"optimizer": {"kind": "sgd", "lr": 0.1}, "loop": {"clip_norm": 1e-3}}
    found = judge(make_run(FLAT, settings=sgd, norm=2.0))["grad.clipped_always"]
    assert (found.level, dict(found.fix)) == ("warning", {"loop.clip_norm": 2.0})
    assert judge(make_run(FALLING, settings=sgd, norm=2.0))["grad.clipped_always"].level == "info"
    assert (
        judge(make_run(FLAT, settings={"loop": {"clip_norm": 1e-3}}, norm=2.0))["grad.clipped_always"].level == "info"
    )


def test_limit_that_no_gradient_comes_near_is_a_note_where_somebody_chose_it() -> None:
    losses = np.tile(FALLING, 2)
    found = judge(make_run(losses, settings={"loop": {"clip_norm": 20.0}}, norm=2.0))
    assert found["grad.never_clipped"].level == "info"
    assert judge(make_run(losses, norm=0.1)) == {}


VANISHED = {"gradient": [1e-8, 1e-5, 1e-3, 1e-1]}


@pytest.mark.parametrize(
    ("model", "saturated", "fix"),
    [
        ({"activation": "tanh"}, 0.1, {"model.activation": "relu"}),
        ({"norm": "none"}, np.nan, {"model.norm": "layer"}),
        ({"norm": "batch"}, np.nan, {}),
    ],
)
def test_gradients_that_vanish_name_what_makes_them(
    model: dict[str, Any], saturated: float, fix: dict[str, Any]
) -> None:
    settings = {"model": {"kind": "mlp", **model}}
    found = judge(with_layers(make_run(FLAT, settings=settings), **VANISHED, saturated=saturated))["grad.vanishing"]
    assert (found.level, dict(found.fix)) == ("warning", fix)
    assert "grad.vanishing" not in judge(with_layers(make_run(FALLING, settings=settings), **VANISHED))


@pytest.mark.parametrize(("update", "code", "lr"), [(0.3, "update.too_big", 1.05e-5), (1e-6, "update.too_small", 3.16)])
def test_size_of_updates_leads_to_another_learning_rate_where_nothing_is_learned(
    update: float, code: str, lr: float
) -> None:
    found = judge(with_layers(make_run(FLAT), update=update))
    assert list(found) == [code]
    assert found[code].fix == {"optimizer.lr": lr}
    assert judge(with_layers(make_run(FALLING), update=update)) == {}


def test_updates_at_the_end_of_a_schedule_are_not_held_for_small() -> None:
    rates = np.concatenate([np.full(100, 1e-3), np.full(STEPS - 100, 1e-6)])
    update = np.where(np.arange(10, STEPS + 1, 10)[:, None] <= 100, 1e-3, 1e-6)
    assert judge(with_layers(make_run(FLAT, lr=rates), update=update)) == {}


def test_gradients_that_no_longer_come_to_the_first_layer_are_laid_to_the_rate() -> None:
    gradient = np.where(np.arange(STEPS // 10)[:, None] < 20, 0.1, [0.0, 0.0, 0.1, 0.1])
    found = judge(with_layers(make_run(FLAT), gradient=gradient, update=0.05))["grad.vanishing"]
    assert (found.since, dict(found.fix)) == (210, {"optimizer.lr": 1e-4})


def test_layer_that_does_not_change_is_named_unless_it_is_frozen() -> None:
    still = {"gradient": [0, 0.1, 0.1, 0.1], "update": [0, 1e-3, 1e-3, 1e-3]}
    found = judge(with_layers(make_run(FALLING), **still))["weight.unchanged"]
    assert (found.place, found.level) == ("first", "warning")
    assert "No gradient reaches them" in found.advice
    frozen = {"optimizer": {"kind": "adamw", "freeze": "all_but_head"}}
    assert judge(with_layers(make_run(FALLING, settings=frozen), **still)) == {}


def rise(share: float) -> np.ndarray:
    """From the 30th row on."""
    return np.where(np.arange(STEPS // 10)[:, None] < 30, 0.1, [0.1, share, 0.1, 0.1])


@pytest.mark.parametrize("quantity", ["dead", "saturated"])
@pytest.mark.parametrize(
    ("shares", "since", "settings"),
    [(rise(0.9), 310, {"optimizer.lr"}), (np.array([0.1, 0.9, 0.1, 0.1]), 10, {"model.activation"})],
)
def test_idle_units_are_laid_to_the_rate_where_they_came_to_it(
    quantity: str, shares: np.ndarray, since: int, settings: set[str]
) -> None:
    record: Callable[[Recorded], Recorded] = lambda run: with_layers(run, **{quantity: shares})  # noqa: E731
    high = {"optimizer": {"kind": "adamw", "lr": 0.05}}
    found = judge(record(make_run(FLAT, settings=high, lr=0.05)))[f"units.{quantity}"]
    assert (found.place, found.level, found.since, set(found.fix)) == ("second", "warning", since, settings)
    usual = judge(record(make_run(FLAT)))[f"units.{quantity}"]
    assert usual.level == ("info" if "optimizer.lr" in settings else "warning"), "a usual rate is not blamed"
    assert judge(record(make_run(FALLING)))[f"units.{quantity}"].level == "info"
