"""What validations tell beside the training loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from training.config.sections.data.image_section import ImageSection
from training.diagnosis.judges.skill import is_skilled
from training.diagnosis.level import scatter, slope
from training.diagnosis.recorded import Recorded
from training.errors import InputError
from training.events import Finding
from training.findings import curves as rules
from training.metric_names import is_share
from training.predictions import read
from training.predictions.record import evaluation_folder

_NEARLY_0 = 0.02
_MANY_WEIGHTS, _LITTLE_DECAY = 10, 0.01


class Rise(NamedTuple):
    """From ``lowest``, around the validation ``best``, to ``now``."""

    best: int
    lowest: float
    now: float

    @property
    def share(self) -> float:
        """Of the lowest."""
        return (self.now - self.lowest) / abs(self.lowest) if self.lowest else math.inf


def judge_overfitted(run: Recorded) -> Iterator[Finding]:
    """Validation gets worse while training gets better."""
    steps, losses = run.metric_values("val/loss")
    if len(losses) < rules.LAST_OF + 2 or not np.isfinite(losses).all():
        return
    rise = _find_rise(losses)
    after = len(losses) - 1 - rise.best
    progress = max(float(losses[0]) - rise.lowest, 0.0)
    if after < rules.LAST_OF or rise.share < rules.OVER_NOTE or rise.now - rise.lowest < rules.OVER_PROGRESS * progress:
        return
    error, chance = _find_error(run, steps, losses, rise.best)
    if rise.now - rise.lowest <= chance or not _trains_on(run, int(steps[rise.best])):
        return
    if is_skilled(run) is False:
        return  # it never fitted
    improves = _still_improves(run, rise.best)
    sick = rise.share >= rules.OVER_WARNING and not improves
    best_step = int(steps[rise.best])
    metric = f", though {run.config.monitor} still gets better" if improves else ""
    yield rules.OVERFITTED.find(
        "warning" if sick else "info",
        f"The network overfits: the validation loss rose from {rise.lowest:.4g} around step {best_step:,} to {rise.now:.4g} while the training loss "
        f"fell{metric}.",
        _advise(run, best_step),
        evidence={
            "cause": "too many epochs",
            "best": rise.lowest,
            "best_step": best_step,
            "now": rise.now,
            "standard_error": error,
            "parameters": run.parameters,
            **({"training_samples": _count(run, "train")} if run.data else {}),
        },
        fix=_restrain(run, len(losses)),
        since=int(steps[min(rise.best + 1, len(steps) - 1)]),
    )


def _find_rise(losses: NDArray[np.float64]) -> Rise:
    """Between means of three, since the lowest of many single ones is low by chance."""
    means = np.convolve(losses, np.full(rules.LAST_OF, 1 / rules.LAST_OF), "valid")
    lowest = int(np.argmin(means))
    best = lowest + int(np.argmin(losses[lowest : lowest + rules.LAST_OF]))
    return Rise(best, float(means[lowest]), float(means[-1]))


def _find_error(run: Recorded, steps: NDArray[np.int64], losses: NDArray[np.float64], best: int) -> tuple[float, float]:
    """The standard error of a rise since the validation ``best``, and what may be by chance."""
    paired = _pair(run, int(steps[best]), int(steps[-1]))
    if paired is not None:
        return paired, 2 * paired
    error = scatter(losses) / math.sqrt(rules.LAST_OF)
    chance = math.sqrt(2 * math.log(len(losses) - rules.LAST_OF + 1))
    return error, (chance + 2 * math.sqrt(2)) * error


def _pair(run: Recorded, before: int, after: int) -> float | None:
    """The standard error of the mean change of the samples' losses from one step to another; None where these validations kept none."""
    if run.folder is None or before == after:
        return None
    try:
        first, last = (
            read(evaluation_folder(run.folder, step, "validation")).column("loss") for step in (before, after)
        )
    except (InputError, KeyError, OSError):
        return None
    if first.shape != last.shape or len(first) < 2:
        return None
    changes = last.astype(np.float64) - first.astype(np.float64)
    return float(changes.std(ddof=1) / math.sqrt(len(changes)))


def _trains_on(run: Recorded, best_step: int) -> bool:
    """Whether the training loss fell on after the best validation."""
    means = [(epoch.step, epoch.metrics.get("train/loss", math.nan)) for epoch in run.epochs]
    before = [mean for step, mean in means if step <= best_step]
    if not before or not means:
        return False
    return means[-1][1] <= (1 - rules.FELL) * before[-1]


def _still_improves(run: Recorded, best: int) -> bool:
    """Whether the monitored metric, where it is not the loss, became better after the best loss by more than it scatters."""
    name = run.config.monitor
    _, values = run.metric_values(name)
    if name == "val/loss" or len(values) <= best + 1 or not np.isfinite(values).all():
        return False
    worth = values if run.config.maximize else -values
    noise = scatter(worth)
    if is_share(name) and (count := _count(run, "validation")):
        share = float(np.clip(values[-1], 1 / count, 1 - 1 / count))
        noise = max(noise, math.sqrt(share * (1 - share) / count))
    return float(worth[best + 1 :][-rules.LAST_OF :].mean() - worth[max(best - 1, 0) : best + 1].max()) > noise


def _count(run: Recorded, part: str) -> int:
    return run.data.samples.get(part, 0) if run.data else 0


def _is_unrestrained(run: Recorded) -> bool:
    """Many weights to a sample, and neither dropout nor decay nor augmentation."""
    samples = _count(run, "train")
    decay = getattr(run.config.optimizer, "weight_decay", 0.0)
    dropout = getattr(run.config.model, "dropout", None)
    return bool(samples) and run.parameters >= _MANY_WEIGHTS * samples and dropout == 0.0 and decay <= _LITTLE_DECAY


