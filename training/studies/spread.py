"""What several values of a metric say: their mean with its interval, how far single ones lie apart by chance, and whether a difference
is more than that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from training.metric_names import is_known, is_share, metric, show_change, show_metric, title_of
from training.runs.groups import spread
from training.statistics.intervals import Interval, mean_interval, student_quantile


class Values(NamedTuple):
    """``n`` values with their sample standard deviation, and Student's 95 % interval of their mean."""

    n: int
    mean: Interval
    std: float

    @property
    def noise(self) -> float:
        """How far two single ones may lie apart by chance, at 95 %; NaN of a single one."""
        return student_quantile(self.n - 1) * self.std * math.sqrt(2.0) if self.n > 1 else math.nan


class Effect(NamedTuple):
    """The mean difference of pairs with its interval, and whether that is better; None where it is noise, or nothing tells."""

    before: float
    after: float
    difference: Interval
    better: bool | None


def measure_values(values: Sequence[float]) -> Values:
    """Of at least one finite value."""
    found = spread(values)
    if found is None:
        raise ValueError("none of the values is a finite number")
    interval = _interval([value for value in values if math.isfinite(value)])
    return Values(found.n, interval, math.nan if found.std is None else found.std)


def compare_pairs(name: str, before: Sequence[float], after: Sequence[float]) -> Effect:
    """Of the metric ``name`` in runs that are pairs: of one seed each."""
    differences = [other - one for one, other in zip(before, after, strict=True)]
    difference = _interval(differences)
    differs = difference.low > 0.0 or difference.high < 0.0
    better = (difference.value > 0.0) == (is_known(name) and metric(name).maximize)
    return Effect(sum(before) / len(before), sum(after) / len(after), difference, better if differs else None)


def _interval(values: Sequence[float]) -> Interval:
    """Around the mean, by distances from it: squares of large and nearly equal values would lose what tells them apart."""
    middle = sum(values) / len(values)
    apart = [value - middle for value in values]
    around = mean_interval(len(apart), math.fsum(apart), math.fsum(each * each for each in apart))
    return Interval(*(middle + each for each in around))


def show_size(name: str, size: float) -> str:
    """A difference of the metric, without its sign: in points of a hundred where people read it in percent."""
    return f"{100.0 * size:.2g} points" if is_share(name) else f"{size:.3g}"


def describe_values(name: str, values: Values, of: str = "seeds") -> str:
    """ "Accuracy 91.20% over 5 seeds (std 0.8 points, 95 % interval of the mean 90.2% to 92.2%)"."""
    told = f"{title_of(name.rpartition('/')[2])} {show_metric(name, values.mean.value)}"
    if values.n < 2:
        return told
    low, high = values.mean.low, values.mean.high
    if is_share(name):  # of few values Student's interval may pass what can be
        low, high = max(low, min(0.0, values.mean.value)), min(high, max(1.0, values.mean.value))
    if len({show_metric(name, each).lstrip("-") for each in (low, values.mean.value, high)}) == 1:
        return f"{told}, the same over {values.n} {of}{' as far as these digits tell' if values.std else ''}"
    limits = f"95 % interval of the mean {show_metric(name, low)} to {show_metric(name, high)}"
    return f"{told} over {values.n} {of} (std {show_size(name, values.std)}, {limits})"


def describe_effect(name: str, effect: Effect) -> str:
    """ "better: Accuracy 85.1% → 87.0% (difference +1.2 to +2.6 points)"."""
    shown = show_change(
        name.rpartition("/")[2], effect.before, effect.after, effect.difference.low, effect.difference.high
    )
    if not math.isfinite(effect.difference.low):
        return f"{shown}; one pair of runs does not tell whether that is noise"
    return f"{'noise' if effect.better is None else 'better' if effect.better else 'worse'}: {shown}"
