"""How often a watch may look, by what it costs and what a step does."""

from __future__ import annotations

import math

from torch import nn

from training.facts import DataFacts
from training.models.flops import step_flops

LEAST_INTERVAL, MOST_ROWS = 10, 5000

SECONDS_PER_FLOP = 2e-11


def choose_interval(
    model: nn.Module, facts: DataFacts, samples: int, total_steps: int, record: float, share: float
) -> int:
    """Steps between two records that take ``record`` seconds each and may take ``share`` of the time of steps of ``samples``, in a run
    of ``total_steps``.

    By what is computed, not by a clock, so that a run records the same steps wherever it is made. Seconds are a CPU core's, as
    measured on the spiral, MNIST's network and a GPT (``tests/benchmarks/live_checks``): what calls take, what an optimizer takes to
    read or write each weight 12 times, and to compute."""
    tensors, weights = len(list(model.parameters())), sum(parameter.numel() for parameter in model.parameters())
    step = 2e-4 + 20e-6 * tensors + 12 * 0.3e-9 * weights
    enough = max(record / share / LEAST_INTERVAL - step, 0.0) / SECONDS_PER_FLOP
    step += step_flops(model, facts, samples, enough) * SECONDS_PER_FLOP
    return max(LEAST_INTERVAL, math.ceil(record / share / step), math.ceil(total_steps / MOST_ROWS))
