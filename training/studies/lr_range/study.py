"""The test from its plan to the rate that is adopted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from pydantic import JsonValue

from training.config import RunConfig
from training.control import Command, send
from training.errors import InputError, TrainingError, format_duration, format_number, pluralize
from training.metric_names import is_known, metric, show_metric, title_of
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.statistics.intervals import Floats
from training.studies.lr_range.curve import RangeCurve, find_end, read_curve
from training.studies.lr_range.ramp import HIGHEST_RATE, Band, choose_band, make_ramp, rate_setting
from training.studies.lr_range.trials import make_trial
from training.studies.records import Cost, Draft, Options, Plan, PlannedRun, Result
from training.studies.seeds import read_count
from training.studies.trainer import Trainer

USUAL_STEPS, FEWEST_STEPS, MOST_STEPS = 200, 50, 5000
USUAL_TRIAL: Final = 200
USUAL_SEEDS: Final = 3
FACTORS: Final = (0.3, 1.0, 3.0)
_FURTHER: Final = 3
"""Trials more where the best of three lies at an end."""
_LOOK_SECONDS: Final = 0.25


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: ``steps`` of the ramp, ``seeds`` that it is replicated over, its ``band``, and ``trial_steps``."""
    seeds = read_count(options, USUAL_SEEDS, 1)
    steps = read_steps(options, "steps", USUAL_STEPS, FEWEST_STEPS)
    trial = min(read_steps(options, "trial_steps", USUAL_TRIAL, 1), cost.steps)
    band = choose_band(config, options.get("band"), steps)
    ramp = make_ramp(config, band)
    runs = [
        PlannedRun.of(f"ramp-{number}", ramp.model_copy(update={"seed": seed}).add_to_name(f"range test seed {seed}"))
        for number, seed in enumerate((config.seed + number) % 2**31 for number in range(seeds))
    ]
    trials = [cost.estimate(ramp, trial).repeat(times) for times in (len(FACTORS), len(FACTORS) + _FURTHER)]
    of_ramp = cost.estimate(ramp, steps).repeat(seeds)
    return Draft(
        runs=tuple(runs),
        seconds=of_ramp.seconds + trials[0].seconds,
        bytes=of_ramp.bytes + trials[1].bytes,
        words=(
            f"Learning rates from {band.low:g} to {band.high:g} in {pluralize(steps, 'step')}, each on {pluralize(seeds, 'seed')}; then "
            f"{len(FACTORS)} to {len(FACTORS) + _FURTHER} trials of {pluralize(trial, 'step')} at what is suggested and around it.",
            f"The test: {of_ramp.words}",
            f"The trials take {format_duration(trials[0].seconds)} to {format_duration(trials[1].seconds)} more.",
        ),
    )


def read_steps(options: Options, name: str, usual: int, least: int) -> int:
    """How many steps were asked for under that name. Raises InputError."""
    steps = options.get(name, usual)
    if not isinstance(steps, int) or not least <= steps <= MOST_STEPS:
        raise InputError(
            f"--{name.replace('_', '-')} {steps}: must be from {least} to {MOST_STEPS:,}, for example {usual}."
        )
    return steps


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Ramps, curve, trials."""
    config = plan.config
    steps = read_steps(plan.options, "steps", USUAL_STEPS, FEWEST_STEPS)
    band = choose_band(config, plan.options.get("band"), steps)
    trainer.expect(len(plan.runs) + len(FACTORS))
    runs = trainer.train(plan.runs, _is_over, _StopDiverged())
    curve = read_curve(band.rates(), [read_losses(run) for run in runs.values()])
    details: dict[str, JsonValue] = {"runs": {key: run.id for key, run in runs.items()}, **_describe_curve(curve, band)}
    if not curve.is_clear:
        return Result(
            kind="lr-range",
            sentence=_say_no_valley(curve),
            notes=("More steps, more seeds or larger batches make less noise.",),
            details=details,
            created=time.time(),
        )
    trainer.say(f"Suggested: {format_number(curve.valley, 2)}; it is tried out now.")
    trials = _Trials(plan, trainer, curve.valley)
    values = trials.run()
    name = config.monitor
    if not any(math.isfinite(value) for value in values.values()):
        raise TrainingError(
            f"None of the trials at {', '.join(f'{rate:.2g}' for rate in sorted(values))} came to finite numbers.",
            "Look at the runs of this study.",
        )
    best = trials.find_best(values)
    shown = ", ".join(f"{rate:.2g}: {_show(name, value)}" for rate, value in sorted(values.items()))
    spread = _say_spread(curve)
    sentence = (
        f"Learning rate {best:.2g}: the best of {len(values)} trials by {title_of(name.rpartition('/')[2])} ({shown})."
    )
    notes = [
        f"The valley of the range test suggested {curve.valley:.2g}{spread}; the steepest descent is at {curve.steepest:.2g}, a tenth of "
        f"the rate of the lowest loss is {curve.minimum:.2g}."
    ]
    if len(values) > 1 and best in (min(values), max(values)):
        notes.append(
            f"It is the {'lowest' if best == min(values) else 'highest'} that was tried, so a better one may lie beyond it."
        )
    details |= {
        "metric": name,
        "trials": [
            {"rate": rate, "value": value, "run": trials.runs[rate].id} for rate, value in sorted(values.items())
        ],
        "rate": best,
    }
    return Result(
        kind="lr-range",
        sentence=sentence,
        notes=tuple(notes),
        adopt={rate_setting(config): best},
        details=details,
        created=time.time(),
    )


def _show(name: str, value: float) -> str:
    return show_metric(name, value) if math.isfinite(value) else "diverged"


def _say_spread(curve: RangeCurve) -> str:
    if len(curve.valleys) < 2:
        return ""
    return f" ({min(curve.valleys):.2g} to {max(curve.valleys):.2g} by each of {len(curve.valleys)} seeds alone)"


def _say_no_valley(curve: RangeCurve) -> str:
    if len(curve.rates) < 2:
        return "No clear valley: the loss was no finite number from the first steps on."
    return (
        f"No clear valley: the loss fell by {format_number(curve.drop, 2)}, and the standard error of that is "
        f"{format_number(curve.error, 2)}; nothing follows from it."
    )


def read_losses(run: RunFolder) -> Floats:
    """Of each step that was made, NaN where its gradient was not finite."""
    rows = read_series(run.series_file)
    losses = rows["loss"].astype(np.float64)
    losses[rows["skipped"].astype(bool)] = math.nan
    return losses


def _is_over(run: RunFolder) -> bool:
    """Whether the ramp has diverged: the rest of it would say nothing."""
    losses = read_losses(run)
    return find_end(losses) < len(losses)


class _StopDiverged:
    """Asks a ramp that has diverged to end."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, run: RunFolder) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _LOOK_SECONDS
        if run.status().status == "running" and _is_over(run):
            send(run.path, Command.STOP_NOW)


