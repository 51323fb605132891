"""Validations of which a run kept no decision boundary, in a sentence: a viewer of the frames should not take them for all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from training.errors import pluralize
from training.runs.boundary.frames import MOST_FRAMES, Boundary
from training.runs.folder import RunFolder
from training.runs.records.history import read_history

_MOST_NAMED = 8


def tell_gaps(folder: RunFolder, boundary: Boundary) -> str:
    """Which validations have no frame in ``boundary``, and why; "" where each has one."""
    shown = set(boundary.frames["step"].tolist())
    history = read_history(folder.events_file)
    validated = {event.step: event.epoch for event in history.validations}
    newest = max(shown, default=0) if history.final is None else max(validated, default=0)  # a frame may be on its way
    missing = [step for step in sorted(validated) if step not in shown and step <= newest]
    if not missing:
        return ""
    epochs = [validated[step] for step in missing]
    by_epoch = len(set(validated.values())) == len(validated)
    what = f"{'epoch' if len(missing) == 1 else 'epochs'} {join_ranges(epochs)}" if by_epoch else _tell_steps(missing)
    if len(validated) > MOST_FRAMES:
        return f"No frame of {what}: the file holds at most {MOST_FRAMES}, spread over the run."
    config = folder.readable_config()
    always = config is not None and config.loop.decision_boundary == "every_validation"
    why = "" if always else " Decision boundary: every_validation keeps all."
    return f"No frame of {what}: drawing them would have taken more than a second and 2 % of the run's time.{why}"


def _tell_steps(steps: Sequence[int]) -> str:
    return f"{pluralize(len(steps), 'validation')} between step {steps[0]:,} and step {steps[-1]:,}"


def join_ranges(numbers: Sequence[int]) -> str:
    """``1 to 3, 7, 9 to 12`` of rising numbers; of many stretches the first, and how many numbers more."""
    stretches = [
        [number for _, number in group] for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    named = [f"{part[0]:,}" if len(part) == 1 else f"{part[0]:,} to {part[-1]:,}" for part in stretches[:_MOST_NAMED]]
    more = sum(map(len, stretches[_MOST_NAMED:]))
    return ", ".join([*named, f"and {more:,} more"] if more else named)
