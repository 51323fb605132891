"""What does not go with a schedule: durations that are longer than the run, or no whole number of epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from training.config.describe import describe
from training.config.run import RunConfig
from training.config.sections.schedule import Cadence, Exponential, MultiStep, OneCycle, ScheduleSection
from training.core.durations import count_duration, count_epochs, read_duration
from training.errors import Problem, pluralize
from training.toml_text import Toml

AnySchedule = ScheduleSection | OneCycle
_MOST_DECADES = 100
"""That an exponential schedule may rise by: far beyond any use, and far from what no number holds."""

FITS_ANY_RUN: Mapping[str, Toml] = {
    "schedule.warmup": "5 %",
    "schedule.t_0": "25 %",
    "schedule.step_size": "25 %",
    "schedule.milestones": ["50 %", "75 %"],
}
"""For each duration one that no run is too short for."""


def schedule_problems(config: RunConfig) -> Iterator[Problem]:
    """As far as the settings alone tell; ``duration_problems`` tells the rest once the data is known."""
    schedule, loop = config.schedule, config.loop
    if isinstance(schedule, OneCycle):
        if schedule.base_momentum > schedule.max_momentum:
            yield Problem("schedule.base_momentum", "must not exceed max_momentum; lower it.")
        return
    if isinstance(schedule, MultiStep):
        read = [read_duration(each) for each in schedule.milestones]
        numbers = [number for number, _ in read]
        if len({unit for _, unit in read}) == 1 and numbers != sorted(set(numbers)):
            yield Problem("schedule.milestones", "must rise from each to the next, for example 1000, 2000.")
    for path, duration in durations_of(schedule):
        number, unit = read_duration(duration)
        if unit == "epoch" and goes_by_epochs(schedule) and not float(number).is_integer():
            whole = f'Write a whole number of epochs, for example "{max(round(number), 1)} epochs".'
            yield Problem(path, f"{duration} cannot be had where schedule.every is epoch. {whole}")
        elif path == "schedule.warmup" and number == 100.0 and unit == "%":
            yield Problem(path, "must be less than 100 %: nothing of the run would be left behind the warm-up.")
        elif unit == "epoch" and loop.max_steps is None:
            yield from _too_long(path, duration, number, loop.epochs, pluralize(loop.epochs, "epoch"))
        elif unit == "step" and loop.max_steps is not None:
            limit = f"{pluralize(loop.max_steps, 'step')} (loop.max_steps)"
            yield from _too_long(path, duration, number, loop.max_steps, limit)


def duration_problems(schedule: AnySchedule, total_steps: int, steps_per_epoch: int) -> Iterator[Problem]:
    """What is wrong with the durations of ``schedule`` in a run of ``total_steps`` optimizer steps."""
    by_epochs, counted = goes_by_epochs(schedule), list[int]()
    if by_epochs and isinstance(schedule, OneCycle) and count_epochs(total_steps, steps_per_epoch) == 1:
        yield Problem(
            "schedule.every",
            "a cycle that goes by epochs needs two of them at least: the only one would be trained at the cycle's last rate; "
            "let it be step, or train longer.",
            {"schedule.every": "step"},
        )
    for path, duration in durations_of(schedule):
        try:
            units = count_duration(duration, total_steps, steps_per_epoch, "epoch" if by_epochs else "step")
        except ValueError as error:
            near = max(round(read_duration(duration)[0] / steps_per_epoch), 1)
            advice = f'write for example "{pluralize(near, "epoch")}", or let schedule.every be step.'
            fix = {path: f"{near} epochs"} if path != "schedule.milestones" else {}
            yield Problem(path, f"{error}; {advice}", fix)
            continue
        counted += [units] * (path == "schedule.milestones")
        steps = units * steps_per_epoch if by_epochs else units
        length = count_epochs(total_steps, steps_per_epoch) if by_epochs else total_steps
        shown = pluralize(total_steps, "step")
        yield from _too_long(path, duration, units, length, shown, steps)
    if counted != sorted(set(counted)):
        yield Problem("schedule.milestones", "must rise from each to the next, for example 1000, 2000.")
    if isinstance(schedule, Exponential):
        length = count_epochs(total_steps, steps_per_epoch) if by_epochs else total_steps
        if length * math.log10(schedule.gamma) > _MOST_DECADES:
            yield Problem(
                "schedule.gamma",
                f"{schedule.gamma:g} makes the rate more than 1e{_MOST_DECADES} times as high by the end of {pluralize(total_steps, 'step')}; "
                "lower it, or train for fewer steps.",
            )


def goes_by_epochs(schedule: AnySchedule) -> bool:
    """Whether the rate changes once per epoch."""
    return isinstance(schedule, Cadence) and schedule.every == "epoch"


def durations_of(schedule: AnySchedule) -> list[tuple[str, int | str]]:
    """Each duration of ``schedule`` with the dotted setting that holds it."""
    found: list[tuple[str, int | str]] = []
    for spec in describe(type(schedule)):
        value = getattr(schedule, spec.name)
        if spec.editor == "duration":
            found.append((f"schedule.{spec.name}", value))
        elif spec.editor == "durations":
            found += [(f"schedule.{spec.name}", each) for each in value]
    return found


def _too_long(
    path: str, duration: int | str, units: float, length: int, run: str, steps: int | None = None
) -> Iterator[Problem]:
    """``units`` of the ``length`` units of a run that is ``run`` long; a warm-up has to leave something of it."""
    warmup = path == "schedule.warmup"
    if units < length or (units == length and not warmup):
        return
    shown = pluralize(duration, "step") if isinstance(duration, int) else duration
    in_steps = f" ({pluralize(steps, 'step')})" if steps is not None and isinstance(duration, str) else ""
    what = "must be shorter than the run" if warmup else "is longer than the run"
    named = f"the warm-up of {shown}{in_steps}" if warmup else f"{shown}{in_steps}"
    fitting = FITS_ANY_RUN[path]
    example = ", ".join(map(str, fitting)) if isinstance(fitting, list) else str(fitting)
    advice = f'write less, for example "{example}" of the run, or train longer.'
    yield Problem(path, f"{named} {what}, which has {run}; {advice}", {path: fitting})
