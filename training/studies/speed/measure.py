"""Two configurations beside each other, turn by turn, so that what else runs on the machine slows both alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from training.config import RunConfig
from training.config.files import config_data
from training.errors import TrainingError
from training.statistics.intervals import Interval, mean_interval
from training.studies.trainer import Trainer
from training.studies.worker import Answer, Worker

ROUNDS: Final = 8
SECONDS: Final = 1.0


class Ratio(NamedTuple):
    """How many times as fast the second is, with its interval; ``rates`` are the samples per second of both."""

    interval: Interval
    rates: tuple[float, float]

    @property
    def is_faster(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.interval.low > 1.0


def measure_pair(
    trainer: Trainer, first: RunConfig, second: RunConfig, seconds: float, fused: bool = True
) -> dict[str, Any]:
    """``ROUNDS`` turns of both, ABBA: samples per second of each turn, the losses of the first steps, and how batches come. ``refused`` says why the second
    cannot run. ``fused`` False: the first without a fused optimizer."""
    with Worker(trainer.interrupt) as one, Worker(trainer.interrupt) as other:
        form = {} if fused else {"fused": False}
        opened = one.ask("open-steps", arm="A", settings=config_data(first), **form)
        try:
            beside = other.ask("open-steps", arm="B", settings=config_data(second))
        except TrainingError as error:
            return {"refused": str(error).splitlines()[0].strip()}
        turns: tuple[list[float], list[float]] = ([], [])
        for number in range(ROUNDS):
            order = ((one, "A", 0), (other, "B", 1))
            for worker, arm, place in order if number % 2 == 0 else order[::-1]:
                turns[place].append(_rate(worker.ask("time-steps", arm=arm, seconds=seconds)))
        one.ask("close-steps", arm="A")
        other.ask("close-steps", arm="B")
    return {
        "rates": turns,
        "losses": [opened["losses"], beside["losses"]],
        "modes": [opened["mode"], beside["mode"]],
        "start": beside["seconds"],
    }


def _rate(timed: Answer) -> float:
    return float(timed["samples"] / timed["seconds"])


def read_ratio(measured: Mapping[str, Any], level: float) -> Ratio:
    """By the logarithms of the turns' ratios, with Student's interval at ``level``."""
    first, second = measured["rates"]
    logs = [math.log(other / one) for one, other in zip(first, second, strict=True)]
    found = mean_interval(len(logs), math.fsum(logs), math.fsum(each * each for each in logs), level)
    return Ratio(Interval(*map(math.exp, found)), (_mean(first), _mean(second)))


def compare_losses(losses: Sequence[Sequence[float]]) -> float:
    """By how much the losses of the first steps differ at most, relative to the first one's; 0 where they are the same to the bit."""
    first, second = losses
    apart = [abs(other - one) / max(abs(one), 1e-12) for one, other in zip(first, second, strict=False) if one != other]
    return max(apart, default=0.0)


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)
