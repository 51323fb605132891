"""What both arms came to: which is better, how sure that is, and a word for it. No torch here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.errors import pluralize
from training.metric_names import is_known, is_share, metric, show_change
from training.prove.effects import Effects
from training.runs.records.proofs import ArmResult, Difference, Verdict
from training.statistics.intervals import student_quantile

Terms = Mapping[str, NDArray[np.float32]]
"""Of a metric that is a mean over the samples of the validation part, what each of them adds to it."""
TRAIN_LOSS: Final = "train/loss"
NOT_FINITE: Final = "not finite"
_LAST_ROWS = 3
_GROWN = 2.0
"""A loss that ends this many times as high as it began diverges (of the mean over the last third of the steps)."""
_MOST_SKIPPED = 0.1
_LEAST_POINTS = 0.005
_LEAST_SHARE = 0.02
"""Smaller differences do not matter: half a point of a share, and of other numbers 2 % of where they began."""


class Pair(NamedTuple):
    """Both arms on one order of the data, with what each sample of the last validation adds to its metrics."""

    without: ArmResult
    with_: ArmResult
    terms_without: Terms
    terms_with: Terms


class Judgment(NamedTuple):
    verdict: Verdict
    sentence: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]


def find_fault(losses: NDArray[np.float64], skipped: NDArray[np.bool_], start: int) -> str:
    """Why the steps behind ``start`` came to nothing, in a few words, from the loss of each and whether it was skipped; "" where they
    did not."""
    bad = skipped | ~np.isfinite(losses)
    if len(bad) and (bad[-_LAST_ROWS:].all() or bad.mean() > _MOST_SKIPPED):
        return f"{NOT_FINITE} from step {start + int(np.argmax(bad)) + 1:,} on"
    return ""


def note_growth(pairs: Sequence[Pair], effects: Effects, start: int) -> list[Pair]:
    """``pairs`` with a fault for each arm whose loss grew: to ``_GROWN`` times what it was when both began, where it is the same loss."""
    found = []
    for pair in pairs:
        began = [_mean_beginning(_array(arm)) for arm in (pair.without, pair.with_)]
        levels = [min(began)] * 2 if effects.compares_losses else began
        arms = [_note(arm, level, start) for arm, level in zip((pair.without, pair.with_), levels, strict=True)]
        found.append(pair._replace(without=arms[0], with_=arms[1]))
    return found


def _note(arm: ArmResult, began: float, start: int) -> ArmResult:
    ended = _mean_end(_array(arm))
    if arm.fault or len(arm.losses) <= _LAST_ROWS or not ended > _GROWN * began > 0:
        return arm
    return arm.model_copy(
        update={"fault": f"{ended / began:.3g} times as high over the last third as at step {start + 1:,}"}
    )


def judge(pairs: Sequence[Pair], effects: Effects, steps: int, started: Mapping[str, float]) -> Judgment:
    """The word for what the settings did in ``steps``. ``started`` are the metrics where both arms began, as far as they are known."""
    notes = []
    if len(pairs) == 1:
        notes.append("One order of the data tells nothing of how much the order matters.")
    whole = [pair for pair in pairs if not pair.without.fault and not pair.with_.fault]
    measured = _Measured(whole, effects, started)
    differences = measured.differences() if whole else ()
    broken = _judge_faults(pairs, steps)
    if broken is not None:
        return Judgment(*broken, differences, tuple(notes))
    deciding = next((each for each in differences if each.decides), None)
    training = next((each for each in differences if each.metric == TRAIN_LOSS), None)
    if deciding is None:
        return Judgment(
            "no difference",
            f"No difference in {pluralize(steps, 'step')}: nothing of both arms can be compared.",
            (),
            tuple(notes),
        )
    if deciding.better is None and training is not None and _tells(training, effects):
        deciding = training
        differences = tuple(each.model_copy(update={"decides": each.metric == TRAIN_LOSS}) for each in differences)
    return Judgment(*_put_in_words(deciding, measured, steps, len(whole)), differences, tuple(notes))


def _tells(training: Difference, effects: Effects) -> bool:
    """Whether the training loss decides where the metric shows no difference: a better one does, and a worse one unless that may be what
    the settings are for."""
    return training.better is not None and (training.better or not effects.regularizes)


def _judge_faults(pairs: Sequence[Pair], steps: int) -> tuple[Verdict, str] | None:
    """None where no arm came to nothing."""
    without, with_ = ([fault for pair in pairs if (fault := arm(pair).fault)] for arm in (_first, _second))
    if not without and not with_:
        return None
    of, told = len(pairs), f"in {pluralize(steps, 'step')}"
    if len(without) == len(with_):
        return "no difference", f"No difference {told}: with it or without, {_describe_faults(with_, of)}."
    if len(with_) > len(without):
        beside = "without it none of them was" if not without else f"without it {_describe_faults(without, of)}"
        return "harms", f"It harms: with it {_describe_faults(with_, of)}, {beside}."
    beside = "with it all was well" if not with_ else f"with it {_describe_faults(with_, of)}"
    cures = not with_ and 2 * len(without) > of
    return (
        "cures" if cures else "helps"
    ), f"It {'cures the run' if cures else 'helps'}: without it {_describe_faults(without, of)}, {beside}."


def _describe_faults(faults: Sequence[str], orders: int) -> str:
    of = f" ({len(faults)} of {pluralize(orders, 'order')} of the data)" if orders > 1 else ""
    return f"the loss was {faults[0]}{of}"


def _first(pair: Pair) -> ArmResult:
    return pair.without


def _second(pair: Pair) -> ArmResult:
    return pair.with_


@dataclass(frozen=True)
class _Measured:
    """The pairs whose arms are both whole."""

    pairs: Sequence[Pair]
    effects: Effects
    started: Mapping[str, float]

    def differences(self) -> tuple[Difference, ...]:
        """Of the training loss and of each metric of the last validation, as far as both arms compute the same."""
        found = [*([self._of_training()] if self.effects.compares_losses else []), *self._of_validations()]
        metric_ = self.effects.find_metric()
        asked = metric_ if any(each.metric == metric_ for each in found) else TRAIN_LOSS
        return tuple(each.model_copy(update={"decides": each.metric == asked}) for each in found)

    def _of_training(self) -> Difference:
        both = [(_mean_end(_array(pair.without)), _mean_end(_array(pair.with_))) for pair in self.pairs]
        began = float(np.mean([_mean_beginning(_array(pair.without)) for pair in self.pairs]))
        return _compare(TRAIN_LOSS, both, None, began)

    def _of_validations(self) -> Iterator[Difference]:
        names = [set(arm.metrics) for pair in self.pairs for arm in (pair.without, pair.with_)]
        for name in sorted(set.intersection(*names)):
            if not is_known(name) or (name == "val/loss" and not self.effects.same_loss):
                continue
            both = [(pair.without.metrics[name], pair.with_.metrics[name]) for pair in self.pairs]
            if all(math.isfinite(value) for values in both for value in values):
                yield _compare(name, both, self._terms(name), self.started.get(name, math.nan))

    def _terms(self, name: str) -> NDArray[np.float64] | None:
        """(samples,): what each adds to the mean difference over the orders; None where it is not known of all."""
        each = [(pair.terms_without.get(name), pair.terms_with.get(name)) for pair in self.pairs]
        found = [(one, other) for one, other in each if one is not None and other is not None]
        if len(found) < len(each) or len({array.shape for both in found for array in both}) != 1:
            return None
        summed = np.zeros(found[0][0].shape, np.float64)
        for one, other in found:
            summed += other.astype(np.float64) - one
        return summed / len(found)

    def is_still(self, name: str, with_fix: bool) -> bool:
        """Whether the arms are, on the average, no better at their end than where they began."""
        arms = [pair.with_ if with_fix else pair.without for pair in self.pairs]
        began, ended = self.find_ends(name, arms)
        lower = name == TRAIN_LOSS or not metric(name).maximize
        gained = began - ended if lower else ended - began
        return not gained > _margin(name, began)

    def find_ends(self, name: str, arms: Sequence[ArmResult]) -> tuple[float, float]:
        """Where they began and ended. What a metric was at the beginning is not known everywhere; then it is that of the first
        validation, where there are several, and else the training loss tells."""
        if name != TRAIN_LOSS:
            first = [arm.validations[0].metrics.get(name, math.nan) for arm in arms if len(arm.validations) > 1]
            began = self.started.get(name, float(np.mean(first)) if len(first) == len(arms) else math.nan)
            if math.isfinite(began):
                return began, float(np.mean([arm.metrics[name] for arm in arms]))
        losses = [_array(arm) for arm in arms]
        return float(np.mean([_mean_beginning(each) for each in losses])), float(
            np.mean([_mean_end(each) for each in losses])
        )


def _compare(
    name: str, both: Sequence[tuple[float, float]], terms: NDArray[np.float64] | None, began: float
) -> Difference:
    """Of the means without and with, one pair for each order. The variance has two parts, that of the orders and that of the samples,
    which all orders share; degrees of freedom as F. E. Satterthwaite (1946) has them."""
    differences = np.array([after - before for before, after in both])
    before, after = (float(np.mean([pair[side] for pair in both])) for side in (0, 1))
    parts = []
    if len(differences) > 1:
        parts.append((float(differences.var(ddof=1)) / len(differences), len(differences) - 1))
    if terms is not None and len(terms) > 1:
        parts.append((float(terms.var(ddof=1)) / len(terms), len(terms) - 1))
    value = float(differences.mean())
    if not parts:
        return Difference(metric=name, before=before, after=after, value=value)
    variance = sum(part for part, _ in parts)
    free = variance**2 / sum(part**2 / each for part, each in parts if part) if variance else 1.0
    half = student_quantile(free) * math.sqrt(variance)
    low, high = value - half, value + half
    least = _margin(name, max(abs(before), abs(began)) if math.isfinite(began) else before)
    matters = (low > 0 or high < 0) and abs(value) >= least
    maximize = name != TRAIN_LOSS and metric(name).maximize
    return Difference(
        metric=name,
        before=before,
        after=after,
        value=value,
        low=low,
        high=high,
        better=((value > 0) == maximize) if matters else None,
    )


def _margin(name: str, level: float) -> float:
    """What a difference has to be to matter."""
    return _LEAST_POINTS if name != TRAIN_LOSS and is_share(name) else _LEAST_SHARE * abs(level)


def _put_in_words(deciding: Difference, measured: _Measured, steps: int, orders: int) -> tuple[Verdict, str]:
    name = deciding.metric
    where = f"{pluralize(steps, 'step')}, {pluralize(orders, 'order')} of the data"
    shown = show_change(name.rpartition("/")[2], deciding.before, deciding.after, deciding.low, deciding.high)
    shown = (
        f"training {shown[:1].lower()}{shown[1:]}"
        if name == TRAIN_LOSS
        else f"validation {shown[:1].lower()}{shown[1:]}"
    )
    if deciding.better is None:
        return "no difference", f"No difference in {where}: {shown}."
    if not deciding.better:
        return "harms", f"It harms, in {where}: {shown}."
    if measured.is_still(name, with_fix=False) and not measured.is_still(name, with_fix=True):
        return "cures", f"It cures the run, in {where}: {shown}; without it nothing got better."
    return "helps", f"It helps, in {where}: {shown}."


def _array(arm: ArmResult) -> NDArray[np.float64]:
    return np.asarray(arm.losses, np.float64)


def _mean_beginning(losses: NDArray[np.float64]) -> float:
    """Of a third of the steps, five at most; NaN without any."""
    return _mean(losses[: min(max(len(losses) // 3, 1), 5)])


def _mean_end(losses: NDArray[np.float64]) -> float:
    """Of the last third of the steps."""
    return _mean(losses[-max(len(losses) // 3, 1) :])


def _mean(losses: NDArray[np.float64]) -> float:
    finite = losses[np.isfinite(losses)]
    return float(finite.mean()) if len(finite) else math.nan
