"""How often a watch may look, by what it costs and what a step does."""

from __future__ import annotations

import math

from torch import nn

from training.facts import DataFacts
from training.models.flops import step_flops

LEAST_INTERVAL, MOST_ROWS = 10, 5000

SECONDS_PER_FLOP = 1.1e-11


SHARE, MOST_SHARE = 0.003, 0.006
"""Of a step's time, that records may take on average; the latter where a short run would have fewer of them than these:"""
LEAST_ROWS = 20


def choose_interval(model: nn.Module, facts: DataFacts, samples: int, total_steps: int, record: float) -> int:
    """Steps between two records that take ``record`` seconds each, in a run of ``total_steps`` steps of ``samples``.

    By what is computed, not by a clock, so that a run records the same steps wherever it is made. Seconds are a CPU core's, as
    measured on the spiral, MNIST's network and a GPT (``tests/benchmarks/live_checks``): what calls take, what an optimizer takes to
    read or write each weight 12 times, and to compute."""
    tensors, weights = len(list(model.parameters())), sum(parameter.numel() for parameter in model.parameters())
    most = record / SHARE
    step = 1e-4 + 8e-6 * tensors + 12 * 0.3e-9 * weights
    enough = max(most / LEAST_INTERVAL - step, 0.0) / SECONDS_PER_FLOP
    step += step_flops(model, facts, samples, enough) * SECONDS_PER_FLOP
    wanted = max(math.ceil(record / MOST_SHARE / step), min(math.ceil(most / step), total_steps // LEAST_ROWS))
    return max(LEAST_INTERVAL, wanted, math.ceil(total_steps / MOST_ROWS))
