"""What the references ask of each step, judged by the figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from training.errors import pluralize
from training.laboratory.measure import Measured
from training.laboratory.sameness import Sameness
from training.laboratory.steps import CRASH_EPOCH, ROUGH_CLIPPED

_LONG = 1000
"""Steps of a run that clips rarely from its first epochs on. Of MNIST, 0 % in the last epoch were clipped in 190 steps of five
epochs, 4 % in 115; in the third epoch it was more than half."""

_ROUNDING = 1e-4  # how far two orders of adding up the same 128 samples may lie apart, relatively


@dataclass(frozen=True)
class Verdict:
    """Whether a step does what the references ask: ``asked`` is that, ``found`` the figures it was judged by."""

    met: bool
    asked: str
    found: str


def judge(key: str, all_measured: Mapping[str, Measured], sameness: Mapping[str, Sameness]) -> Verdict:
    """The verdict on step ``key``; ``sameness`` compares "checkpoints" with "amp" and "crash" with "checkpoints". That a run ended
    early is told with it."""
    verdict, figures = _judge(key, all_measured, sameness), all_measured[key].figures
    if figures.ended_early:
        verdict = replace(
            verdict, found=f"{verdict.found} The run ended early at step {figures.steps:,} ({figures.reason})."
        )
    return verdict


def _judge(key: str, all_measured: Mapping[str, Measured], sameness: Mapping[str, Sameness]) -> Verdict:
    mine = all_measured[key]
    if mine.figures.status != "completed":
        return Verdict(False, "The run completes.", f"It is {mine.figures.status}. {mine.figures.reason}".strip())
    if not mine.figures.as_announced:
        return Verdict(False, "The run makes the steps that it announced.", mine.figures.counts)
    if key in ("baseline", "clip"):
        return _baseline(mine) if key == "baseline" else _clip(mine)
    if key in ("checkpoints", "crash"):
        return (_checkpoints if key == "checkpoints" else _crash)(mine, sameness.get(key))
    criterion, before = {
        "one_cycle": (_one_cycle, "baseline"),
        "accumulation": (_accumulation, "clip"),
        "amp": (_amp, "accumulation"),
    }[key]
    return criterion(mine, all_measured.get(before))


def _describe_chance(mine: Measured) -> str:
    figures = mine.figures
    return (
        f"{figures.val_accuracy:.2%} of {pluralize(figures.validation_samples, 'validation sample')} after "
        f"{pluralize(len(figures.epoch_steps), 'epoch')}; always naming the commonest class gives {figures.commonest_class:.2%}."
    )


def _baseline(mine: Measured) -> Verdict:
    times = ", ".join(f"{seconds:.1f}" for seconds in mine.figures.epoch_seconds)
    return Verdict(
        mine.figures.learned and len(mine.figures.epoch_seconds) == len(mine.figures.epoch_steps),
        "The network learns, and its final validation accuracy and the time of each epoch are recorded.",
        f"{_describe_chance(mine)} Trained for {times} s.",
    )


def _one_cycle(mine: Measured, before: Measured | None) -> Verdict:
    rates = mine.rows["lr"]
    top = int(np.argmax(rates))
    hill = bool(
        0 < top < len(rates) - 1 and (np.diff(rates[: top + 1]) >= 0).all() and (np.diff(rates[top:]) <= 0).all()
    )
    found = f"From {rates[0]:.2g} up to {rates[top]:.2g} at step {top + 1:,} and down to {rates[-1]:.2g}."
    if before is not None:
        gain = 100 * (mine.figures.val_accuracy - before.figures.val_accuracy)
        found += f" Final accuracy {gain:+.2f} points against the baseline."
    return Verdict(hill, "The rate rises and then falls; the final accuracy is compared with the baseline's.", found)


def _clip(mine: Measured) -> Verdict:
    figures = mine.figures
    recorded = bool(np.isfinite(mine.rows["grad_norm"]).sum() >= len(mine.rows) - figures.skipped)
    rare = figures.clipped_steady < ROUGH_CLIPPED
    last = figures.steps - figures.steady_from + 1
    found = (
        f"{figures.clipped_steady:.2%} of the {pluralize(last, 'step')} of the last epoch, from step {figures.steady_from:,} on, "
        f"were clipped (asked for: fewer than {ROUGH_CLIPPED:.0%}), and {figures.clipped:.2%} of all {figures.steps:,} steps."
    )
    if not rare and figures.steps < _LONG:
        found += " The run is short, and gradients grow short late: a larger share of the data, or more epochs, helps."
    return Verdict(
        recorded and rare,
        f"The norm before clipping is recorded at every step, and fewer than {ROUGH_CLIPPED:.0%} of the steps in steady "
        "state are clipped.",
        found,
    )


def _accumulation(mine: Measured, before: Measured | None) -> Verdict:
    loop, figures = mine.config.loop, mine.figures
    epoch = mine.config.plan_epoch(figures.training_samples)
    once_a_window = figures.steps_per_epoch == epoch.steps
    found = f"{epoch.batches:,} batches of {loop.batch_size} and {figures.steps_per_epoch:,} steps an epoch."
    if before is None or not len(before.rows):
        return Verdict(False, "The loss of each batch is weighed to a quarter.", f"{found} There is no run to compare.")
    apart = max(_relative_difference(mine, before, "loss"), _relative_difference(mine, before, "grad_norm"))
    return Verdict(
        once_a_window and figures.announced_steps == before.figures.announced_steps and apart < _ROUNDING,
        f"One step after every {loop.accumulation} batches, and each batch's loss weighed so that the first step has the "
        "loss and the gradient of one large batch.",
        f"{found} Loss and gradient norm of the first step "
        + (f"differ from step 3's by {apart:.1g} of their size." if apart else "are those of step 3 to the bit."),
    )


def _relative_difference(mine: Measured, before: Measured, name: str) -> float:
    one, other = float(mine.rows[name][0]), float(before.rows[name][0])
    return abs(one - other) / max(abs(other), 1e-12)


def _amp(mine: Measured, before: Measured | None) -> Verdict:
    figures = mine.figures
    what = {"bf16": "bf16 autocast, no scaler needed", "fp16": "fp16 autocast with a gradient scaler"}.get(
        figures.compute, figures.compute
    )
    found = f"{what} on the {figures.device}: {figures.samples_per_second:,.0f} samples/s"
    if before is None:
        return Verdict(
            False,
            "The change in throughput is measured, of a network that learns.",
            f"{found}, but there is no run to compare.",
        )
    ratio = figures.samples_per_second / before.figures.samples_per_second
    points = 100 * (figures.val_accuracy - before.figures.val_accuracy)
    found += f", {ratio:.2f} times those of fp32; final accuracy {points:+.2f} points."
    if figures.device_type == "cpu":
        found += (
            " Processors gain where they have instructions for bf16 (AVX512-BF16, AMX); others imitate it and are slower,"
            " and small layers lose by converting."
        )
    if not figures.learned:
        found += f" It did not learn: {_describe_chance(mine)}"
    return Verdict(
        figures.learned and math.isfinite(ratio),
        "The change in throughput is measured, of a network that learns.",
        found,
    )


def _checkpoints(mine: Measured, same: Sameness | None) -> Verdict:
    every = mine.config.checkpoints.every_steps or 0
    due = set(range(every, mine.figures.steps + 1, every)) if every else set()
    saved = due & set(mine.figures.saved_steps)
    labels = {label for info in mine.checkpoints for label in info.labels}
    found = f"{len(saved)} of the {len(due)} checkpoints due every {every} steps were written"
    found += f"; {'both labels, last and best' if {'last', 'best'} <= labels else 'a label is missing'}."
    if not due:
        found = f"The run has only {mine.figures.steps:,} steps, fewer than {every}; take a larger share of the data."
    found += f" {same.sentence}" if same else " There is no run to compare."
    return Verdict(
        bool(due) and saved == due and {"last", "best"} <= labels and same is not None and same.whole,
        f"Every {every} steps, and at each new best, a checkpoint that appears whole, with model, optimizer, scaler, "
        "position and random state.",
        found,
    )


def _crash(mine: Measured, same: Sameness | None) -> Verdict:
    asked = (
        f"Killed in epoch {CRASH_EPOCH}, the run goes on at the step after its last checkpoint, and the curve of both "
        "processes is one."
    )
    if same is None or same.kill is None:
        help_it = "let it train longer" if mine.figures.ended_early else "take a larger share of the data"
        return Verdict(False, asked, f"The run was too short to be killed in time; {help_it}.")
    resumed = mine.figures.resumed_at
    where = f"Killed with at least {same.kill.step:,} steps done, resumed at step {resumed[-1]:,}." if resumed else ""
    return Verdict(bool(resumed) and same.curve and same.weights, asked, f"{where} {same.sentence}".strip())