def _describe_curve(curve: RangeCurve, band: Band) -> dict[str, JsonValue]:
    return {
        "band": [band.low, band.high],
        "rates": curve.rates.tolist(),
        "losses": curve.median.tolist(),
        "smoothed": curve.smoothed.tolist(),
        "valley": curve.valley,
        "steepest": curve.steepest,
        "minimum": curve.minimum,
        "valleys": list(curve.valleys),
        "drop": curve.drop,
        "error": curve.error,
        "clear": curve.is_clear,
    }


class _Trials:
    """Around the suggestion, and one further out while the best lies at an end."""

    def __init__(self, plan: Plan, trainer: Trainer, suggested: float) -> None:
        self._plan, self._trainer, self._suggested = plan, trainer, suggested
        self.runs: dict[float, RunFolder] = {}

    def run(self) -> Mapping[float, float]:
        """The monitored metric at the end of each, by its rate; NaN where it diverged."""
        values = self._train(FACTORS)
        for _ in range(_FURTHER):
            best = self.find_best(values)
            factor = best / self._suggested
            further = factor / 3.0 if best == min(values) else factor * 3.0 if best == max(values) else None
            if further is None or self._suggested * further > HIGHEST_RATE:
                break
            values |= self._train((further,))
        return values

    def _train(self, factors: Sequence[float]) -> dict[float, float]:
        plan, config, cost = self._plan, self._plan.config, self._plan.cost
        assert cost is not None
        steps = read_steps(plan.options, "trial_steps", USUAL_TRIAL, 1)
        planned = {}
        for factor in factors:
            rate = float(f"{min(self._suggested * factor, HIGHEST_RATE):.2g}")
            trial = make_trial(config, rate, steps, cost.steps, cost.steps_per_epoch)
            planned[rate] = PlannedRun.of(f"trial-{rate:g}", trial.add_to_name(f"lr {rate:g}"))
        runs = self._trainer.train(planned.values(), _has_failed_by_numbers)
        self.runs |= {rate: runs[each.key] for rate, each in planned.items()}
        return {rate: self._measure(self.runs[rate]) for rate in planned}

    def _measure(self, run: RunFolder) -> float:
        if run.status().status != "completed":
            return math.nan
        return run.status().metrics.get(self._plan.config.monitor, math.nan)

    def find_best(self, values: Mapping[float, float]) -> float:
        """The rate of the best metric; of equal ones that of the lowest validation loss."""
        name = self._plan.config.monitor
        sign = -1.0 if is_known(name) and metric(name).maximize else 1.0

        def order(rate: float) -> tuple[float, float]:
            loss = self.runs[rate].status().metrics.get("val/loss", math.inf)
            value = values[rate]
            return (sign * value if math.isfinite(value) else math.inf, loss if math.isfinite(loss) else math.inf)

        return min(values, key=order)


def _has_failed_by_numbers(run: RunFolder) -> bool:
    """A trial at too high a rate is an answer, too."""
    return run.status().status == "failed" and _has_bad_end(read_losses(run))


def _has_bad_end(losses: Floats) -> bool:
    return bool(len(losses)) and not math.isfinite(losses[-1])
