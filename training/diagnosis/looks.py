"""``Diagnosis``: when a run is looked at, and what of that is told: nothing before it was found twice in a row."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from training.config.files import config_data
from training.config.sections.loop import Loop
from training.diagnosis.judges import AT_ANY_END, AT_END, CODES, IN_WARMUP, JUDGES, Judge
from training.diagnosis.judges.curves import is_beyond_doubt
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings import is_dismissed, without_idle_fix, without_muted
from training.findings.folding import is_explained, symptoms_of
from training.findings.nonfinite import NONFINITE
from training.runs.records.about import read_about

logger = logging.getLogger(__name__)

LOOKS, LEAST_APART = 40, 20
"""How many there are in a run at most, and how many steps lie between two at least."""
SHARE = 0.005
"""Of a run's time, that looks may take before some of them are left out while nothing hangs on them."""
_STRIDES = (1, 2, 4)
"""Of how many looks one is taken then, and the last two; a run of a second has eleven looks at the least."""
_LOOK_SECONDS = 1.4e-3
_STEP_SECONDS, _WEIGHT_SECONDS, _SAMPLE_SECONDS = 4e-4, 3.6e-9, 1.2e-10
"""Of a CPU core: what a look takes, and a step at least: its calls, its optimizer for each weight, and each weight for each sample (as
``tests/benchmarks/live_checks`` measures them)."""
IN_A_ROW = 2
"""Looks that have to find the same before it is told, and that have to find it no more before that is told."""
_ORDER: Final = {"ok": 0, "info": 1, "warning": 2, "error": 3}


class Plan(NamedTuple):
    """The ``steps`` behind which a run is looked at, in order, and those ``between`` that are left out unless something found hangs on
    them."""

    steps: tuple[int, ...]
    between: frozenset[int]


