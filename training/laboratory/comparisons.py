"""What the references suggest to try next, measured over five seeds (``lab --compare``): weight decay on biases, BF16 beside FP16."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import torch

from training.config import RunConfig
from training.laboratory.expected_time import describe_instructions, has_instructions
from training.laboratory.measure import Figures
from training.laboratory.plan import step_config
from training.laboratory.steps import STEPS

SEEDS = tuple(range(5))
_T = 2.776  # Student's t, two-sided 95 %, with four degrees of freedom: five pairs


@dataclass(frozen=True)
class Comparison:
    """A step of the laboratory in two ways, the first of which is what is usual; ``preset`` is the step's."""

    key: str
    title: str
    step: str
    labels: tuple[str, str]
    settings: tuple[str, str]
    computes: tuple[str, ...] = ()  # what the device has to have instructions for


COMPARISONS: tuple[Comparison, ...] = (
    Comparison(
        "decay",
        "Weight decay on biases and norms",
        "baseline",
        ("without (the default)", "with"),
        ("optimizer.decay_bias_and_norm=false", "optimizer.decay_bias_and_norm=true"),
    ),
    Comparison(
        "halves",
        "BF16 beside FP16",
        "accumulation",
        ("BF16", "FP16 with a gradient scaler"),
        ("precision.compute=bf16", "precision.compute=fp16"),
        computes=("bf16", "fp16"),
    ),
)


@dataclass(frozen=True)
class Compared:
    """One comparison on the page: ``told`` is what was measured, or why nothing was."""

    title: str
    told: str


def explain_omission(comparison: Comparison, device_type: str) -> str:
    """Why this device cannot show the difference; "" where it can."""
    if device_type == "cpu":
        missing = [compute for compute in comparison.computes if not has_instructions(compute)]
    elif device_type == "cuda":
        missing = [compute for compute in comparison.computes if compute == "bf16" and not _gpu_has_bf16()]
    else:
        missing = list(comparison.computes)
    if not missing:
        return ""
    why = describe_instructions(missing[0]) if device_type == "cpu" else f"This device has no {missing[0].upper()}."
    return f"Not run here. {why} It takes an NVIDIA GPU of 2020 or later, or a processor with both."


def _gpu_has_bf16() -> bool:
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def plan_runs(comparison: Comparison, settings: Sequence[str]) -> dict[str, RunConfig]:
    """Each run by its name in ``laboratory.json``; ``settings`` are those of all steps."""
    step = next(step for step in STEPS if step.key == comparison.step)
    return {
        f"{comparison.key}-{way}-{seed}": step_config(
            step, [*settings, setting, f"seed={seed}", f"name=lab {comparison.key} {way} seed {seed}"]
        )
        for seed in SEEDS
        for way, setting in enumerate(comparison.settings)
    }


def compare_ways(comparison: Comparison, figures: Mapping[str, Figures]) -> Compared:
    """What the runs came to, the difference with its interval by pairs of seeds, and whether it is more than noise."""
    ways = [
        [
            figures[key]
            for seed in SEEDS
            if (key := f"{comparison.key}-{way}-{seed}") in figures and math.isfinite(figures[key].val_accuracy)
        ]
        for way in range(2)
    ]
    if any(len(way) < len(SEEDS) for way in ways):
        done = sum(len(way) for way in ways)
        return Compared(
            comparison.title,
            f"Only {done} of {2 * len(SEEDS)} runs ended with a validation accuracy; nothing is said of them.",
        )
    accuracies = [[100 * each.val_accuracy for each in way] for way in ways]
    parts = [
        f"{label} {mean(values):.2f} % (std {stdev(values):.2f}, {mean(each.samples_per_second for each in way):,.0f} samples/s)"
        for label, values, way in zip(comparison.labels, accuracies, ways, strict=True)
    ]
    apart = [other - one for one, other in zip(*accuracies, strict=True)]
    reach = _T * stdev(apart) / math.sqrt(len(apart))
    noise = abs(mean(apart)) <= reach
    verdict = "That is within noise: nothing follows from it." if noise else "That is more than noise."
    return Compared(
        comparison.title,
        f"Final validation accuracy over {len(SEEDS)} seeds: {', '.join(parts)}. The difference by pairs of seeds is "
        f"{mean(apart):+.2f} ± {reach:.2f} points (95 % interval). {verdict}",
    )
