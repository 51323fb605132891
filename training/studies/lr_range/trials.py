"""Short runs at several rates, over the whole of the run's own schedule: what the test suggests is only true if they say so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from training.config import RunConfig
from training.config.sections.schedule import Cadence, Exponential, ScheduleSection
from training.core.durations import count_duration
from training.metric_names import is_known, metric
from training.runs.folder import RunFolder
from training.studies.lr_range.ramp import HIGHEST_RATE, make_short, read_losses, with_rate
from training.studies.records import Plan, PlannedRun
from training.studies.spread import Effect, compare_pairs
from training.studies.trainer import Trainer

FACTORS: Final = (1.0 / 3.0, 1.0, 3.0)
FURTHER: Final = 5
"""Trials more, at the most, where the best lies at an end."""
_LOSS = "val/loss"


class Trials:
    """Short runs at several rates, of ``steps`` each. One seed says where to look, by the loss of the validation, in which each sample
    counts by how well it is told: after so few steps the metrics that count hits say less. Between the best and the next one several
    seeds decide."""

    def __init__(self, plan: Plan, trainer: Trainer, steps: int) -> None:
        self._plan, self._trainer, self._steps = plan, trainer, steps
        name = plan.config.monitor
        self._sign = -1.0 if is_known(name) and metric(name).maximize else 1.0
        self.runs: dict[float, list[RunFolder]] = {}
        """By their rates, a seed each."""

    @property
    def rates(self) -> list[float]:
        """Those that were tried, rising."""
        return sorted(self.runs)

    def values(self, rate: float) -> tuple[float, ...]:
        """The monitored metric at the end of each run; NaN where it diverged."""
        return tuple(_read(run, self._plan.config.monitor) for run in self.runs[rate])

    def mean(self, rate: float) -> float:
        """Over the seeds."""
        return fmean(self.values(rate))

    def search(self, start: float) -> None:
        """Around ``start``, and further out while the best lies at an end."""
        self._train([start * factor for factor in FACTORS], 0)
        for _ in range(FURTHER):
            best, (lowest, *_, highest) = self.find_best(), self.rates
            further = lowest / 3.0 if best in (lowest, None) else 3.0 * highest
            if best not in (lowest, highest, None) or further > HIGHEST_RATE:
                break
            self._train([further], 0)

    def find_best(self) -> float | None:
        """The rate of the lowest loss on the first seed; None where all diverged."""
        found = self._rank(self.rates)
        return found[0] if found else None

    def decide(self, seeds: int) -> tuple[float, float | None]:
        """The best and its better neighbor on ``seeds`` seeds: the better of them by the monitored metric, or where that is noise the lower,
        and the other, which is None where there is none to choose from. A long run wants a lower rate than a short one (J. Bjorck et
        al., "Scaling Optimal LR Across Token Horizons", 2024, arXiv:2409.19913), and one too low costs less than one too high."""
        best, rates = self._rank(self.rates)[0], self.rates
        place = rates.index(best)
        near = self._rank(rates[max(place - 1, 0) : place + 2])[:2]
        if len(near) < 2 or seeds < 2:
            return best, None
        for number in range(1, seeds):
            self._train(near, number)
        low, high = sorted(near)
        effect = self.compare(low, high)
        rises = effect.better if effect is not None else math.isfinite(self.mean(high))
        return (high, low) if rises else (low, high)

    def compare(self, one: float, other: float) -> Effect | None:
        """What the monitored metric gains from ``one`` rate to the ``other``, by pairs of one seed each; None where one of them diverged."""
        before, after = self.values(one), self.values(other)
        if not all(map(math.isfinite, before + after)):
            return None
        return compare_pairs(self._plan.config.monitor, before, after)

    def _rank(self, rates: Sequence[float]) -> list[float]:
        """Those that did not diverge, the best one first."""

        def order(rate: float) -> tuple[float, float]:
            run = self.runs[rate][0]
            value = self._sign * _read(run, self._plan.config.monitor)
            loss = _read(run, _LOSS)
            return (loss, value) if math.isfinite(loss) else (value, loss)

        return sorted((rate for rate in rates if math.isfinite(self.values(rate)[0])), key=order)

    def _train(self, rates: Sequence[float], number: int) -> None:
        """On the seed of that number."""
        plan, cost = self._plan, self._plan.cost
        assert cost is not None
        planned = {}
        for given in rates:
            rate = float(f"{min(given, HIGHEST_RATE):.2g}")
            trial = make_trial(plan.config, rate, self._steps, cost.steps, cost.steps_per_epoch)
            trial = trial.model_copy(update={"seed": (plan.config.seed + number) % 2**31})
            name = f"lr {rate:g} seed {trial.seed}" if number else f"lr {rate:g}"
            key = f"trial-{rate:g}-{number}" if number else f"trial-{rate:g}"
            planned[rate] = PlannedRun.of(key, trial.add_to_name(name))
        runs = self._trainer.train(planned.values(), has_failed_by_numbers)
        for rate, each in planned.items():
            self.runs.setdefault(rate, []).append(runs[each.key])


def _read(run: RunFolder, name: str) -> float:
    status = run.status()
    return status.metrics.get(name, math.nan) if status.status == "completed" else math.nan


def has_failed_by_numbers(run: RunFolder) -> bool:
    """A trial at too high a rate is an answer, too."""
    if run.status().status != "failed":
        return False
    losses = read_losses(run)
    return bool(len(losses)) and not math.isfinite(losses[-1])


def make_trial(config: RunConfig, rate: float, steps: int, total_steps: int, steps_per_epoch: int) -> RunConfig:
    """``config`` at that rate in ``steps`` steps instead of ``total_steps``, with its schedule laid out over those."""
    steps = min(steps, total_steps)
    shorter = make_short(with_rate(config, rate), steps)
    return shorter.model_copy(update={"schedule": _shrink(shorter.schedule, steps, total_steps, steps_per_epoch)})


def _shrink(schedule: Any, steps: int, total_steps: int, steps_per_epoch: int) -> Any:
    """The same shape over fewer steps: lengths become shares of the run, and drops per epoch drops at steps."""
    update: dict[str, object] = {}

    def share(duration: int | str) -> int | str:
        count = count_duration(duration, total_steps, steps_per_epoch)
        return f"{100.0 * count / total_steps:.6f} %" if count else 0

    if isinstance(schedule, ScheduleSection):
        for name in ("warmup", "t_0", "step_size"):
            if hasattr(schedule, name):
                update[name] = share(getattr(schedule, name))
        if hasattr(schedule, "milestones"):
            update["milestones"] = tuple(share(each) for each in schedule.milestones)
    if isinstance(schedule, Exponential):
        made = total_steps / (steps_per_epoch if schedule.every == "epoch" else 1)
        update["gamma"] = schedule.gamma ** (made / steps)
    if isinstance(schedule, Cadence):
        update["every"] = "step"
    return schedule.model_copy(update=update)
