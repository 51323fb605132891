"""What the curve of the training loss tells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from pydantic import JsonValue

from training.diagnosis.level import LEAST_STEPS, Level, find_medians, slope
from training.diagnosis.rates import judge_rate, lower_rate, peak_rate, raise_rate, update_size, usual_rate
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings import curves as rules

_NO_GRADIENT = 1e-7
_NEARLY_0 = 0.01


def judge_diverged(run: Recorded) -> Iterator[Finding]:
    """The loss lost what it had come down by."""
    levels, start = run.levels, run.start
    if len(levels) < 2:
        return
    now = levels[-1]
    best = min([Level(1, 1, start, 0.0), *levels[:-1]], key=lambda level: level.mean)
    progress, lost = start - best.mean, now.mean - best.mean
    error = math.hypot(best.error, now.error)
    least = rules.LEAST_LOST * abs(best.mean)
    if lost <= max(rules.LOST * progress, least):
        return
    recent = float(np.median(run.made["loss"][-LEAST_STEPS:]))
    times = recent / abs(start) if start else 0.0
    if lost <= rules.SURE * error and times < rules.GONE:
        return
    later = [level for level in levels if level.first > best.last]
    after = next((level for level in later if level.mean - best.mean > lost / 4), now)
    worse = lost >= rules.ALL_LOST * progress
    since_best = run.made[np.searchsorted(run.made["step"], best.last, "right") :]
    peak = since_best[np.argmax(since_best["loss"])]
    rose = (
        f", rose to {_show(peak['loss'])} at step {peak['step']:,}" if peak["loss"] > rules.FAR_ABOVE * now.mean else ""
    )
    yield rules.DIVERGED.find(
        "error" if worse else "warning",
        f"The training loss diverged: it was {_show(best.mean)} around step {best.last:,}{rose} and was {_show(now.mean)} around step "
        f"{now.last:,}, with a learning rate of up to {peak_rate(run):.3g}.",
        "The rate is too high: branch from the last checkpoint before that with a lower one.",
        evidence={
            "cause": "learning rate too high",
            "start": start,
            "best": best.mean,
            "best_step": best.last,
            "now": now.mean,
            "highest_loss": float(peak["loss"]),
            "peak_step": int(peak["step"]),
            "times_start": times,
            "standard_error": error,
            "lr": peak_rate(run),
            "usual_lr": usual_rate(run.config),
        },
        fix=lower_rate(run),
        since=min(after.first, int(peak["step"])),
    )


def is_beyond_doubt(finding: Finding) -> bool:
    """Whether ``finding`` need not be found again to be told: a loss of so many times its start."""
    times = finding.evidence.get("times_start")
    return finding.code == rules.DIVERGED.code and isinstance(times, float) and times >= rules.GONE


def _show(loss: float) -> str:
    return f"{loss:,.0f}" if 1e4 <= abs(loss) < 1e9 else f"{loss:.4g}"


def judge_flat(run: Recorded) -> Iterator[Finding]:
    """The loss does not fall, or hardly."""
    share = run.step / run.total_steps
    if share < rules.FLAT_AFTER or len(run.judged) < rules.LEAST_JUDGED or _is_known(run):
        return
    judged = run.judged["loss"].astype(np.float64)
    start, guess = run.start, guessing_loss(run)
    reference = start if guess is None else guess
    now = float(judged[-max(len(judged) // 5, 10) :].mean())
    gain = 1 - now / reference if reference > 0 else math.nan
    if gain >= max(rules.FLAT_GAIN, 2 * rules.SLOW_GAIN):
        return
    rise, t = slope(judged[-max(len(judged) // 3, 10) :])
    ahead = max(run.total_steps - run.step, rules.AHEAD * run.total_steps)
    coming = max(-rise, 0.0) * ahead / reference if t < -2 and reference > 0 else 0.0
    verdict = judge_rate(run) if gain < rules.SLOW_GAIN else ""
    at_guess = guess is not None and abs(gain) < rules.FLAT_GAIN and coming < rules.SLOW_GAIN
    began = start if guess is None or start > 1.2 * guess else guess
    stays = at_guess or now > (1 - rules.SLOW_GAIN) * began
    flat = stays and gain < rules.FLAT_GAIN and coming < rules.SLOW_GAIN
    slow = stays and share >= rules.SLOW_AFTER and verdict == "low" and gain + coming < 2 * rules.SLOW_GAIN
    if not (flat or slow) or (guess is None and gain < -1):
        return
    guessed = f", which is what guessing costs ({guess:.4g})" if at_guess else ""
    how = "does not fall" if flat else "hardly falls"
    cause, advice, fix = _explain_flat(run, verdict)
    yield rules.FLAT.find(
        "warning",
        f"The training loss {how}: it began at {start:.4g} and is {now:.4g} after {run.step:,} steps{guessed}.",
        advice,
        evidence={
            **({"cause": cause} if cause else {}),
            "start": start,
            "now": now,
            "gain": gain,
            "t": t,
            "lr": peak_rate(run),
            "usual_lr": usual_rate(run.config),
            **({"guessing": guess} if guess is not None else {}),
        },
        fix=fix,
        since=run.warmup,
    )


def guessing_loss(run: Recorded) -> float | None:
    """The cross-entropy of who knows the shares of the classes alone: their entropy; ln of their number where they count alike. None
    for other tasks, or where the shares are not known."""
    task, data = run.config.objective, run.data
    if data is None or task.kind != "classification":
        return None
    counts = np.array(data.counts.get("train", ()), np.float64)
    counts = counts[counts > 0]
    if not len(counts) or data.class_count != len(data.counts["train"]):
        return None
    if task.balanced or task.class_weights or run.config.loader.sampling == "balanced":
        return math.log(len(counts))
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _is_known(run: Recorded) -> bool:
    """Whether there was little to gain from the start, or a validation shows that something was learned."""
    if getattr(run.config.model, "pretrained", None) or getattr(run.config.model, "weights", None):
        return True
    return bool(run.validations) and run.validations[-1].metrics.get("val/r2", 0.0) > rules.FLAT_GAIN


def _explain_flat(run: Recorded, verdict: str) -> tuple[str, str, Mapping[str, JsonValue]]:
    """The likeliest cause, what to do, and the settings that do it."""
    lr, usual = peak_rate(run), usual_rate(run.config)
    beside = f"The learning rate, {lr:.3g}, beside the optimizer's usual {usual:.3g}"
    norms = run.made["grad_norm"]
    norm = float(np.median(norms)) if len(norms) else 0.0
    if norm < _NO_GRADIENT:
        advice = (
            "Hardly any gradient reaches the weights: look at the activation, the initialization, and what is frozen."
        )
        return "dead initialization", advice, {}
    clip = run.config.loop.clip_norm
    if clip and clip < 0.02 * norm and run.config.optimizer.kind == "sgd":
        advice = f"Gradients of norm {norm:.3g} are cut to {clip:.3g}, so that the weights hardly move."
        return "optimizer settings", advice, {"loop.clip_norm": float(f"{norm:.1g}")}
    if verdict == "high":
        return (
            "learning rate too high",
            f"{beside}, is too high: each step throws away what was learned.",
            lower_rate(run),
        )
    if verdict == "low":
        return "learning rate too low", f"{beside}, is too low: the weights hardly move.", raise_rate(run)
    size = update_size(run)
    moves = f" (a step changes the weights by 10^{size:.1f} of their size)" if size is not None else ""
    return (
        "",
        f"The learning rate is a usual one{moves}: look at whether inputs and labels belong together, whether labels are right, and at the "
        "network. Check with Fit one batch tells whether it can learn at all.",
        {},
    )


def judge_plateau(run: Recorded) -> Iterator[Finding]:
    """Nothing comes any more, at a rate that never falls."""
    levels, start = run.levels, run.start
    if run.config.schedule.kind != "constant" or run.step < rules.SLOW_AFTER * run.total_steps or len(levels) < 10:
        return
    last = max(round(rules.LAST_PART * len(levels)), 3)
    before, after = levels[-last - 1], _join(levels[-max(last // 3, 1) :])
    best = min(level.mean for level in levels)
    progress = start - best
    rates = run.steps["lr"][levels[-last].first - 1 :]
    steady = float(np.ptp(rates)) <= rules.SAME_RATE * float(rates.max())
    if not steady or progress <= rules.FLAT_GAIN * abs(start) or best < _NEARLY_0 * start:
        return
    if before.mean - after.mean >= rules.LITTLE * progress + math.hypot(before.error, after.error):
        return
    yield rules.PLATEAU.find(
        "info",
        f"The training loss has stood still since step {levels[-last].first:,}, around {after.mean:.4g}, at a constant learning rate.",
        "A schedule that lowers the rate usually brings more; else the run could end.",
        evidence={"level": after.mean, "before": before.mean, "progress": progress, "lr": float(rates[-1])},
        fix={"schedule.kind": "cosine"},
        since=levels[-last].first,
    )


def _join(levels: Sequence[Level]) -> Level:
    count = len(levels)
    error = math.sqrt(sum(level.error**2 for level in levels)) / count
    return Level(levels[0].first, levels[-1].last, sum(level.mean for level in levels) / count, error)


def judge_oscillates(run: Recorded) -> Iterator[Finding]:
    """The level goes up and down, by far more than batches differ."""
    if run.config.schedule.kind == "cosine_restarts":
        return
    levels = [level for level in run.levels if level.first >= run.warmup]
    if len(levels) < rules.REVERSALS + 2:
        return
    progress = max(run.start, levels[0].mean) - min(level.mean for level in levels)
    turns = _find_turns(levels, rules.SWING * progress)
    if len(turns) < rules.REVERSALS or turns[-1].last < run.step * 0.7:
        return
    low, high = min(turns, key=lambda level: level.mean), max(turns, key=lambda level: level.mean)
    yield rules.OSCILLATES.find(
        "warning",
        f"The training loss swings up and down, {len(turns)} times since step {turns[0].first:,}, between {low.mean:.4g} and {high.mean:.4g}.",
        f"The learning rate, {peak_rate(run):.3g}, is too high for it to settle.",
        evidence={
            "cause": "learning rate too high",
            "reversals": len(turns),
            "lowest": low.mean,
            "highest": high.mean,
            "lr": peak_rate(run),
            "usual_lr": usual_rate(run.config),
        },
        fix=lower_rate(run),
        since=turns[0].first,
    )


def _find_turns(levels: Sequence[Level], least: float) -> list[Level]:
    """The levels from which the curve went the other way by more than ``least`` and enough standard errors."""

    def are_apart(lower: Level, upper: Level) -> bool:
        return upper.mean - lower.mean > max(least, rules.SURE * math.hypot(lower.error, upper.error))

    turns: list[Level] = []
    low = high = levels[0]
    falls = rises = True  # whether it may go on so: at first nobody knows
    for level in levels[1:]:
        high = level if rises and level.mean > high.mean else high
        low = level if falls and level.mean < low.mean else low
        if rises and are_apart(level, high):
            turns.append(high)
            rises, falls, low = False, True, level
        elif falls and are_apart(low, level):
            turns.append(low)
            rises, falls, high = True, False, level
    return turns


def judge_spike(run: Recorded) -> Iterator[Finding]:
    """Single steps cost far more than others, and not by their gradient."""
    made = run.judged
    count = min(40, len(made) // 25)
    if not count:
        return
    made = made[len(made) % count :].reshape(count, -1)
    losses, norms = made["loss"].astype(np.float64), made["grad_norm"]
    middle = find_medians(losses)[:, None]
    progress = max(run.start - float(middle[-1, 0]), 0.0)
    least = np.maximum((rules.ABOVE - 1) * np.abs(middle), rules.OF_PROGRESS * progress)
    high = losses > middle + least
    if not high.any():
        return
    width = 1.4826 * find_medians(np.abs(losses - middle))[:, None]
    high = losses > middle + np.maximum(rules.HIGH * width, least)
    found = made["step"][high & (norms < 3 * np.median(norms, axis=1, keepdims=True))].tolist()
    if len(found) < rules.MANY:
        return
    squared = getattr(run.config.objective, "loss", "") == "mse"
    yield rules.SPIKE.find(
        "info",
        f"The loss of {len(found)} steps is far above that of the others, though their gradients are not larger: the first is step {found[0]:,}.",
        "Some samples are unlike the rest, or wrong; the Evaluate page lists those that cost the most.",
        evidence={"cause": "outliers", "spikes": len(found), "steps": found[:20]},
        fix={"objective.loss": "huber"} if squared else {},
        since=found[0],
    )


JUDGES = (judge_diverged, judge_flat, judge_plateau, judge_oscillates, judge_spike)
