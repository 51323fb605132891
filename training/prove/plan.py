"""From where, for how many steps and on how many orders of the data it is compared, and what that costs. No torch here: the window asks,
too."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, overrides_of
from training.config.paths import with_changed_paths_absolute
from training.diagnosis import read_recorded, replay
from training.errors import InputError, TrainingError, format_bytes, format_duration, pluralize
from training.events import CheckpointSaved, Finding
from training.findings import is_named, require_code
from training.prove.effects import Effects
from training.runs.folder import RunFolder, make_slug
from training.runs.fork import Fork, find_fork
from training.runs.records.history import History
from training.runs.records.manifest import list_checkpoints
from training.runs.relocation import config_here
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml

LEAST_STEPS: Final = 50
SECONDS: Final = 120.0
"""That all arms together are to take at most, unless fewer than ``LEAST_STEPS`` would be left or the fault would not show."""
VALIDATIONS: Final = 2
BEYOND: Final = 20
"""Steps behind the one at which a finding began, so that it shows in the arm without the fix."""
USUAL_ORDERS: Final = 3
MOST_ORDERS: Final = 20


@dataclass(frozen=True)
class ProofPlan:
    """Both arms begin at ``start``: with what ``checkpoint`` holds, or None, fresh at step 0. ``started`` says why there. The one has
    the run's settings ``before``, as they are on this machine, the other ``after``, which are those with ``fix``. ``seconds`` of all
    arms together are NaN where the run's own steps tell none; ``room`` is what one arm needs of the disk, in bytes."""

    run: RunFolder
    finding: Finding | None
    fix: Mapping[str, JsonValue]
    before: RunConfig
    after: RunConfig
    checkpoint: Path | None
    start: int
    started: str
    steps: int
    orders: int
    seconds: float
    room: int
    notes: tuple[str, ...]

    @property
    def effects(self) -> Effects:
        """Of the fix."""
        return Effects(self.before, self.after)

    @property
    def name(self) -> str:
        """What is proved, as it is asked for."""
        return self.finding.key if self.finding is not None else ", ".join(overrides_of(self.fix))

    @property
    def key(self) -> str:
        """The name of its record: the same for what computes the same."""
        what = {
            "settings": [config_data(self.before), config_data(self.after)],
            "from": self.checkpoint.name if self.checkpoint else "",
            "steps": [self.steps, self.orders],
        }
        told = hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()[:8]
        return f"{make_slug(self.name)}-{told}"

    @property
    def words(self) -> tuple[str, ...]:
        """What is to be done, why there, and what it takes, a sentence each."""
        arms = 2 * self.orders
        how = f"{pluralize(arms, 'arm')} of {pluralize(self.steps, 'step')}: with {', '.join(overrides_of(self.fix))} and without, on "
        how += f"{pluralize(self.orders, 'order')} of the data, each pair on the same batches."
        if math.isfinite(self.seconds):
            cost = f"That takes about {format_duration(self.seconds)}, and some seconds more for the start of each arm"
        else:
            cost = "How long that takes is not known, since no steps of this run were timed"
        return (how, self.started, f"{cost}; {format_bytes(self.room)} of the disk while it works.", *self.notes)


def plan_proof(
    run: RunFolder,
    key: str = "",
    overrides: Sequence[str] = (),
    steps: int | None = None,
    orders: int = USUAL_ORDERS,
    damaged: Collection[str] = (),
) -> ProofPlan:
    """How to prove the fix of the finding ``key`` ("code" or "code:place"), or else the settings ``overrides`` ("section.key=value").

    ``damaged`` names checkpoints that are not to be taken. Raises InputError where nothing can be compared."""
    if steps is not None and steps < 1:
        raise InputError(f"--steps {steps}: must be 1 or more, for example {LEAST_STEPS}.")
    if not 1 <= orders <= MOST_ORDERS:
        raise InputError(f"--orders {orders}: must be from 1 to {MOST_ORDERS}, for example {USUAL_ORDERS}.")
    if bool(key) == bool(overrides):
        raise InputError("Name either a finding of the run, or settings with --set.")
    before = config_here(run)
    history = History(run.events_file)
    events = history.poll()
    finding = _find_finding(run, key, history.findings) if key else None
    after = _change(before, overrides_of(finding.fix) if finding is not None else overrides)
    effects = Effects(before, after)
    effects.refuse(finding.code if finding is not None else "")
    total = history.attempts[-1].total_steps if history.attempts else 0
    each = history.attempts[-1].steps_per_epoch if history.attempts else 0
    if not total:
        raise InputError(f"The run {run.id} has not begun yet; let it train first.")
    since = None if finding is None else finding.step if finding.since is None else finding.since
    step_seconds = _time_step(run, history.attempts[0].step)
    wanted = steps or _choose_steps(before, each, step_seconds, orders)
    saved = [event.step for event in events if isinstance(event, CheckpointSaved)]
    latest = total - min(wanted, LEAST_STEPS)
    fork = find_fork(run, after, since, effects.find_start(), latest, saved, damaged)
    start = fork.checkpoint.step if fork.checkpoint is not None else 0
    if steps is None and since is not None and finding is not None:
        shows = since - start + BEYOND
        affordable = _afford(step_seconds, orders)
        wanted = max(wanted, shows, min(finding.step - start + BEYOND, affordable))
    taken = min(wanted, total - start)
    notes = list(effects.notes())
    if taken < wanted:
        notes.append(f"Only {pluralize(taken, 'step')} of the run are left from there, so each arm takes no more.")
    return ProofPlan(
        run,
        finding,
        {change.path: change.new if change.new is not None else "" for change in effects.changes}
        if finding is None
        else dict(finding.fix),
        before,
        after,
        fork.checkpoint.path if fork.checkpoint is not None else None,
        start,
        _say_start(fork),
        taken,
        orders,
        2 * orders * taken * step_seconds,
        _measure_room(run),
        tuple(notes),
    )


