"""What a study has found so far, as its charts need it: from its result, or from the runs and measurements that are there. No Qt."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.errors import TrainingError
from training.metric_names import is_share
from training.runs.folder import RunFolder, make_slug
from training.statistics.intervals import LEVEL, Floats, Interval
from training.studies.ablation import find_settings
from training.studies.folder import StudyFolder
from training.studies.lr_range.curve import RangeCurve, find_end, read_curve
from training.studies.lr_range.ramp import choose_band, look_closer, read_losses
from training.studies.lr_range.study import FEWEST_STEPS, USUAL_STEPS, read_steps
from training.studies.records import Kind, Plan, Reached, Result
from training.studies.speed.candidates import FUSED
from training.studies.speed.measure import compare_losses, read_ratio
from training.studies.speed.study import choose_candidates, choose_level, read_only
from training.studies.spread import compare_pairs, measure_values

_TRIAL = re.compile(r"trial-([\d.]+(?:e[+-]\d+)?)(?:-\d+)?")
"""The key of a trial's run: its rate, and the number of its seed but the first."""
_FUSED = "Fused optimizer (in use)"


@dataclass(frozen=True)
class RangeFound:
    """``seeds`` are the losses of each replicate, over the first of the ``rates``; ``curve`` is what they say together, None before all are
    there. ``trials``: the monitored metric by rate, of each seed, NaN where it diverged."""

    rates: Floats
    seeds: Mapping[str, Floats]
    curve: RangeCurve | None
    trials: tuple[tuple[float, float], ...]
    metric: str
    best: float | None
    is_clear: bool = True


@dataclass(frozen=True)
class BatchFound:
    """``peaks``: bytes at the peak by size, ``limit`` those that there are; ``too_large`` sizes did not fit; ``rates``: samples per second."""

    peaks: Mapping[int, int]
    limit: int
    too_large: tuple[int, ...]
    rates: Mapping[int, float]
    knee: int | None
    scale: float | None


@dataclass(frozen=True)
class Factor:
    """How many times as fast the steps are with a setting; ``differs``: results may change with it, by what it is declared to do or by what was
    seen; ``was_seen``: the losses of the first steps did."""

    name: str
    ratio: Interval
    is_kept: bool
    differs: bool
    was_seen: bool = False

    @property
    def tells(self) -> bool:
        """Whether its interval leaves out 1."""
        return not self.ratio.low <= 1.0 <= self.ratio.high


@dataclass(frozen=True)
class SpeedFound:
    """``whole``: all that is kept, against the configuration as it was."""

    factors: tuple[Factor, ...]
    whole: Interval | None
    refused: tuple[str, ...] = ()
    never_run: tuple[str, ...] = ()


@dataclass(frozen=True)
class Values:
    """Values of one metric in runs that differ in seed or fold; the ``mean`` with its interval where there are two at least."""

    name: str
    values: tuple[float, ...]
    mean: Interval


@dataclass(frozen=True)
class SpreadFound:
    """``metric`` in the ways that are compared; ``whole`` is that of all out-of-fold answers together."""

    metric: str
    ways: tuple[Values, ...]
    whole: Interval | None = None


@dataclass(frozen=True)
class AblationFound:
    """What having each setting as it is brings, over having it at its default."""

    metric: str
    effects: tuple[tuple[str, Interval, bool | None], ...]  # (the setting at its default, difference, better)
    as_is: Values | None = None


Found = RangeFound | BatchFound | SpeedFound | SpreadFound | AblationFound


@dataclass(frozen=True)
class StudyReading:
    """All of a study that its detail shows."""

    study: StudyFolder
    plan: Plan
    result: Result | None
    reached: Reached
    runs: Mapping[str, RunFolder]
    found: Found | None
    problem: str = ""


def read_study(study: StudyFolder) -> StudyReading:
    """All of it. Raises InputError where its plan cannot be read."""
    plan, result, runs = study.plan(), study.result(), study.runs()
    problem = ""
    found: Found | None = None
    try:
        found = _READERS[plan.kind](study, plan, result, runs)
    except (TrainingError, OSError, KeyError, TypeError, ValueError) as error:  # files that somebody changed
        problem = f"What was found so far cannot be shown ({error})."
    return StudyReading(study, plan, result, study.read_reached(), runs, found, problem)


_Reader = Callable[[StudyFolder, Plan, Result | None, Mapping[str, RunFolder]], Found]


