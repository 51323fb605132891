"""The test from its plan to the rate that is adopted."""

from __future__ import annotations

import math
import time
from typing import Final

from pydantic import JsonValue

from training.config import RunConfig
from training.control import Command, send
from training.errors import InputError, TrainingError, format_duration, format_number, pluralize
from training.metric_names import show_metric, title_of
from training.runs.folder import RunFolder
from training.studies.lr_range.curve import RangeCurve, find_end, read_curve
from training.studies.lr_range.ramp import (
    Band,
    choose_band,
    look_closer,
    make_ramp,
    rate_setting,
    read_losses,
)
from training.studies.lr_range.trials import FACTORS, FURTHER, Trials
from training.studies.records import Cost, Draft, Options, Plan, PlannedRun, Result
from training.studies.seeds import read_count
from training.studies.spread import describe_effect
from training.studies.trainer import Trainer

USUAL_STEPS, FEWEST_STEPS, MOST_STEPS = 200, 50, 5000
USUAL_TRIAL: Final = 200
USUAL_SEEDS: Final = 3
_LOOK_SECONDS: Final = 0.25


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: ``steps`` of the ramp, ``seeds`` that it is replicated over, its ``band``, and ``trial_steps``."""
    seeds = read_count(options, USUAL_SEEDS, 1)
    steps = read_steps(options, "steps", USUAL_STEPS, FEWEST_STEPS)
    trial = min(read_steps(options, "trial_steps", USUAL_TRIAL, 1), cost.steps)
    band = choose_band(config, options.get("band"), steps)
    ramp = make_ramp(config, band)
    fewest = len(FACTORS) + 2 * (seeds - 1)
    trials = [cost.estimate(ramp, trial).repeat(times) for times in (fewest, fewest + FURTHER)]
    of_ramp = cost.estimate(ramp, steps).repeat(seeds)
    return Draft(
        runs=tuple(_plan_ramps(config, band, seeds, "ramp", "range test")),
        seconds=of_ramp.seconds + trials[0].seconds,
        bytes=3 * of_ramp.bytes + trials[1].bytes,
        words=(
            f"Learning rates from {band.low:g} to {band.high:g} in {pluralize(steps, 'step')}, {'each ' * (seeds > 1)}on {pluralize(seeds, 'seed')}; then "
            f"{fewest} to {fewest + FURTHER} trials of {pluralize(trial, 'step')} at what is suggested and around it.",
            f"The test: {of_ramp.words} Where it shows no fall, it looks closer at the upper rates, in twice the steps.",
            f"The trials take {format_duration(trials[0].seconds)} to {format_duration(trials[1].seconds)} more.",
        ),
    )


def _plan_ramps(config: RunConfig, band: Band, seeds: int, key: str, title: str) -> list[PlannedRun]:
    ramp = make_ramp(config, band)
    return [
        PlannedRun.of(f"{key}-{number}", ramp.model_copy(update={"seed": seed}).add_to_name(f"{title} seed {seed}"))
        for number, seed in enumerate((config.seed + number) % 2**31 for number in range(seeds))
    ]


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
    trainer.expect(len(plan.runs) + len(FACTORS) + 2 * (len(plan.runs) - 1))
    runs = dict(trainer.train(plan.runs, _is_over, _StopDiverged()))
    curve = read_curve(band.rates(), [read_losses(run) for run in runs.values()])
    upper = None if curve.is_clear else look_closer(band, curve)
    if upper is not None:
        trainer.say("The loss fell by no more than chance; once more over the upper rates, in twice the steps.")
        band = upper
        closer = trainer.train(
            _plan_ramps(config, band, len(runs), "closer", "closer range test"), _is_over, _StopDiverged()
        )
        runs |= closer
        curve = read_curve(band.rates(), [read_losses(run) for run in closer.values()])
    details: dict[str, JsonValue] = {"runs": {key: run.id for key, run in runs.items()}, **_describe_curve(curve, band)}
    if not curve.is_clear:
        return Result(
            kind="lr-range",
            sentence=_say_no_valley(curve),
            notes=("More steps, more seeds or larger batches make less noise.",),
            details=details,
            created=time.time(),
        )
    trainer.say(f"Suggested: {format_number(curve.start, 2)}; it is tried out now.")
    trials = Trials(plan, trainer, read_steps(plan.options, "trial_steps", USUAL_TRIAL * band.steps // steps, 1))
    trials.search(curve.start)
    rates, name = trials.rates, config.monitor
    if trials.find_best() is None:
        raise TrainingError(
            f"None of the trials at {', '.join(f'{rate:.2g}' for rate in rates)} came to finite numbers.",
            "Look at the runs of this study.",
        )
    best, other = trials.decide(len(plan.runs))
    shown = ", ".join(f"{rate:.2g}: {_show(name, trials.mean(rate))}" for rate in rates)
    spread = _say_spread(curve)
    sentence = f"Learning rate {best:.2g}, by short trials at {pluralize(len(rates), 'rate')} ({title_of(name.rpartition('/')[2])} at their end: {shown})."
    notes = _compare(trials, name, best, other)
    notes += [
        f"In the range test the valley is at {curve.valley:.2g}{spread}, the steepest descent at {curve.steepest:.2g}, a tenth of the rate "
        f"of the lowest loss at {curve.minimum:.2g}; tried first was {curve.start:.2g}, half-way from the valley to the lowest loss."
    ]
    if best in (rates[0], rates[-1]):
        notes.append(
            f"It is the {'lowest' if best == rates[0] else 'highest'} that was tried, so a better one may lie beyond it."
        )
    details |= {
        "metric": name,
        "trials": [
            {
                "rate": rate,
                "value": trials.mean(rate),
                "values": list(trials.values(rate)),
                "run": trials.runs[rate][0].id,
                "runs": [run.id for run in trials.runs[rate]],
            }
            for rate in rates
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


def _compare(trials: Trials, name: str, best: float, other: float | None) -> list[str]:
    """What tells the proposed rate from the next one."""
    if other is None:
        return []
    effect = trials.compare(other, best)
    if effect is None:
        if math.isfinite(trials.mean(best)):
            return [f"On another seed {other:.2g} diverged."]
        if math.isfinite(trials.mean(other)):
            return [f"On another seed {best:.2g} diverged."]
        return [f"On other seeds both {best:.2g} and {other:.2g} diverged: neither holds, and a lower rate is safer."]
    told = f"Over {len(trials.values(best))} seeds {best:.2g} beside {other:.2g} is {describe_effect(name, effect)}."
    return [
        f"{told} The lower is taken: a long run wants a lower rate than a short one." if effect.better is None else told
    ]


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


def _is_over(run: RunFolder) -> bool:
    """Whether the ramp has diverged: the rest of it would say nothing."""
    losses = read_losses(run)
    return find_end(losses, run.config().loop.max_steps or len(losses)) < len(losses)


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
        "falls": list(curve.falls),
        "error": curve.error,
        "clear": curve.is_clear,
    }
