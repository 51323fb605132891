"""A study in the list: what it is, and how far. No Qt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.state.found_list import State
from training.errors import TrainingError, format_duration
from training.runs.folder import RunFolder
from training.studies.folder import StudyFolder, list_studies
from training.studies.records import KINDS, TITLES, Kind, Plan, Reached

_ENOUGH = 0.1
"""Parts done that tell how long the others take."""


@dataclass(frozen=True)
class StudySummary:
    """``name`` is that of the configuration; ``fraction`` from 0 to 1, None where that is not known; ``left`` in words how long the rest
    takes; ``said`` its result, or why there is none; ``sentence`` the result of one that is damaged."""

    folder: StudyFolder
    kind: Kind | None
    name: str
    created: float
    state: State
    reached: Reached
    fraction: float | None = None
    left: str = ""
    said: str = ""
    sentence: str = ""

    @property
    def id(self) -> str:
        """Its name in the workspace."""
        return self.folder.id

    @property
    def title(self) -> str:
        """What kind of study it is."""
        return TITLES[self.kind] if self.kind else "Damaged study"


def read_summaries(workspace: Path, known: Mapping[StudyFolder, StudySummary]) -> tuple[StudySummary, ...]:
    """All of the workspace, newest first. Those that are ``known`` to be done are not read again: they change no more."""
    return tuple(known.get(folder) or read_summary(folder) for folder in reversed(list_studies(workspace)))


def read_summary(folder: StudyFolder) -> StudySummary:
    """Of one, as it is now."""
    is_at_work = folder.is_claimed()  # before all else: what came to its end meanwhile has a result by now
    reached, result = folder.read_reached(), folder.result()
    try:
        plan = folder.plan()
    except TrainingError as error:
        found = result.kind if result is not None else _guess_kind(folder.id)
        sentence = result.sentence if result is not None else ""
        return StudySummary(folder, found, "", 0.0, "damaged", reached, said=error.message, sentence=sentence)
    name = str(plan.settings.get("name", ""))

    def summary(state: State, said: str = "", fraction: float | None = None, left: str = "") -> StudySummary:
        return StudySummary(folder, plan.kind, name, plan.created, state, reached, fraction, left, said)

    if result is not None:
        return summary("done", result.sentence, 1.0)
    fraction = measure_fraction(folder, reached)
    left = tell_left(plan, reached, fraction, time.time() if is_at_work else None)
    if is_at_work:
        return summary("working", reached.words, fraction, left)
    if not folder.has_begun:
        return summary("planned", " ".join(plan.words), 0.0, left)
    return summary("failed" if reached.problem else "stopped", reached.problem, fraction, left)


def _guess_kind(study: str) -> Kind | None:
    """By the id, which begins with it."""
    return next((kind for kind in KINDS if study.startswith(f"{kind}-")), None)


def measure_fraction(folder: StudyFolder, reached: Reached) -> float | None:
    """The share of its parts that is done, with that of the run under way."""
    if not reached.parts:
        return None
    part = share_of(RunFolder(folder.workspace / "runs" / reached.run)) if reached.run else 0.0
    return min((reached.done + part) / reached.parts, 1.0)


def share_of(run: RunFolder) -> float:
    """How much of a run is done; 0 where that cannot be read."""
    try:
        record = run.read_status()
    except (TrainingError, OSError):
        return 0.0
    return min(record.step / record.total_steps, 1.0) if record.total_steps else 0.0


def tell_left(plan: Plan, reached: Reached, fraction: float | None, now: float | None = None) -> str:
    """In words, by what this attempt has done so far, or, before that tells, by what the plan says of the rest; "" where nothing is known or it
    is as good as done. ``now`` is None of one that does not work."""
    rest = 1.0 - (fraction or 0.0)
    within = (fraction or 0.0) * reached.parts - reached.done if reached.since else 0.0  # of the run under way
    known = reached.done - reached.before if reached.since and reached.parts else 0.0
    if now is not None and within > 0.0 and known + within >= _ENOUGH:
        seconds = (now - reached.since) / (known + within) * rest * reached.parts
    elif known >= _ENOUGH:
        seconds = (reached.at - reached.since) / known * rest * reached.parts
        if now is not None:
            seconds -= now - reached.at
    else:
        seconds = plan.seconds * rest
    return f"about {format_duration(seconds)} left" if seconds >= 1.0 else ""