def _read_range(study: StudyFolder, plan: Plan, result: Result | None, runs: Mapping[str, RunFolder]) -> RangeFound:
    steps = read_steps(plan.options, "steps", USUAL_STEPS, FEWEST_STEPS)
    band = choose_band(plan.config, plan.options.get("band"), steps)
    ramps, closer = (_select(runs, prefix) for prefix in ("ramp-", "closer-"))
    if closer:  # the first look showed no fall
        band = look_closer(band, read_curve(band.rates(), list(map(read_losses, ramps)))) or band
    shown, rates = closer or ramps, band.rates()
    seeds = {}
    for run in shown:
        losses = read_losses(run)[: band.steps]
        seeds[f"Seed {run.config().seed}"] = losses[: find_end(losses, band.steps)]
    name = plan.config.monitor
    tried = {key: found[1] for key in runs if (found := _TRIAL.fullmatch(key))}
    trials = [
        (float(rate), runs[key].status().metrics.get(name, math.nan) if _is(runs[key], "completed") else math.nan)
        for key, rate in tried.items()
        if _is(runs[key], "completed", "failed")
    ]
    details: Mapping[str, Any] = result.details if result else {}
    curve = None
    if result is not None:
        curve = _recall_curve(details)
        told = details.get("trials", [])
        trials = [(float(each["rate"]), _number(value)) for each in told for value in each["values"]] or trials
    elif tried:
        curve = read_curve(rates, list(map(read_losses, shown)))
    best, is_clear = details.get("rate"), bool(details.get("clear", True))
    return RangeFound(rates, seeds, curve, tuple(sorted(trials)), name, best, is_clear)


def _select(runs: Mapping[str, RunFolder], prefix: str) -> list[RunFolder]:
    return [run for key, run in runs.items() if key.startswith(prefix)]


def _is(run: RunFolder, *states: str) -> bool:
    return run.status().status in states


def _recall_curve(details: Mapping[str, Any]) -> RangeCurve:
    return RangeCurve(
        rates=np.array(details["rates"], dtype=np.float64),
        median=np.array(details["losses"], dtype=np.float64),
        smoothed=np.array(details["smoothed"], dtype=np.float64),
        valley=_number(details["valley"]),
        steepest=_number(details["steepest"]),
        minimum=_number(details["minimum"]),
        valleys=tuple(map(_number, details["valleys"])),
        drop=_number(details["drop"]),
        falls=tuple(map(_number, details["falls"])),
        error=_number(details["error"]),
    )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _read_batch(study: StudyFolder, plan: Plan, result: Result | None, _runs: Mapping[str, RunFolder]) -> BatchFound:
    peaks: dict[int, int] = {}
    rates: dict[int, float] = {}
    too_large: list[int] = []
    limit = 0
    for key in study.parts():
        kind, _, size = key.partition("-")
        told: Mapping[str, Any] = study.read_part(key)
        if kind == "memory":
            limit = max(limit, told["limit"] or 0)
            if told["fits"]:
                peaks[int(size)] = int(told["peak"])
            else:
                too_large.append(int(size))
        elif kind == "speed":
            rates[int(size)] = float(told["rate"])
    scale: Any = study.read_part("noise").get("scale")
    knee: Any = result.details.get("knee") if result else None
    ordered = dict(sorted(peaks.items())), limit, tuple(sorted(too_large)), dict(sorted(rates.items()))
    return BatchFound(*ordered, knee, scale)


def _read_speed(study: StudyFolder, plan: Plan, result: Result | None, _runs: Mapping[str, RunFolder]) -> SpeedFound:
    opened: Mapping[str, Any] = study.read_part("as-is")
    if not opened:
        return SpeedFound((), None)
    details: Mapping[str, Any] = result.details if result else {}
    if result is not None:
        factors = [
            Factor(
                f"{each['setting']}={each['value']}",
                Interval(each["ratio"], each["low"], each["high"]),
                bool(each["kept"]),
                bool(each["changes_results"]),
                bool(each["losses_apart"]),
            )
            for each in details["tried"]
        ]
        fused = details.get("fused")
        if fused and "ratio" in fused:
            ratio = Interval(fused["ratio"], fused["low"], fused["high"])
            seen = bool(fused["losses_apart"])
            factors.append(Factor(_FUSED, ratio, False, seen, seen))
        never = [*details.get("never_run", [])]
        if fused and "never_run" in fused:
            never.append(f"fused optimizer ({fused['never_run']})")
        whole = Interval(details["ratio"], details["low"], details["high"]) if "ratio" in details else None
        return SpeedFound(tuple(factors), whole, tuple(details["refused"]), tuple(never))
    candidates = choose_candidates(plan.config, opened["device"], plan.options)
    level, factors, refused = choose_level(len(candidates)), [], []
    for each in candidates:
        measured: Mapping[str, Any] = study.read_part(make_slug(each.override))
        if "refused" in measured:
            refused.append(f"{each.override}: {measured['refused']}")
        elif measured:
            ratio_found = read_ratio(measured, level)
            seen = compare_losses(measured["losses"]) > 0.0
            differs = each.affects_result or seen
            factors.append(Factor(each.override, ratio_found.interval, ratio_found.is_faster, differs, seen))
    beside: Mapping[str, Any] = study.read_part(FUSED)
    if beside and "refused" not in beside:
        seen = compare_losses(beside["losses"]) > 0.0
        factors.append(Factor(_FUSED, read_ratio(beside, LEVEL).interval, False, seen, seen))
    return SpeedFound(tuple(factors), None, tuple(refused))