def _advise(run: Recorded, best_step: int) -> str:
    if _is_unrestrained(run):
        return (
            f"{run.parameters:,} weights learn {_count(run, 'train'):,} samples by heart, and nothing restrains them: dropout, or a smaller network, "
            "and an end once validation gets no better."
        )
    return f"Let it end once validation gets no better; by the validation loss, the weights around step {best_step:,} were the best."


def _restrain(run: Recorded, validations: int) -> dict[str, JsonValue]:
    fix: dict[str, JsonValue] = {}
    if run.config.loop.early_stopping_patience is None:
        fix["loop.early_stopping_patience"] = max(3, min(10, validations // 10))
    if _is_unrestrained(run):
        fix["model.dropout"] = 0.3
    return fix


def judge_too_good(run: Recorded) -> Iterator[Finding]:
    """Validation costs less than training, and nothing makes training harder."""
    pairs = [
        (epoch.step, epoch.metrics["val/loss"], epoch.metrics["train/loss"])
        for epoch in run.epochs
        if "val/loss" in epoch.metrics and "train/loss" in epoch.metrics
    ]
    if len(pairs) < 6 or run.step < rules.SLOW_AFTER * run.total_steps or _makes_training_harder(run):
        return
    steps, held, trained = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    half = len(pairs) // 2
    first = trained[0]
    falls = (trained[half - 1 : -1] - trained[half:]) / np.maximum(trained[half - 1 : -1], 1e-12)
    if float(np.mean(falls)) > 0.05 or trained[-1] < _NEARLY_0 * first or held[-1] <= 0:
        return
    ratio = held[half:] / trained[half:]
    if float(np.mean(ratio < rules.BELOW)) < rules.OFTEN:
        return
    typical = float(np.median(ratio))
    others = any(getattr(run.config.dataset, name, None) for name in ("group_column", "time_column"))
    yield rules.TOO_GOOD.find(
        "warning" if typical < rules.FAR_BELOW and not others else "info",
        f"The validation loss is {typical:.2f} times the training loss, though nothing makes training harder.",
        "The validation samples are easier than those of training, or among them: Check looks for copies in both parts.",
        evidence={"ratio": typical, "validation_loss": float(held[-1]), "training_loss": float(trained[-1])},
        since=int(steps[half]),
    )


def judge_unsure(run: Recorded) -> Iterator[Finding]:
    """Validation is right far more often than the network is sure: what it learned from contradicts itself, what it is judged by does not."""
    _, right = run.metric_values("val/accuracy")
    steps, losses = run.metric_values("val/loss")
    classes = run.data.class_count if run.data else 0
    if run.config.objective.kind != "classification" or classes < 2 or len(losses) < rules.LEAST_UNSURE:
        return
    if (
        run.step < rules.SLOW_AFTER * run.total_steps
        or len(right) != len(losses)
        or len(run.levels) < 2
        or _makes_training_harder(run)
    ):
        return
    last = slice(-max(len(losses) // 3, 3), None)
    share, loss, now = float(right[last].mean()), float(losses[last].mean()), run.levels[-1].mean
    fits = _sure_loss(share, classes)
    late = run.judged["loss"][len(run.judged) // 2 :].astype(np.float64)
    middle, enough = run.levels[len(run.levels) // 2].mean, len(late) >= rules.LEAST_JUDGED
    still_falls = (
        middle - now > rules.STILL_SURER * (run.start - now) or not enough or slope(late)[1] < -rules.SURELY_FALLS
    )
    if share < rules.MOSTLY_RIGHT or still_falls or min(loss, now) < rules.UNSURE * fits + rules.UNSURE_BY:
        return
    yield rules.NOISY_LABELS.find(
        "warning",
        f"Validation is right in {share:.0%}, but the network is not sure of it: its loss is {loss:.3g} ({now:.3g} in training), where answers as sure as they are right "
        f"cost at most {fits:.3g}.",
        "So it is where many labels of training are wrong, and those of validation are not: look at the training samples of the highest loss.",
        evidence={"accuracy": share, "validation_loss": loss, "training_loss": now, "as_sure_as_right": fits},
        since=int(steps[len(steps) // 2]),
    )


def _sure_loss(share: float, classes: int) -> float:
    """The cross-entropy of answers that are right in this ``share`` and as sure as that, whatever the sample, with the rest spread evenly: those
    that are surer of some samples than of others cost less (Jensen)."""
    share = min(max(share, 1e-3), 1 - 1e-3)
    wrong = 1 - share
    return -share * math.log(share) - wrong * math.log(wrong / max(classes - 1, 1))


def _makes_training_harder(run: Recorded) -> bool:
    config = run.config
    restrained = getattr(config.model, "dropout", None)
    smoothing = getattr(config.objective, "label_smoothing", 0.0)
    averaged = config.loop.ema_decay is not None or config.loop.swa_start is not None
    weighted = getattr(config.objective, "balanced", False) or getattr(config.objective, "class_weights", ())
    drawn = config.loader.sampling == "balanced"
    dataset = config.dataset
    mixed = any(getattr(dataset, name, 0.0) for name in ("mixup_alpha", "cutmix_alpha"))
    varied = mixed or (isinstance(dataset, ImageSection) and dataset.is_augmented)
    return bool(restrained != 0.0 or smoothing or averaged or weighted or drawn or varied)


JUDGES = (judge_overfitted, judge_too_good, judge_unsure)
