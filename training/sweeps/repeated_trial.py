"""A trial of several runs, which differ in their seed alone: what each comes to is reported, and their mean is what the trial counts by.

The same seeds in all trials: their results are pairs, which is what Wilcoxon's signed-rank test compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from training.config import RunConfig
from training.config.run import LONGEST_NAME
from training.laboratory.child import Interrupt
from training.sweeps.folder import Sweep
from training.sweeps.trial_run import BY_HAND, End, Train, TrialRun
from training.sweeps.trials import Trials

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


@dataclass
class RepeatedTrial:
    """The runs of ``trial``, with the configuration ``config`` that was frozen for it, the first with its very seed."""

    sweep: Sweep
    trials: Trials
    trial: FrozenTrial
    config: RunConfig

    def finish(self, interrupt: Interrupt, train: Train) -> End | None:
        """As that of ``TrialRun``: a run that has ended is told again, to the same verdict."""
        repeats, values = self.sweep.repeats, list[float]()
        self.trials.note_validations(repeats)
        for part in range(repeats):
            config = seed_part(self.config, part)
            end = TrialRun(self.sweep, self.trials, self.trial, config, part).finish(interrupt, train)
            if end is None:
                return None
            if end.value is None:
                if end.reason == BY_HAND:
                    return End("pruned" if values else "failed", reason=BY_HAND)
                return End(end.state, reason=f"seed {config.seed}: {end.reason}")
            values.append(end.value)
            if part + 1 == repeats:  # nothing is left to prune
                self.trials.report(self.trial, part + 1, end.value)
            elif self.trials.judge(self.trial, part + 1, end.value):
                return End("pruned")
        return End("complete", fmean(values))


def seed_part(config: RunConfig, part: int) -> RunConfig:
    """The configuration of a trial's ``part``, from 0."""
    seed = (config.seed + part) % 2**31
    suffix = f" seed {seed}"
    name = config.name[: LONGEST_NAME - len(suffix)] + suffix
    return config.model_copy(update={"seed": seed, "name": name})
