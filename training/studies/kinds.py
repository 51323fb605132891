"""The kinds of studies: what plans one, and what carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from training.config import RunConfig
from training.studies import ablation, seeds
from training.studies.batch import study as batch
from training.studies.cross_validation import study as cross_validation
from training.studies.lr_range import study as lr_range
from training.studies.records import Ask, Cost, Draft, Kind, Options, Plan, Result
from training.studies.speed import study as speed
from training.studies.trainer import Trainer


def keep_draft(_ask: Ask, _config: RunConfig, _options: Options, draft: Draft) -> Draft:
    """Where the configuration tells everything."""
    return draft


class StudyKind(NamedTuple):
    """``plan`` raises InputError where the configuration or the options do not suit; ``carry_out`` goes on where an earlier process was
    interrupted. ``options`` are those it takes, by their names on the command line. ``look`` completes a draft by what a measuring process
    finds in the data, and raises InputError, too."""

    plan: Callable[[RunConfig, Options, Cost], Draft]
    carry_out: Callable[[Plan, Trainer], Result]
    options: frozenset[str] = frozenset()
    look: Callable[[Ask, RunConfig, Options, Draft], Draft] = keep_draft


STUDY_KINDS: Final[Mapping[Kind, StudyKind]] = {
    "seeds": StudyKind(seeds.plan, seeds.carry_out, frozenset({"seeds", "against"})),
    "lr-range": StudyKind(lr_range.plan, lr_range.carry_out, frozenset({"seeds", "steps", "trial_steps", "band"})),
    "cv": StudyKind(
        cross_validation.plan, cross_validation.carry_out, frozenset({"folds", "by"}), cross_validation.look
    ),
    "ablation": StudyKind(ablation.plan, ablation.carry_out, frozenset({"seeds", "only"})),
    "batch": StudyKind(batch.plan, batch.carry_out),
    "speed": StudyKind(speed.plan, speed.carry_out, frozenset({"only"})),
}
