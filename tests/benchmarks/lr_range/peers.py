"""What fastai and Lightning suggest of a range test's losses, by their own code; run by a Python that has both.

    PEERS/bin/python tests/benchmarks/lr_range/peers.py < curves.json

Curves are ``{"rates": [...], "losses": [...]}``, one for each replicate, the losses as they came. Both smooth them by a debiased
exponential average (0.98) and end at four times its best, before they look: that is done here as they do it while they train.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence


def smooth(losses: Sequence[float]) -> list[float]:
    """The averages until the end of the test."""
    average, best, smoothed = 0.0, math.inf, []
    for number, loss in enumerate(losses, 1):
        average = 0.98 * average + 0.02 * loss
        value = average / (1.0 - 0.98**number)
        if not math.isfinite(value):
            break
        best = min(best, value)
        smoothed.append(value)
        if value > 4.0 * best:
            break
    return smoothed


def ask_fastai(rates: Sequence[float], losses: Sequence[float], steps: int) -> float:
    """``Learner.lr_find`` leaves out the first tenth of the steps, and the last five."""
    from fastai.callback.schedule import valley

    kept = slice(steps // 10, -5)
    return float(valley(rates[: len(losses)][kept], losses[kept], steps)[0])


def ask_lightning(rates: Sequence[float], losses: Sequence[float], steps: int) -> float:
    """With the arguments that it has by itself."""
    from lightning.pytorch.tuner.lr_finder import _LRFinder

    finder = _LRFinder("exponential", rates[0], rates[-1], steps)
    finder.results = {"lr": list(rates[: len(losses)]), "loss": list(losses)}
    return float(finder.suggestion() or math.nan)


def main() -> None:
    """Answer ``{"fastai": [...], "lightning": [...]}``, a rate for each curve."""
    found: dict[str, list[float]] = {"fastai": [], "lightning": []}
    for curve in json.load(sys.stdin):
        losses = smooth(curve["losses"])
        for name, ask in (("fastai", ask_fastai), ("lightning", ask_lightning)):
            found[name].append(ask(curve["rates"], losses, len(curve["rates"])))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
