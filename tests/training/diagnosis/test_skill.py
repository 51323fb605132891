"""Validation that is no better than guessing: what is said of it, and where nothing is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.diagnosis.made_runs import make_run, noisy
from training.config.sections.objective import LanguageModel, Regression
from training.diagnosis import Recorded, replay
from training.events import Finding
from training.findings.folding import symptoms_of
from training.findings.split import TINY

T, EPOCHS = np.arange(2000.0), np.arange(40.0)
CHANCE = math.log(3)
BY_HEART = 0.1 + (CHANCE - 0.1) * np.exp(-T / 600)
HARDLY = 1.02 + 0.08 * np.exp(-T / 800)
COUNTS = (192, 192, 192)  # 144 to validate


def guess(seed: int, samples: int = 144, share: float = 1 / 3) -> NDArray[np.float64]:
    """Accuracies of a network whose answers, of which a fifth changes from one validation to the next, know nothing."""
    draws = np.random.default_rng(seed)
    right = draws.random(samples) < share
    found = []
    for _ in EPOCHS:
        right = np.where(draws.random(samples) < 0.2, draws.random(samples) < share, right)
        found.append(right.mean())
    return np.array(found)


def shuffled(seed: int = 0, train: NDArray[np.float64] = BY_HEART, rises: float = 0.03, **options: Any) -> Recorded:
    """A run whose labels belong to other samples."""
    losses = CHANCE + 0.005 + rises * EPOCHS + 0.01 * np.random.default_rng(seed).standard_normal(40)
    accuracy = guess(seed)
    f1 = accuracy - 0.02
    validated = {"val/loss": list(losses), "val/accuracy": list(accuracy), "val/f1": list(f1)}
    return make_run(noisy(train, 0.05, seed), validated, counts=COUNTS, ended="all steps done", **options)


def with_task(run: Recorded, task: LanguageModel | Regression) -> Recorded:
    return replace(run, config=run.config.model_copy(update={"objective": task}))


def judge(run: Recorded) -> dict[str, Finding]:
    return {each.code: each for each in replay(run)}


@pytest.mark.parametrize("seed", range(4))
def test_a_network_that_learns_shuffled_labels_by_heart_is_told_and_not_that_it_overfits(seed: int) -> None:
    found = judge(shuffled(seed))
    told = found["fit.no_skill"]
    assert (told.level, told.fix, told.since) == ("warning", {}, 50)
    assert "by heart" in told.title
    assert "most frequent class alone has 33.33%" in told.title
    assert 500 < told.step < 2000
    assert not {"fit.over", "run.ends_too_late", "run.ends_too_early"} & found.keys()


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_say_nothing_are_told_though_the_network_hardly_learns_them(seed: int) -> None:
    found = judge(shuffled(seed, HARDLY, rises=0.0))
    assert "by heart" not in found["fit.no_skill"].title
    assert "run.ends_too_late" not in found


def test_a_run_that_stopped_early_is_told_at_its_end() -> None:
    run = shuffled(total=20_000)
    assert [each.step for each in replay(run) if each.code == "fit.no_skill"] == [2000]


def test_a_loss_that_does_not_fall_is_that_and_no_more() -> None:
    assert set(judge(shuffled(train=np.full(2000, CHANCE), rises=0.0))) == {"loss.flat"}


@pytest.mark.parametrize(("samples", "task"), [(9, None), (144, LanguageModel())])
def test_few_samples_to_validate_or_a_language_model_say_nothing(samples: int, task: LanguageModel | None) -> None:
    validated = {"val/loss": list(CHANCE + 0.03 * EPOCHS), "val/accuracy": list(guess(0, samples))}
    run = make_run(noisy(BY_HEART, 0.05), validated, counts=(samples * 4 // 3,) * 3, ended="")
    found = judge(with_task(run, task) if task else run)
    assert not {"fit.no_skill", "run.ends_too_late"} & found.keys()


@pytest.mark.parametrize("better", ["val/accuracy", "val/loss", "val/f1"])
def test_one_metric_that_knows_something_is_enough(better: str) -> None:
    """Of an uneven task accuracy may stay at the usual class, and the loss of a network that is too sure is above guessing."""
    run = shuffled()
    gain = {"val/accuracy": 0.25, "val/loss": -0.2, "val/f1": 0.3}[better]
    for each in run.validations:
        each.metrics[better] += gain  # type: ignore[index]
    assert "fit.no_skill" not in judge(run)


def test_one_that_begins_late_is_waited_for() -> None:
    losses = CHANCE + 0.02 - 0.001 * EPOCHS - np.maximum(EPOCHS - 27, 0) * 0.06
    accuracy = 1 / 3 + np.maximum(EPOCHS - 27, 0) * 0.05
    late = CHANCE - 2e-5 * T - np.maximum(T - 1350, 0) * 1e-3
    run = make_run(
        noisy(late, 0.02), {"val/loss": list(losses), "val/accuracy": list(accuracy)}, counts=COUNTS, ended=""
    )
    assert "fit.no_skill" not in judge(run)


@pytest.mark.parametrize(("r2", "told"), [(0.0, True), (0.15, False)])
def test_values_are_held_against_their_mean(r2: float, told: bool) -> None:
    values = list(r2 + 0.01 - 0.02 * EPOCHS)
    run = with_task(make_run(noisy(BY_HEART, 0.05), {"val/r2": values}, counts=(512,), ended=""), Regression())
    found = judge(run)
    assert ("fit.no_skill" in found) is told
    assert not told or found["fit.no_skill"].cleared_at is None


def test_weak_signals_in_many_samples_are_no_guessing() -> None:
    validated = {"val/loss": list(CHANCE - 0.004 + 0.001 * EPOCHS), "val/accuracy": [0.337] * 40}
    run = make_run(noisy(HARDLY, 0.02), validated, counts=(9000, 9000, 9000), ended="")
    assert "fit.no_skill" not in judge(run)


def test_a_tiny_validation_part_explains_which_was_the_best() -> None:
    assert "run.ends_too_late" in symptoms_of(TINY.find("warning", "…"))
    assert not symptoms_of(TINY.find("info", "…"))
