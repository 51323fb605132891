"""The metrics a run reports: how they are called, which way is better, how they are shown."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One metric. ``format`` is a Python format specification for its value."""

    name: str
    title: str
    maximize: bool
    format: str

    def show(self, value: float) -> str:
        """``value`` as a person reads it."""
        return format(value, self.format)


METRICS: tuple[Metric, ...] = (
    Metric("loss", "Loss", maximize=False, format=".4f"),
    Metric("accuracy", "Accuracy", maximize=True, format=".2%"),
    Metric("top5_accuracy", "Top-5 accuracy", maximize=True, format=".2%"),
    Metric("f1", "F1", maximize=True, format=".4f"),
    Metric("f1_micro", "F1 (micro)", maximize=True, format=".4f"),
    Metric("precision", "Precision", maximize=True, format=".2%"),
    Metric("recall", "Recall", maximize=True, format=".2%"),
    Metric("auroc", "AUROC", maximize=True, format=".4f"),
    Metric("average_precision", "Average precision", maximize=True, format=".4f"),
    Metric("mean_average_precision", "Mean average precision", maximize=True, format=".4f"),
    Metric("subset_accuracy", "Subset accuracy", maximize=True, format=".2%"),
    Metric("r2", "R²", maximize=True, format=".4f"),
    Metric("rmse", "RMSE", maximize=False, format=".4g"),
    Metric("mae", "MAE", maximize=False, format=".4g"),
    Metric("spearman", "Spearman correlation", maximize=True, format=".4f"),
    Metric("ndcg", "NDCG", maximize=True, format=".4f"),
    Metric("mrr", "Mean reciprocal rank", maximize=True, format=".4f"),
    Metric("pair_accuracy", "Pairwise accuracy", maximize=True, format=".2%"),
    Metric("agreement", "Teacher agreement", maximize=True, format=".2%"),
    Metric("recall_at_1", "Recall@1", maximize=True, format=".2%"),
    Metric("recall_at_k", "Recall@k", maximize=True, format=".2%"),
    Metric("mean_iou", "Mean IoU", maximize=True, format=".2%"),
    Metric("dice", "Dice", maximize=True, format=".4f"),
    Metric("pixel_accuracy", "Pixel accuracy", maximize=True, format=".2%"),
    Metric("perplexity", "Perplexity", maximize=False, format=".3f"),
    Metric("bits_per_character", "Bits per character", maximize=False, format=".4f"),
)

_OF_EVALUATIONS = (
    Metric("calibration_error", "Calibration error", maximize=False, format=".2%"),
    Metric("false_positive_rate", "False positive rate", maximize=False, format=".2%"),
    Metric("iou", "IoU", maximize=True, format=".2%"),
)
"""Measured of a checkpoint alone, so that no run goes by them."""
_KNOWN = {candidate.name: candidate for candidate in (*METRICS, *_OF_EVALUATIONS)}


CURVE_TITLES = {"train/loss": "Training loss", "grad_norm": "Gradient norm (pre-clip)", "lr": "Learning rate"}
"""What a person calls the curves of a run's steps."""


def metric(name: str) -> Metric:
    """The metric called ``name``, with or without its part ("val/accuracy" or "accuracy"). KeyError when unknown."""
    plain = name.rpartition("/")[2]
    if plain not in _KNOWN:
        raise KeyError(f"no metric is called {plain!r}")
    return _KNOWN[plain]


def title_of(name: str) -> str:
    """What a person calls the metric, behind the target it is of ("height/rmse"), where there are several."""
    title = metric(name).title if is_known(name) else name.replace("_", " ").capitalize()
    return f"{name.rpartition('/')[0]}: {title}" if "/" in name else title


def is_share(name: str) -> bool:
    """Whether people read the metric in percent."""
    return is_known(name) and metric(name).format.endswith("%")


def is_known(name: str) -> bool:
    """Whether there is such a metric, with or without its part."""
    return name.rpartition("/")[2] in _KNOWN


def show_metric(name: str, value: float | None) -> str:
    """``value`` as a person reads that metric."""
    if value is None:
        return "not defined"
    return metric(name).show(value) if is_known(name) else f"{value:.4g}"


_ROUNDING = 1e-6
"""Part of a metric that sums in another order change in it."""


def show_change(name: str, before: float, after: float, low: float = math.nan, high: float = math.nan) -> str:
    """ "Accuracy 85.16% → 84.77% (difference -1.17 to +0.39 points)": ``low`` and ``high`` are the limits of the difference, told in points
    of a hundred where the metric is a share. They are left out where they are no numbers, and where they are within what rounding does."""
    values = f"{title_of(name)} {show_metric(name, before)} → {show_metric(name, after)}"
    if low == high == 0.0:
        return f"{values} (no difference)"
    if not math.isfinite(low) or not math.isfinite(high):
        return values
    if max(abs(low), abs(high)) <= _ROUNDING * abs(before):
        return f"{values} (difference below {_ROUNDING:.4%})"
    factor, unit = (100.0, " points") if is_share(name) else (1.0, "")
    return f"{values} (difference {factor * low:+.3g} to {factor * high:+.3g}{unit})"
