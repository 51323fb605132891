"""Where a run is left to try other settings: the checkpoint before what is to be mended began, or the beginning."""

from __future__ import annotations

from dataclasses import dataclass

from training.config.diff import diff
from training.config.rules.effects import Effect, effect_of
from training.config.run import RunConfig
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.manifest import CheckpointInfo, list_checkpoints, read_manifest
from training.runs.resume_plan import ResumePlan, keeps_run, make_plan

_FROM_START: tuple[Effect, ...] = ("data", "order", "shape", "beginning", "network", "normalization")
"""What weights that were trained before mean little for."""


@dataclass(frozen=True)
class Fork:
    """``checkpoint`` is None for the beginning, and ``plan`` what is taken over from it; ``why`` says in a clause why it is this one."""

    checkpoint: CheckpointInfo | None
    plan: ResumePlan | None
    why: str


def began_at(finding: Finding) -> int | None:
    """The step at which what ``finding`` tells began; 0: it was so from the start; None where that is not known, so that the newest
    checkpoint is as good as any."""
    if finding.since is not None:
        return finding.since
    return finding.step if finding.code else None


def choose_fork(folder: RunFolder, before: RunConfig, after: RunConfig, since: int | None) -> Fork:
    """Where the run of ``before`` in ``folder`` is left to go on with ``after``, for what began at step ``since``: the newest checkpoint from
    before that step. The beginning, where none is left, or where the settings ask for other data, another network or other steps.
    Settings that change no result go on from the newest."""
    found = list_checkpoints(folder)
    if not found:
        return Fork(None, None, "the run has no checkpoint")
    changes = diff(before, after)
    if since is None or keeps_run(changes):
        return Fork(found[0], make_plan(before, after, read_manifest(found[0].path)), "its newest checkpoint")
    if any(effect_of(change) in _FROM_START for change in changes):
        return Fork(None, None, "other data, or another network, are trained from the start")
    if since <= 0:
        return Fork(None, None, "it was so from the start")
    earlier = [checkpoint for checkpoint in found if checkpoint.step < since]
    for checkpoint in earlier:
        plan = make_plan(before, after, read_manifest(checkpoint.path))
        if plan.continues:
            return Fork(checkpoint, plan, f"the last checkpoint before step {since:,}, where it began")
    if earlier:
        return Fork(None, None, "a step is made of other samples with these settings")
    return Fork(None, None, f"no checkpoint from before step {since:,}, where it began, is left")
