"""What ended a run, or its learning rate, before its time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from training.diagnosis.level import LEAST_STEPS, slope
from training.diagnosis.recorded import Recorded
from training.events import REACHED, STOPPED_EARLY, Finding
from training.findings import curves as rules
from training.metric_names import is_share, title_of


def judge_content(run: Recorded) -> Iterator[Finding]:
    """The threshold that ended it was reached on the way up."""
    steps, values = run.metric_values(run.config.monitor)
    if not (run.ended or "").startswith(REACHED) or not len(values) or run.step > rules.SLOW_AFTER * run.total_steps:
        return
    before = float(values[-2]) if len(values) > 1 else 0.0
    gained = (float(values[-1]) - before) * (1 if run.config.maximize else -1)
    at_once = len(values) == 1 and run.step <= rules.AT_ONCE * run.total_steps
    if not at_once and (not is_share(run.config.monitor) or gained < rules.STILL_GAINS):
        return
    name = title_of(run.config.monitor.removeprefix("val/"))
    yield rules.TOO_EARLY.find(
        "warning",
        f"The run ended at its first validation: {name} reached loop.stopping_threshold at step {run.step:,} of {run.total_steps:,}."
        if at_once
        else f"The run ended while it still improved: {name} reached loop.stopping_threshold at step {run.step:,} of {run.total_steps:,}, {gained:.1%} above the validation before.",
        "Ask for more, or let it train to its end.",
        evidence={"cause": "stopped too early", "gained": gained},
        fix={"loop.stopping_threshold": None},
        since=int(steps[-2:][0]),
    )


def judge_stopped(run: Recorded) -> Iterator[Finding]:
    """Early stopping ended it while the training loss fell, and validation no more than wavered."""
    levels, start = run.levels, run.start
    _, losses = run.metric_values("val/loss")
    if not (run.ended or "").startswith(STOPPED_EARLY) or run.step > rules.SLOW_AFTER * run.total_steps:
        return
    if len(levels) < 4 or len(losses) < 2 or not np.isfinite(losses).all():
        return
    now, before = levels[-1], levels[len(levels) // 2]
    progress, gained = start - now.mean, before.mean - now.mean
    if progress <= 0 or gained < max(
        rules.STILL_FALLS * progress, rules.SURELY_FALLS * math.hypot(before.error, now.error)
    ):
        return
    half = losses[len(losses) // 2 :]
    if float(half.min()) > float(losses[: len(losses) // 2].min()) or now.mean < rules.DONE * start:
        return  # validation has got no better for half of the run: it was time
    since = losses[int(losses.argmin()) :]
    if len(since) > 2 and (np.diff(since) > 0).all():
        return  # it has got worse each time since its best
    yield rules.TOO_EARLY.find(
        "warning",
        f"Early stopping ended the run at step {run.step:,} of {run.total_steps:,} while it still improved: the last half brought {gained / progress:.0%} of all that the training "
        "loss came down.",
        "Let it wait for longer, and count any gain.",
        evidence={"cause": "stopped too early", "start": start, "before": before.mean, "now": now.mean},
        fix={
            "loop.early_stopping_patience": _wait_longer(run),
            **({"loop.early_stopping_min_delta": 0.0} if run.config.loop.early_stopping_min_delta else {}),
        },
        since=before.first,
    )


def _wait_longer(run: Recorded) -> int:
    """A quarter of the run's validations, twice what it was at the least."""
    between = min(run.config.loop.validate_every_steps or run.steps_per_epoch, run.steps_per_epoch)
    return max(5, 2 * (run.config.loop.early_stopping_patience or 1), run.total_steps // between // 4)


def judge_lowered(run: Recorded) -> Iterator[Finding]:
    """A plateau's rate came to nearly nothing while the loss still fell."""
    schedule, rates = run.config.schedule, run.steps["lr"].astype(np.float64)
    if schedule.kind != "plateau" or len(rates) < LEAST_STEPS * 4 or rates.max() <= 0:
        return
    low = np.flatnonzero(rates <= rules.LOW * rates.max())
    low = low[low > int(rates.argmax())]
    first = np.flatnonzero(rates[int(rates.argmax()) :] < rates.max() * (1 - 1e-6)) + int(rates.argmax())
    if not len(low) or not len(first) or low[0] > rules.LOW_BEFORE * run.total_steps:
        return
    made = run.made[run.made["step"] <= run.steps["step"][first[0]]]["loss"].astype(np.float64)
    late = made[len(made) // 2 :]
    if len(late) < LEAST_STEPS or slope(late)[1] > -rules.SURELY_FALLS:
        return
    step = int(run.steps["step"][low[0]])
    yield rules.LOWERED.find(
        "warning",
        f"From step {step:,} of {run.total_steps:,} on the learning rate is at most {rates[low[0] :].max() / rates.max():.1%} of its peak: the plateau schedule lowered it while "
        "the training loss still fell.",
        "Let it wait for more validations, and count small gains; or choose a schedule that knows the length of the run.",
        evidence={"step": step, "patience": schedule.patience, "threshold": schedule.threshold},
        fix={"schedule.kind": "cosine"},
        since=int(run.steps["step"][first[0]]),
    )


AT_END = (judge_content, judge_stopped, judge_lowered)
