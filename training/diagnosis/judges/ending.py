"""What can be said of a run that is complete."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from training.diagnosis.judges.skill import is_skilled
from training.diagnosis.level import scatter
from training.diagnosis.rates import judge_rate, peak_rate, raise_rate, usual_rate
from training.diagnosis.recorded import Recorded
from training.events import STOPPED_EARLY, Finding
from training.findings import curves as rules
from training.findings.data import UNEVEN
from training.findings.split import DOUBTFUL_SAMPLES
from training.metric_names import is_share, title_of
from training.runs.records.evaluation import read_evaluation


def judge_too_early(run: Recorded) -> Iterator[Finding]:
    """The loss still falls."""
    levels, start = run.levels, run.start
    if len(levels) < 5 or run.step < run.total_steps:
        return
    now, before = levels[-1], levels[round((1 - rules.LAST_STRETCH) * (len(levels) - 1))]
    progress, gained = start - now.mean, before.mean - now.mean
    least = max(rules.STILL_FALLS * progress, rules.SURELY_FALLS * math.hypot(before.error, now.error))
    if progress <= 0 or gained < least or now.mean < rules.DONE * start or not _improves_to_the_end(run):
        return
    rates, task = run.steps["lr"], run.config.objective.kind
    decayed = float(rates[-1]) < rules.RATE_LEFT * float(rates.max())
    short = run.total_steps < rules.FEW_EPOCHS * run.steps_per_epoch and task != "language_model"
    low = judge_rate(run) == "low"
    mild = decayed and not short and not low
    epochs = run.config.loop.epochs * 3
    more = (
        f"Train longer: {epochs:,} epochs."
        if not low
        else f"The learning rate, {peak_rate(run):.3g}, is far below the usual {usual_rate(run.config):.3g}."
    )
    yield rules.TOO_EARLY.find(
        "info" if mild or now.mean < rules.MOSTLY_DONE * start or _has_settled(run) else "warning",
        f"The run ended while it still improved: its last {rules.LAST_STRETCH:.0%} brought {gained / progress:.0%} of all that the training loss came down "
        f"({start:.4g} to {now.mean:.4g}).",
        more,
        evidence={
            "cause": "learning rate too low" if low else "too few epochs",
            "start": start,
            "before": before.mean,
            "now": now.mean,
            "share": gained / progress,
            "epochs": run.config.loop.epochs,
            "lr": peak_rate(run),
        },
        fix=raise_rate(run) if low else _prolong(run),
        since=before.first,
    )


def _improves_to_the_end(run: Recorded) -> bool:
    _, values = run.metric_values("val/loss")
    return not len(values) or int(np.argmin(values)) >= len(values) - 2


def _has_settled(run: Recorded) -> bool:
    """Whether the monitored share gained less than a point in the stretch that is judged: then the loss alone still falls."""
    steps, values = run.metric_values(run.config.monitor)
    if not is_share(run.config.monitor) or not run.config.maximize or len(values) < 4:
        return False
    before = values[steps <= (1 - rules.LAST_STRETCH) * run.total_steps]
    return len(before) > 0 and float(values.max() - before.max()) < rules.FEW_POINTS


def _prolong(run: Recorded) -> dict[str, int | None]:
    loop = run.config.loop
    if loop.max_steps is not None and loop.max_steps <= run.total_steps:
        return {"loop.max_steps": 3 * loop.max_steps, "loop.epochs": 3 * loop.epochs}
    return {"loop.epochs": 3 * loop.epochs}


def judge_too_late(run: Recorded) -> Iterator[Finding]:
    """The best came long ago."""
    steps, values = run.metric_values(run.config.monitor)
    if len(values) < 10 or not np.isfinite(values).all() or (run.ended or "").startswith(STOPPED_EARLY):
        return
    if (run.data and run.data.samples.get("validation", 0) <= DOUBTFUL_SAMPLES) or is_skilled(run) is False:
        return  # the best was the best by chance
    worth = values if run.config.maximize else -values
    best = int(np.argmax(worth))
    last = worth[-max(len(worth) // 3, 3) :]
    lost, error = float(worth[best] - last.mean()), scatter(worth) * math.sqrt(1 + 1 / len(last))
    if steps[best] >= rules.LATE_PART * run.total_steps or lost <= 2 * error:
        return
    yield rules.TOO_LATE.find(
        "info",
        f"The best validation was at step {int(steps[best]):,} of {run.step:,}: {title_of(run.config.monitor.removeprefix('val/'))} got no better after that.",
        "Let it end once validation gets no better.",
        evidence={
            "cause": "too many epochs",
            "best_step": int(steps[best]),
            "best": float(values[best]),
            "lost": lost,
            "standard_error": error,
        },
        fix={}
        if run.config.loop.early_stopping_patience
        else {"loop.early_stopping_patience": max(3, min(10, len(values) // 10))},
        since=int(steps[best]),
    )


def judge_biased(run: Recorded) -> Iterator[Finding]:
    """Answers in the right order, and as far from the truth as the mean is."""
    _, explained = run.metric_values("val/r2")
    steps, order = run.metric_values("val/spearman")
    if len(explained) < rules.LEAST_VALIDATIONS or len(order) != len(explained):
        return
    if not np.isfinite(explained).all() or float(explained.max()) > 0 or not float(order[-1]) >= rules.ORDERED:
        return
    task = run.config.objective
    own = task.kind == "user_loss"
    yield rules.BIASED.find(
        "info" if getattr(task, "loss", "mse") in ("l1", "huber") else "warning",
        f"Answers are in the right order (rank correlation {order[-1]:.2f}), but farther from the truth than their mean is: R² came to {explained.max():.2f} at best.",
        "The loss asks for another number than the mean, as that of a high quantile does, or a few values are far from all others."
        if own
        else "A few values are probably far from all others: look at the values to predict, and at the validation samples of the highest error.",
        evidence={
            "cause": "wrong loss" if own else "outliers",
            "r2": float(explained.max()),
            "spearman": float(order[-1]),
        },
        fix={"objective.kind": "regression"} if own else {},
        since=int(steps[0]),
    )


def judge_noisy(run: Recorded) -> Iterator[Finding]:
    """The best validation may be the best by chance."""
    name = run.config.monitor
    steps, values = run.metric_values(name)
    count = run.data.samples.get("validation", 0) if run.data else 0
    if len(values) < 6 or not count or not is_share(name) or not np.isfinite(values).all():
        return
    last = values[-max(len(values) // 3, 3) :]
    share = float(np.clip(last.mean(), 1 / count, 1 - 1 / count))
    error = math.sqrt(share * (1 - share) / count)
    best = int(np.argmax(values))
    if error < 2 * rules.FEW_POINTS or float(last.std()) < rules.FEW_POINTS or values[best] - last.mean() > error:
        return
    yield rules.NOISY.find(
        "info",
        f"The {count:,} validation samples tell {title_of(name.removeprefix('val/'))} to ±{error:.1%} only: which validation is the best is chance.",
        "A larger validation part tells differences apart.",
        evidence={
            "cause": "validation too small",
            "samples": count,
            "standard_error": error,
            "scatter": float(last.std()),
        },
        since=int(steps[best]),
    )


def judge_uneven(run: Recorded) -> Iterator[Finding]:
    """One class is hardly ever found, another always."""
    found = read_evaluation(run.folder, "validation") if run.folder is not None else None
    if run.config.objective.kind not in ("classification", "binary", "segmentation"):
        return
    if found is None or not found.confusion:
        return
    matrix = np.array(found.confusion, np.float64)
    counts = matrix.sum(1)
    known = np.flatnonzero(counts >= 5)
    if len(known) < 2:
        return
    recalls = matrix.diagonal()[known] / counts[known]
    worst, best = int(np.argmin(recalls)), int(np.argmax(recalls))
    count, uneven = float(counts[known[worst]]), float(counts.max() / counts[known[worst]])
    rare = uneven >= UNEVEN and not getattr(run.config.objective, "balanced", False)
    if recalls[worst] >= (rules.LOW_OF_RARE if rare else rules.LOW_RECALL) or recalls[best] <= rules.HIGH_RECALL:
        return
    name, other = (found.names[known[place]] for place in (worst, best))
    sure = (rare or recalls[worst] < rules.HARDLY_FOUND) and count >= rules.SURELY_COUNTED
    if sure and (mixed := _find_mixed_up(matrix, int(known[worst]))) is not None and uneven < UNEVEN / 2:
        yield _tell_mixed_up(found.names[known[worst]], found.names[mixed], float(recalls[worst]), int(count))
        return
    yield rules.COLLAPSED.find(
        "warning" if sure else "info",
        f"At the best validation {recalls[worst]:.0%} of the class {name} are found, and {recalls[best]:.0%} of {other}.",
        "The Evaluate page shows which class it is taken for.",
        place=name,
        evidence={
            **({"cause": "class imbalance"} if uneven >= UNEVEN / 2 else {}),
            "recall": float(recalls[worst]),
            "highest_recall": float(recalls[best]),
            "samples": int(count),
        },
        fix=_weigh_alike(run) if count <= counts.mean() / 2 else {},
    )


def _find_mixed_up(matrix: NDArray[np.float64], row: int) -> int | None:
    """The one class that nearly all of this class's samples are taken for, of three or more; None where they are taken for several."""
    taken = matrix[row].copy()
    taken[row] = 0
    most = int(taken.argmax())
    return most if len(matrix) > 2 and taken[most] >= rules.MIXED_UP * taken.sum() else None


def _tell_mixed_up(name: str, other: str, recall: float, count: int) -> Finding:
    return rules.MIXED.find(
        "warning",
        f"At the best validation {recall:.0%} of the class {name} are found; nearly all others are taken for {other}.",
        f"Look at samples of {name} and {other} beside their labels: either some of the one have the label of the other, or the two look alike.",
        place=name,
        evidence={"recall": recall, "samples": count},
    )


def _weigh_alike(run: Recorded) -> dict[str, JsonValue]:
    """Settings by which the classes count alike."""
    task = run.config.objective
    if task.kind == "segmentation" and task.loss == "cross_entropy":
        return {"objective.loss": "dice_cross_entropy"}
    return {} if getattr(task, "balanced", True) else {"objective.balanced": True}


AT_END = (judge_too_early, judge_too_late, judge_biased, judge_noisy, judge_uneven)
