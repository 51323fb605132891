"""What the looks at the engine tell: waiting for data, throughput, memory, and fp16's scale.

Nothing here is a warning that a busy machine could bring about by itself, and nothing is said of the first minutes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from training.diagnosis.brakes import find_brake
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings.machine import (
    FALLS,
    FALLS_ON,
    FIRST_SCALE,
    FP16_SCALE,
    GREW,
    GREW_LATELY,
    GREW_MB,
    GROWS,
    LEAST_SECONDS,
    RISES,
    SCALE_GROWTH,
    SCALE_SKIPS,
    SCALE_STEPS,
    SLOWED,
    SLOWS,
    THROTTLED,
    THROTTLED_NOTE,
    THROTTLED_SECONDS,
    THROTTLED_WARNING,
    WAITED_SECONDS,
    WAITS,
    WAITS_NOTE,
    WAITS_WARNING,
)
from training.runs.records.series import Rows
from training.statistics.ranks import rank_correlation

STRETCHES, QUARTER = 20, 5
_RECENT = 1 << 14
"""Rows that ``TelemetryWriter`` never thins: half an hour of them."""
_FIRST_SKIPS = 100
_LONGEST_GAP = 10.0
"""Times the usual time between two rows: what is longer was a pause, a validation or a resume."""


def judge_waits(run: Recorded) -> Iterator[Finding]:
    """Steps wait for their data."""
    share, total = _share_of_late(run, "wait_share")
    if share <= WAITS_NOTE or total < WAITED_SECONDS:
        return
    cause, advice, fix = find_brake(run.config.loader)
    yield WAITS.find(
        "warning" if share > WAITS_WARNING else "info",
        f"Steps wait for their data in {share:.0%} of the time{cause}.",
        advice,
        evidence={"share": share, "waited_seconds": total},
        fix=fix,
    )


def judge_throttled(run: Recorded) -> Iterator[Finding]:
    """The GPU is slower than it could be."""
    share, total = _share_of_late(run, "gpu_throttled")
    if share <= THROTTLED_NOTE or total < THROTTLED_SECONDS:
        return
    yield THROTTLED.find(
        "warning" if share > THROTTLED_WARNING else "info",
        f"The GPU holds its clock down in {share:.0%} of the time, for heat or for its power supply: steps take longer than they need to.",
        "Clean its fans and look at the air around it, or at its power cables; nvidia-smi -q -d PERFORMANCE names the reason.",
        evidence={"share": share, "seconds": total},
    )


def _share_of_late(run: Recorded, column: str) -> tuple[float, float]:
    """Of the last half hour: the share of the time that a column tells (of its halves the lower), and how many seconds in all."""
    rows = _skip_warmup(run)[-_RECENT:]
    if len(rows) < 2 * STRETCHES:
        return 0.0, 0.0
    seconds = _seconds(rows)
    spent = seconds * np.nan_to_num(rows[column].astype(np.float64))
    half = len(rows) // 2
    shares = [spent[part].sum() / seconds[part].sum() for part in (slice(half), slice(half, None))]
    return float(min(shares)), float(spent.sum())


def judge_slows(run: Recorded) -> Iterator[Finding]:
    """Throughput falls as the run goes on."""
    values = _stretch(run, "samples_per_second")
    if values is None or not (values > 0).all():
        return
    quarters = np.median(values.reshape(-1, QUARTER), axis=1)
    first, last = quarters[0], quarters[-1]
    falls = not (quarters[1:] > FALLS_ON * quarters[:-1]).any() and _correlate_with_time(values) < FALLS
    if last >= SLOWED * first or not falls:
        return
    yield SLOWS.find(
        "info",
        f"The run became slower: {last:,.0f} samples per second, {first:,.0f} at first.",
        "Look for other programs, heat (a laptop on its battery), or a list that grows in code of your own.",
        evidence={"first": float(first), "last": float(last)},
    )


def judge_memory(run: Recorded) -> Iterator[Finding]:
    """Memory rises and goes on rising."""
    values = _stretch(run, "memory_mb")
    if values is None:
        return
    first, third, last = (np.median(values[at : at + QUARTER]) for at in (0, 2 * QUARTER, 3 * QUARTER))
    if last < max(GREW * first, first + GREW_MB, GREW_LATELY * third) or _correlate_with_time(values) < RISES:
        return
    yield GROWS.find(
        "info",
        f"The run takes more and more memory: {last:,.0f} MB, {first:,.0f} MB at first.",
        "Something keeps what it no longer needs, as a list of losses that were not detached (loss.item()) in code of your own.",
        evidence={"first_mb": float(first), "last_mb": float(last)},
    )


def judge_fp16(run: Recorded) -> Iterator[Finding]:
    """fp16 skips too many steps."""
    if run.config.precision.compute != "fp16":
        return
    skipped = run.steps["skipped"] != 0
    recent = skipped[_FIRST_SKIPS:][-SCALE_STEPS:]
    count, scale = int(recent.sum()), follow_scale(np.flatnonzero(skipped), len(skipped))
    if scale >= 1 and (count < 3 or count <= SCALE_SKIPS * len(recent)):
        return
    yield FP16_SCALE.find(
        "warning",
        f"fp16 does not hold the gradients: {count:,} of the last {len(recent):,} steps were skipped, and the scale of the loss is {scale:.3g}.",
        "Compute in bf16, which has the range of fp32.",
        evidence={"skipped": count, "of": len(recent), "scale": scale},
        fix={"precision.compute": "bf16"},
    )


def follow_scale(skips: NDArray[np.int64], steps: int) -> float:
    """The scale of torch's GradScaler after ``steps`` steps, of which those at ``skips`` (from 0) were skipped."""
    runs = np.diff(np.r_[-1, skips, steps]) - 1  # steps without a skip before, between and behind
    return float(FIRST_SCALE * 2.0 ** float((runs // SCALE_GROWTH).sum() - len(skips)))


def _skip_warmup(run: Recorded) -> Rows:
    """The rows behind warm-up."""
    rows = run.telemetry
    if rows is None:
        return np.empty(0, [("step", "<i8")])
    return rows[np.searchsorted(rows["step"], run.warmup) :]


def _seconds(rows: Rows) -> NDArray[np.float64]:
    """Of training that each row tells of."""
    gaps = np.maximum(np.diff(rows["time"], prepend=rows["time"][:1]), 0.0)
    usual = float(np.median(gaps[1:])) if len(gaps) > 1 else 0.0
    return np.minimum(gaps, _LONGEST_GAP * usual)


def _stretch(run: Recorded, column: str) -> NDArray[np.float64] | None:
    """The median of a column in each of STRETCHES equal parts of the rows; None where there is too little to judge."""
    rows = _skip_warmup(run)
    if len(rows) < 4 * STRETCHES or _seconds(rows).sum() < LEAST_SECONDS:
        return None
    parts = np.array_split(rows[column].astype(np.float64), STRETCHES)
    values = np.array([np.median(part) for part in parts])
    return values if np.isfinite(values).all() else None


def _correlate_with_time(values: NDArray[np.float64]) -> float:
    """By ranks. Many equal values tell neither of rising nor of falling."""
    if len(np.unique(values)) < len(values) // 2:
        return 0.0
    return rank_correlation(np.arange(len(values)), values)


JUDGES = (judge_waits, judge_throttled, judge_slows, judge_memory, judge_fp16)
