"""Two configurations beside each other, in pairs of processes that take turns: what else runs on the machine slows both alike, and by how much
the factor of one pair differs from that of another tells what chance does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean, median
from typing import Any, Final, NamedTuple

from training.config import RunConfig
from training.config.files import config_data
from training.errors import TrainingError
from training.statistics.intervals import Interval, mean_interval
from training.studies.trainer import Trainer
from training.studies.worker import Answer, Worker

PAIRS: Final = 6
"""Of processes. One process may stay slower than another of the very same configuration for as long as it lives (where its memory lies, on which
cores its threads run), so that turns of one pair, however many, say less than their own scatter suggests."""
TURNS: Final = 3
"""Of each process."""
SECONDS: Final = 0.5
"""Of a turn, at least."""


class Ratio(NamedTuple):
    """How many times as fast the second is, with its interval; ``rates`` are the samples per second of both."""

    interval: Interval
    rates: tuple[float, float]

    @property
    def is_faster(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.interval.low > 1.0


def estimate_seconds(start: float, step: float, between: float) -> float:
    """About what ``measure_pair`` takes, of processes that take ``start`` seconds until their first step, ``step`` for each, and ``between`` two for
    validation on average, which does not count."""
    return PAIRS * (start + (1.0 + between / step) * (6 * step + 2 * TURNS * 1.25 * max(SECONDS, 3 * step)))


def measure_pair(trainer: Trainer, first: RunConfig, second: RunConfig, fused: bool = True) -> dict[str, Any]:
    """``rates``: of both, for each pair of processes, samples per second of each turn; the losses of the first steps, how batches come, and the seconds until
    the first turn. ``refused`` says instead why the second cannot run. ``fused`` False: the first without a fused optimizer."""
    asked: list[dict[str, Any]] = [
        {"settings": config_data(first), **({} if fused else {"fused": False})},
        {"settings": config_data(second)},
    ]
    told: dict[str, Any] = {}
    rates: tuple[list[list[float]], list[list[float]]] = ([], [])
    for pair in range(PAIRS):
        at_once = 2 if pair else 1  # the first make caches for the others, and the second's start is told
        with Worker(trainer.interrupt) as one, Worker(trainer.interrupt) as other, ThreadPoolExecutor(at_once) as pool:
            arms = ((one, "A"), (other, "B"))
            opening = [
                pool.submit(worker.ask, "open-steps", arm=arm, **asked[place])
                for place, (worker, arm) in enumerate(arms)
            ]
            opened = opening[0].result()
            try:
                beside = opening[1].result()
            except TrainingError as error:
                one.ask("close-steps", arm="A")
                return {"refused": str(error).splitlines()[0].strip()}
            told = told or {
                "losses": [opened["losses"], beside["losses"]],
                "modes": [opened["mode"], beside["mode"]],
                "start": beside["seconds"],
            }
            turns: tuple[list[float], list[float]] = ([], [])
            for number in range(TURNS):
                for place in (0, 1) if number % 2 == 0 else (1, 0):
                    worker, arm = arms[place]
                    turns[place].append(_rate(worker.ask("time-steps", arm=arm, seconds=SECONDS)))
            for place, (worker, arm) in enumerate(arms):
                worker.ask("close-steps", arm=arm)
                rates[place].append(turns[place])
    return {"rates": rates, **told}


def _rate(timed: Answer) -> float:
    return float(timed["samples"] / timed["seconds"])


def read_ratio(measured: Mapping[str, Any], level: float) -> Ratio:
    """By the logarithms of the turns' ratios: the median of those of a pair of processes, since the machine may become slower between the two turns of one; and
    of the pairs the mean, with Student's interval at ``level``."""
    first, second = measured["rates"]
    logs = [
        median(math.log(other / one) for one, other in zip(ones, others, strict=True))
        for ones, others in zip(first, second, strict=True)
    ]
    found = mean_interval(len(logs), math.fsum(logs), math.fsum(each * each for each in logs), level)
    return Ratio(Interval(*map(math.exp, found)), (_mean(first), _mean(second)))


def compare_losses(losses: Sequence[Sequence[float]]) -> float:
    """By how much the losses of the first steps differ at most, relative to the first one's; 0 where they are the same to the bit."""
    first, second = losses
    apart = [abs(other - one) / max(abs(one), 1e-12) for one, other in zip(first, second, strict=False) if one != other]
    return max(apart, default=0.0)


def _mean(rates: Sequence[Sequence[float]]) -> float:
    return fmean(map(median, rates))