def _say_start(fork: Fork) -> str:
    """Where both arms begin, and why there."""
    where = f"at {fork.why}" if fork.checkpoint is not None else f"at step 0, because {fork.why}"
    return " ".join((*fork.passed, f"Both arms begin {where}."))


def can_prove(config: RunConfig, finding: Finding) -> bool:
    """Whether some steps can show what the fix of ``finding`` does in a run of ``config``, as far as the settings tell."""
    try:
        Effects(config, _change(config, overrides_of(finding.fix))).refuse(finding.code)
    except TrainingError:
        return False
    return True


def _find_finding(run: RunFolder, key: str, told: Sequence[Finding]) -> Finding:
    """The newest that ``key`` names and that settings mend: of those that the run ``told``, else of those that it is judged by now.
    Raises InputError where there is none."""
    named = [finding for finding in told if is_named(finding, [key])]
    if not named:
        judged = replay(read_recorded(run))
        named = [finding for finding in judged if is_named(finding, [key])]
        told = [*told, *judged]
    if not named:
        require_code(key)
        others = list(dict.fromkeys(finding.key for finding in told if finding.code and finding.fix))
        hint = f"; those with a fix are {', '.join(others[:8])}" if others else ", and no other that settings mend"
        raise InputError(f"{escape_unprintable(key, 60)}: the run {run.id} has no such finding{hint}.")
    with_fix = [finding for finding in named if finding.fix]
    if not with_fix:
        raise InputError(f"{key}: no setting mends it, so there is nothing to prove. {named[-1].advice}".strip())
    places = {finding.key for finding in with_fix}
    if len(places) > 1:
        raise InputError(f"{key}: was found in several places; name one: {', '.join(sorted(places))}.")
    return with_fix[-1]


def _change(before: RunConfig, overrides: Sequence[str]) -> RunConfig:
    data: dict[str, Toml] = dict(config_data(before))
    apply_overrides(data, overrides)
    data = with_changed_paths_absolute(data, config_data(before), Path.cwd())
    return parse_config(data, "the run with these settings", paths=False)


def _time_step(run: RunFolder, first: int) -> float:
    """Seconds of a step, with the share of all that comes between them; NaN where it is not known. ``first`` is where a branch began."""
    record = run.status()
    made = record.step - first
    return record.seconds / made if record.seconds and made > 0 else math.nan


def _afford(step_seconds: float, orders: int) -> int:
    """Steps of an arm that ``SECONDS`` are enough for."""
    return 10**9 if not step_seconds > 0 else int(SECONDS / (2 * orders * step_seconds))


def _choose_steps(config: RunConfig, steps_per_epoch: int, step_seconds: float, orders: int) -> int:
    """Two validations' worth, within what it may cost, and ``LEAST_STEPS`` in any case."""
    between = min(config.loop.validate_every_steps or steps_per_epoch, steps_per_epoch)
    return max(LEAST_STEPS, min(VALIDATIONS * between, _afford(step_seconds, orders)))


def _measure_room(run: RunFolder) -> int:
    """Of one arm, which is deleted before the next one begins: its last checkpoint and its best one, and a copy of the curves."""
    largest = max((info.size for info in list_checkpoints(run)), default=1 << 20)
    curves = sum(path.stat().st_size for path in (run.series_file, *run.column_files) if path.is_file())
    return 3 * largest + curves + (1 << 20)


def count_arm_steps(plan: ProofPlan, with_fix: bool) -> int:
    """As many as see the samples of ``plan.steps`` steps of the run."""
    before, after = plan.before.loop, plan.after.loop
    if not with_fix:
        return plan.steps
    return max(
        1, math.ceil(plan.steps * before.batch_size * before.accumulation / (after.batch_size * after.accumulation))
    )
