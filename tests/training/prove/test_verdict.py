"""The word for what two arms came to, from numbers that are written here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.training.tiny import tiny
from training.errors import InputError
from training.prove.effects import Effects
from training.prove.verdict import Judgment, Pair, find_fault, judge, note_growth
from training.runs.records.proofs import ArmResult, Measurement

LR = Effects(tiny(), tiny("optimizer.lr=0.01"))
DECAY = Effects(tiny(), tiny("optimizer.weight_decay=0.5"))


def arm(first: float, last: float, accuracy: Sequence[float], fault: str = "") -> ArmResult:
    measured = tuple(
        Measurement(step=step, metrics={"val/accuracy": each, "val/loss": 1.0}) for step, each in enumerate(accuracy)
    )
    return ArmResult(losses=tuple(np.linspace(first, last, 30)), validations=measured, fault=fault)


def compare(without: Sequence[ArmResult], with_: Sequence[ArmResult], effects: Effects = LR) -> Judgment:
    pairs = [Pair(one, other, {}, {}) for one, other in zip(without, with_, strict=True)]
    return judge(note_growth(pairs, effects, 100), effects, 30, {})


def test_it_cures_where_nothing_got_better_without_it_and_helps_where_it_was_slower() -> None:
    flat = [arm(2.3, 2.3, (0.1, 0.1 + shift)) for shift in (0.0, 0.001, 0.002)]
    learns = [arm(2.3, 0.5, (0.2, 0.8 + shift)) for shift in (0.0, 0.01, 0.02)]
    slow = [arm(2.3, 1.5, (0.2, 0.5 + shift)) for shift in (0.0, 0.01, 0.02)]
    assert compare(flat, learns).verdict == "cures"
    assert compare(slow, learns).verdict == "helps"
    found = compare(learns, slow)
    assert found.verdict == "harms"
    assert found.sentence.startswith(
        "It harms, in 30 steps, 3 orders of the data: validation accuracy 81.00% → 51.00% (difference"
    )


def test_what_is_too_small_or_too_unsure_is_no_difference() -> None:
    one = [arm(2.3, 0.5, (0.2, 0.800 + shift)) for shift in (0.0, 0.01, 0.02)]
    little = [arm(2.3, 0.501, (0.2, 0.803 + shift)) for shift in (0.0, 0.01, 0.02)]  # for certain, but 0.3 points
    unsure = [arm(2.3, 0.5, (0.2, value)) for value in (0.7, 0.85, 0.95)]
    assert compare(one, little).verdict == "no difference"
    assert compare(one, unsure).verdict == "no difference"
    alone = compare(one[:1], little[:1])
    assert (alone.verdict, len(alone.notes)) == ("no difference", 1)
    assert compare(one, one).verdict == "no difference"


def test_the_training_loss_decides_only_where_the_metric_shows_nothing() -> None:
    one = [arm(2.3, 0.5, (0.2, 0.8)) for _ in range(3)]
    higher = [arm(2.3, 0.8 + shift, (0.2, 0.8)) for shift in (0.0, 0.01, 0.02)]
    assert compare(one, higher).verdict == "harms"
    assert compare(higher, one).verdict == "helps"
    assert compare(one, higher, DECAY).verdict == "no difference"  # what it is for


def test_arms_that_come_to_nothing_are_the_verdict() -> None:
    good = [arm(2.3, 0.5, (0.2, 0.8)) for _ in range(3)]
    bad = [arm(2.3, 0.5, (0.2, 0.8), "not finite from step 7 on") for _ in range(3)]
    grown = [arm(2.3, 9.0, (0.2, 0.8)) for _ in range(3)]
    cured = compare(bad, good)
    assert cured.verdict == "cures"
    assert cured.sentence == (
        "It cures the run: without it the loss was not finite from step 7 on (3 of 3 orders of the data), with it all was well."
    )
    assert compare(good, grown).verdict == "harms"
    assert compare([*good[:2], bad[0]], good).verdict == "helps"
    assert compare(bad, bad).verdict == "no difference"


def test_the_samples_of_the_validation_part_widen_the_interval() -> None:
    without, with_ = arm(2.3, 0.5, (0.2, 0.5)), arm(2.3, 0.5, (0.2, 0.75))
    zeros, ones = np.array([1, 1, 0, 0], np.float32), np.array([1, 1, 1, 0], np.float32)
    pair = Pair(without, with_, {"val/accuracy": zeros}, {"val/accuracy": ones})
    found = judge([pair] * 3, LR, 30, {})
    (accuracy,) = [each for each in found.differences if each.metric == "val/accuracy"]
    assert (accuracy.value, accuracy.better) == (0.25, None)
    assert accuracy.high - accuracy.value == pytest.approx(3.182 * 0.25, rel=5e-3)  # t of 3, of the mean of 0 0 1 0


def test_a_gradient_that_is_skipped_now_and_then_is_no_fault() -> None:
    losses, skipped = np.ones(40), np.zeros(40, bool)
    skipped[5] = True
    assert find_fault(losses, skipped, 10) == ""
    losses[-3:] = np.nan
    assert find_fault(losses, skipped, 10) == "not finite from step 16 on"


def test_settings_that_no_step_depends_on_are_refused_and_others_say_where_they_begin() -> None:
    with pytest.raises(InputError, match=r"loop\.epochs: no step depends on that"):
        Effects(tiny("schedule.kind=constant"), tiny("schedule.kind=constant", "loop.epochs=9")).refuse("")
    Effects(tiny(), tiny("loop.epochs=9")).refuse("")  # one_cycle is laid out over the length
    assert LR.find_start() == ""
    batches = Effects(tiny(), tiny("loop.batch_size=8"))
    assert (bool(batches.find_start()), batches.same_batches) == (True, False)
    smooth = Effects(tiny(), tiny("objective.label_smoothing=0.1"))
    assert (smooth.compares_losses, smooth.same_loss, smooth.find_metric()) == (False, False, "val/accuracy")
    assert "only metrics are compared" in next(smooth.notes())