def read_values(runs: Mapping[str, RunFolder], name: str) -> dict[str, float]:
    """The metric of the last validation of those that are complete, by their keys."""
    found = {}
    for key, run in runs.items():
        record = run.status()
        value = record.metrics.get(name) if record.status == "completed" else None
        if value is not None and math.isfinite(value):
            found[key] = value
    return found


def describe_way(name: str, values: Sequence[float]) -> Values:
    """With the mean, and its interval where there are two at least; never beyond what a share can be."""
    mean = measure_values(values).mean if values else Interval(math.nan, math.nan, math.nan)
    return Values(name, tuple(values), mean)


def _within(metric: str, found: Values) -> Values:
    """Of few values Student's interval may pass what a share can be."""
    low, high = found.mean.low, found.mean.high
    if is_share(metric) and math.isfinite(low):
        low, high = max(low, 0.0), min(high, 1.0)
    return Values(found.name, found.values, Interval(found.mean.value, low, high))


def _read_seeds(study: StudyFolder, plan: Plan, result: Result | None, runs: Mapping[str, RunFolder]) -> SpreadFound:
    name, against = plan.config.monitor, plan.options.get("against")
    details: Mapping[str, Any] = result.details if result else {}
    known = {} if result else read_values(runs, name)
    usual = details["values"][name] if result else [each for key, each in known.items() if key.startswith("as-is")]
    other = (
        details.get("others", {}).get(name, []) if result else [v for k, v in known.items() if k.startswith("other")]
    )
    titles = ["As configured", f"With {', '.join(map(str, against))}" if isinstance(against, list) else ""]
    ways = [describe_way(title, values) for title, values in zip(titles, (usual, other), strict=True) if values]
    return SpreadFound(name, tuple(_within(name, each) for each in ways))


def _read_folds(study: StudyFolder, plan: Plan, result: Result | None, runs: Mapping[str, RunFolder]) -> SpreadFound:
    details: Mapping[str, Any] = result.details if result else {}
    name = str(details.get("metric", plan.config.monitor.removeprefix("val/")))
    judged: Mapping[str, Any] = study.read_part("judged")
    values = details["values"][name] if result else [each[name] for each in judged.get("each", []) if name in each]
    told = details.get("out_of_fold", judged.get("whole", {})).get(name)
    whole = Interval(*map(_number, (told["value"], told["low"], told["high"]))) if told else None
    ways = [_within(name, describe_way("Folds", values))] if values else []
    return SpreadFound(name, tuple(ways), whole)


def _read_ablation(
    study: StudyFolder, plan: Plan, result: Result | None, runs: Mapping[str, RunFolder]
) -> AblationFound:
    name = plan.config.monitor
    if result is not None:
        details: Mapping[str, Any] = result.details
        told = [
            (
                f"{each['path']}={each['default']}",
                Interval(*(_number(each[limit]) for limit in ("difference", "low", "high"))),
                each["better"],
            )
            for each in details["settings"]
        ]
        return AblationFound(name, tuple(told), _within(name, describe_way("As configured", details["values"])))
    known = read_values(runs, name)
    usual = {key.rpartition("-")[2]: value for key, value in known.items() if key.startswith("as-is-")}
    keys = dict.fromkeys(key.rpartition("-")[0] for key in known if not key.startswith("as-is-"))
    names = {each.key: each.override for each in find_settings(plan.config, read_only(plan.options))[0]}
    effects = []
    for key in keys:
        both = [seed for seed in usual if f"{key}-{seed}" in known]
        if both:
            effect = compare_pairs(name, [known[f"{key}-{seed}"] for seed in both], [usual[seed] for seed in both])
            effects.append((names.get(key, key), effect.difference, effect.better))
    ways = _within(name, describe_way("As configured", list(usual.values()))) if usual else None
    return AblationFound(name, tuple(effects), ways)


_READERS: Mapping[Kind, _Reader] = {
    "seeds": _read_seeds,
    "lr-range": _read_range,
    "cv": _read_folds,
    "ablation": _read_ablation,
    "batch": _read_batch,
    "speed": _read_speed,
}
