"""Where a run is left to try other settings: the checkpoint before what is to be mended began, or the beginning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from training.config import parse_config
from training.config.diff import Change, diff
from training.config.rules.effects import Effect, effect_of
from training.config.run import RunConfig
from training.errors import CheckpointError
from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.manifest import CheckpointInfo, list_checkpoints, read_manifest
from training.runs.resume_plan import ResumePlan, keeps_run, make_plan, plan_branch

FROM_START: frozenset[Effect] = frozenset({"data", "order", "shape", "beginning", "network", "normalization"})
"""What weights that were trained before mean little for."""


@dataclass(frozen=True)
class Fork:
    """``checkpoint`` is None for the beginning, and ``plan`` what is taken over from it; ``why`` names it and says in a clause why it is this
    one, and ``passed`` in sentences why it is none that lies nearer."""

    checkpoint: CheckpointInfo | None
    plan: ResumePlan | None
    why: str
    passed: tuple[str, ...] = ()


def began_at(finding: Finding) -> int | None:
    """The step at which what ``finding`` tells began; 0: it was so from the start; None where that is not known, so that the newest
    checkpoint is as good as any."""
    if finding.since is not None:
        return finding.since
    return finding.step if finding.code else None


def choose_fork(folder: RunFolder, before: RunConfig, after: RunConfig, since: int | None) -> Fork:
    """Where the run of ``before`` in ``folder`` is left to go on with ``after``, for what began at step ``since``. Where that is not
    known, or the settings change no result, it goes on from its newest checkpoint."""
    found = list_checkpoints(folder)
    if not found:
        return Fork(None, None, "the run has no checkpoint")
    changes = diff(before, after)
    if since is None or keeps_run(changes):
        why = f"the checkpoint of step {found[0].step:,}, its newest"
        return Fork(found[0], make_plan(before, after, read_manifest(found[0].path)), why)
    return find_fork(folder, after, since, at_start=tell_start(changes, FROM_START))


def find_fork(
    folder: RunFolder,
    after: RunConfig,
    since: int | None,
    at_start: str = "",
    latest: int | None = None,
    saved: Collection[int] = (),
    damaged: Collection[str] = (),
) -> Fork:
    """The newest checkpoint of the run in ``folder`` from before step ``since`` at which a run of ``after`` goes on step by step.

    The beginning, where none is left, or where ``at_start`` says why. ``latest`` is the last step that it may be of, ``saved`` are the
    steps at which there was one once, and ``damaged`` the names of those that are not to be taken."""
    if at_start:
        return Fork(None, None, at_start)
    if since is not None and since <= 1:
        return Fork(None, None, "it was so from the start")

    def fits(step: int) -> bool:
        return (since is None or step < since) and (latest is None or step <= latest)

    known = [info for info in list_checkpoints(folder) if fits(info.step)]
    passed = _tell_gone(known, filter(fits, saved), damaged)
    for info in known:
        if info.name in damaged:
            continue
        plan, refusal = _plan(info, after)
        if plan is not None:
            last = "" if since is None else f", the last before step {since:,}, where it began"
            return Fork(info, plan, f"the checkpoint of step {info.step:,}{last}", tuple(passed))
        passed.append(refusal)
    what = "that leaves enough steps behind it" if since is None else f"from before step {since:,}, where it began,"
    return Fork(
        None, None, f"no checkpoint {what} can be taken" if passed else f"no checkpoint {what} is left", tuple(passed)
    )


def tell_start(changes: Iterable[Change], effects: Collection[Effect]) -> str:
    """That settings of ``effects`` are among ``changes``, so that a run with them begins at the beginning; "" where none is."""
    paths = [change.path for change in changes if effect_of(change) in effects]
    if not paths:
        return ""
    return f"{', '.join(paths)} {'acts' if len(paths) == 1 else 'act'} on the data or the network from the beginning"


def _plan(info: CheckpointInfo, after: RunConfig) -> tuple[ResumePlan | None, str]:
    """What is taken over from it, or None and in a sentence why nothing is."""
    try:
        manifest = read_manifest(info.path)
        plan = plan_branch(parse_config(manifest.config, info.name, paths=False), after, manifest)
    except CheckpointError as error:
        return None, error.message
    if plan.continues:
        return plan, ""
    return None, f"{info.name}: {plan.refused or '; '.join(plan.ignored)}."


def _tell_gone(known: Sequence[CheckpointInfo], saved: Iterable[int], damaged: Collection[str]) -> list[str]:
    """That a nearer one was saved, and is there no more."""
    nearest = max(saved, default=-1)
    if nearest <= max((info.step for info in known if info.name not in damaged), default=-1):
        return []
    broken = nearest in {info.step for info in known if info.name in damaged}
    what = "is damaged" if broken else "is gone (a run keeps its newest ones and the best)"
    return [f"The checkpoint of step {nearest:,} {what}."]