def plan_looks(total_steps: int, steps_per_epoch: int, loop: Loop, parameters: int) -> Plan:
    """Of a run of a network of so many ``parameters``: the run is cut into equal stretches, and of each it is looked at the last
    validation, or where there is none the last step. A function of the plan alone and no matter of a clock, so that a resumed run, and
    who judges it afterwards, look where an unbroken one does."""
    count = max(1, min(LOOKS, total_steps // LEAST_APART))
    ends = [total_steps * (number + 1) // count for number in range(count)]
    steps = tuple(
        _last_validation(first, end, steps_per_epoch, loop.validate_every_steps) or end
        for first, end in zip([0, *ends[:-1]], ends, strict=True)
    )
    step = _STEP_SECONDS + parameters * (_WEIGHT_SECONDS + _SAMPLE_SECONDS * loop.batch_size * loop.accumulation)
    times = count * _LOOK_SECONDS / (SHARE * total_steps * step)
    stride = next((each for each in _STRIDES if each >= times), _STRIDES[-1])
    taken = {*steps[-1::-stride], *steps[-IN_A_ROW:]}  # what holds at the end is told
    return Plan(steps, frozenset(steps) - taken)


def _last_validation(first: int, end: int, steps_per_epoch: int, validate_every: int | None) -> int:
    """Behind ``first`` and up to ``end``; 0 where there is none."""
    last = max(end // every * every for every in (steps_per_epoch, validate_every) if every)
    return last if last > first else 0


def plan_of(run: Recorded) -> Plan:
    """``plan_looks`` of a run."""
    return plan_looks(run.total_steps, run.steps_per_epoch, run.config.loop, run.parameters)


@dataclass
class _Sighting:
    """Of one key: how many looks in a row found it, how many since then did not, from which of these on, and what was told of it."""

    since: int
    looks: int = 0
    missing: int = 0
    gone: int = 0
    told: Finding | None = None


class Diagnosis:
    """Judges a run look by look, and remembers what the looks before found. It has to be shown each look of a run that
    it ``needs``, in order."""

    def __init__(self, judges: Sequence[Judge] = JUDGES, at_end: Sequence[Judge] = AT_END) -> None:
        self._judges, self._at_end = judges, at_end
        self._seen: dict[str, _Sighting] = {}
        self._looked_at = 0

    def needs(self, step: int, plan: Plan) -> bool:
        """Whether it has to be shown the look at ``step``: not where that is between others, and all that the look before found is told,
        and all that was told was found."""
        waits = any(each.told is None or each.missing for each in self._seen.values())
        return waits or step not in plan.between

    def look(self, run: Recorded) -> list[Finding]:
        """What is to be told now, at ``run.step``: what holds since two looks, and with ``cleared_at`` what holds no more since
        two. Of what gets worse it is told again. A judge that fails is logged, and judges nothing."""
        self._looked_at = run.step
        run = _leave_to_others(run)
        found = {each.key: each for each in self._judge(self._judges, run)}
        if run.step < run.warmup:
            found = {key: each for key, each in found.items() if each.code in IN_WARMUP}
        causes = self._list_causes(run, found.values())
        symptoms = {code for cause in causes for code in symptoms_of(cause)}
        news = [self._see(each, run.step) for each in found.values() if not is_explained(each, causes)]
        gone = [key for key in self._seen if key not in found and key.partition(":")[0] not in symptoms]
        return _keep([*news, *(self._miss(key, run.step) for key in gone)], run)

    def end(self, run: Recorded) -> list[Finding]:
        """What is to be told of a run that is complete: its last look, and what can only be judged now."""
        news = self.look(run) if self._looked_at < run.step else []
        run = _leave_to_others(run)
        judges = self._at_end if run.step >= run.warmup else AT_ANY_END
        found = {each.key: each for each in self._judge(judges, run)}
        causes = self._list_causes(run, found.values())
        seen = {key for key, sighting in self._seen.items() if sighting.told is not None}
        new = (each for each in found.values() if each.key not in seen and not is_explained(each, causes))
        return [*news, *_keep((replace(each, step=run.step) for each in new), run)]

    def _judge(self, judges: Iterable[Judge], run: Recorded) -> list[Finding]:
        """Of one key the worst."""
        found: list[Finding] = []
        for judge in judges:
            try:
                found += judge(run)
            except Exception:
                logger.exception("%s could not judge step %d", getattr(judge, "__name__", judge), run.step)
        return sorted(found, key=lambda each: _ORDER[each.level])

    def _list_causes(self, run: Recorded, found: Iterable[Finding]) -> list[Finding]:
        """All that holds, or may: it may explain what need not be told then."""
        told = (sighting.told for sighting in self._seen.values())
        others = (each for each in run.findings if each.code != NONFINITE.code or _skips_still(run))
        return [each for each in (*found, *others, *told) if each is not None]

    def _see(self, finding: Finding, step: int) -> Finding | None:
        sighting = self._seen.setdefault(finding.key, _Sighting(step))
        sighting.since = min(sighting.since, step if finding.since is None else finding.since)
        sighting.looks, sighting.missing = sighting.looks + 1, 0
        before = sighting.told
        if sighting.looks < IN_A_ROW and not is_beyond_doubt(finding):
            return None
        if before is not None and _ORDER[finding.level] <= _ORDER[before.level]:
            return None
        sighting.told = replace(finding, step=step, since=sighting.since)
        return sighting.told

    def _miss(self, key: str, step: int) -> Finding | None:
        sighting = self._seen[key]
        sighting.missing += 1
        if sighting.missing == 1:
            sighting.gone = step
        if sighting.told is None or sighting.missing >= IN_A_ROW:
            del self._seen[key]
        if sighting.told is None or sighting.missing < IN_A_ROW:
            return None
        return replace(sighting.told, step=step, cleared_at=sighting.gone)


def _skips_still(run: Recorded) -> bool:
    """Whether steps were left out of late, for numbers that are not finite."""
    recent = max(LEAST_APART, run.total_steps // LOOKS)
    return bool(run.skips) and run.skips[-1].step > run.step - recent


def _leave_to_others(run: Recorded) -> Recorded:
    """With the findings of others alone, without those that the person put away: what looks told before is remembered here, and
    forgotten once it is over; what is no problem explains none."""
    others = tuple(each for each in run.findings if each.code not in CODES)
    if others and run.folder is not None:
        dismissed = read_about(run.folder).dismissed
        others = tuple(each for each in others if not is_dismissed(each, dismissed))
    return replace(run, findings=others)


def _keep(news: Iterable[Finding | None], run: Recorded) -> list[Finding]:
    told = [each for each in news if each is not None]
    return without_muted(without_idle_fix(told, config_data(run.config)), run.config.muted_findings) if told else []


def replay(run: Recorded) -> list[Finding]:
    """All that looking at the run from its beginning tells, in that order."""
    diagnosis, told = Diagnosis(), list[Finding]()
    plan = plan_of(run)
    for step in plan.steps:
        if step <= run.step and diagnosis.needs(step, plan):
            told += diagnosis.look(run.until(step))
    return told if run.ended is None else [*told, *diagnosis.end(run)]


def current(told: Iterable[Finding]) -> list[Finding]:
    """Of what was told, what holds: of each code and place the newest word, where that is not that it is over."""
    newest: dict[object, Finding] = {each.key or (each.title, each.step): each for each in told}
    return [each for each in newest.values() if each.cleared_at is None]
