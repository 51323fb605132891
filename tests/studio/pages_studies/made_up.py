"""Sweeps whose trials were told, and never trained: what the window shows does not ask where values came from."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from tests.training.sweeps.in_process import make_sweep
from training.sweeps.folder import Budget, Sweep
from training.sweeps.trials import Trials

FAILED = 5
VALIDATIONS = 8


def tell_sweep(workspace: Path, count: int, more: int = 4, **asked: Any) -> Sweep:
    """``count`` trials of a loss that is least near a rate of 0.005, judged as a worker does; one of them failed."""
    sweep = make_sweep(workspace, budget=Budget(trials=count + more), **asked)
    trials, base, noise = Trials(sweep), sweep.base(), random.Random(1)
    for number in range(count):
        trial = trials.create()
        tried = trials.propose(trial, base)
        worse = abs(math.log10(float(tried["optimizer.lr"])) + 2.3) / 5 + float(tried.get("model.dropout", 0.0)) / 3
        if number == FAILED:
            trials.end(number, "failed", None, {"reason": "the run failed"})
            continue
        value, pruned = math.nan, False
        for step in range(1, VALIDATIONS + 1):
            value = worse + math.exp(-step / 3) + 0.03 * noise.random()
            pruned = trials.judge(trial, step, value)
            if pruned:
                break
        trials.end(number, "pruned" if pruned else "complete", None if pruned else value, {"seconds": 60.0})
    return sweep
