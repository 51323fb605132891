"""``profile.json``: where the time of a run's steps went, as it is kept in the run folder and read by whoever shows it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from training.atomic import write_text
from training.reading import MEGABYTE, parse_json, read_bytes
from training.runs.folder import RunFolder

Lap = Literal[
    "data", "forward", "backward", "clip", "update", "step", "logging", "validation", "saving", "paused"
]  # fmt: skip
"""What ``Session.lap`` is told: the name of what has just ended."""

StepPart = Literal["wait", "copy", "forward", "backward", "clip", "update", "step", "logging"]
"""Parts of a step. "data" is told apart into the waiting for samples and all that is done with them."""

Outside = Literal["validation", "saving", "paused"]

STEP_PARTS: tuple[StepPart, ...] = ("wait", "copy", "forward", "backward", "clip", "update", "step", "logging")
OUTSIDE: tuple[Outside, ...] = ("validation", "saving", "paused")

PART_TITLES: dict[StepPart | Outside, str] = {
    "wait": "Wait for data",
    "copy": "Copy and prepare",
    "forward": "Forward",
    "backward": "Backward",
    "clip": "Clip",
    "update": "Update",
    "step": "Compiled step",
    "logging": "Logging",
    "validation": "Validation",
    "saving": "Saving",
    "paused": "Paused",
}

_MOST_COUNT = 1 << 53
_LONGEST = 1e10  # seconds

Count = Annotated[int, Field(ge=0, le=_MOST_COUNT)]
Seconds = Annotated[float, Field(ge=0.0, le=_LONGEST)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class PartTime(_Record):
    """One part of a step: seconds in all the steps measured, and of one step."""

    seconds: Seconds
    mean: Seconds
    median: Seconds
    p95: Seconds


class OutsideTime(_Record):
    """What happened between steps: seconds in all, and how often."""

    seconds: Seconds
    times: Count


class FirstSteps(_Record):
    """The steps before the measured ones, in which memory is taken, threads start and a compiler works."""

    steps: Count
    seconds: Seconds


class Profile(_Record):
    """Where the time went. ``seconds`` is that of all the steps measured, without ``first`` and ``outside``."""

    format: Literal[1] = 1
    time: Annotated[float, Field(ge=0.0, le=1e11)]  # when it was written, since 1970
    last_step: Count
    steps: Count
    seconds: Seconds
    median: Seconds  # of one step
    p95: Seconds
    samples_per_second: Annotated[float, Field(ge=0.0, le=1e15)]
    device: Annotated[str, Field(max_length=200)]
    on_gpu: bool
    clock: Literal["host", "device"]  # whose clock measured the parts
    batches: Literal["resident", "streamed"]
    workers: Count
    cores: Count
    cached: bool  # the pictures came decoded, from the cache
    parts: dict[StepPart, PartTime]
    first: FirstSteps
    outside: dict[Outside, OutsideTime]
    starved: Share | None = None  # of the steps: the GPU had done all it was given before the processor had more

    def share(self, *parts: StepPart) -> float:
        """Of the time of the steps, 0 to 1."""
        part_seconds = sum(self.parts[part].seconds for part in parts if part in self.parts)
        return min(part_seconds / self.seconds, 1.0) if self.seconds else 0.0

    def outside_share(self, *parts: Outside) -> float:
        """Of the whole time but the first steps and pauses, 0 to 1."""
        whole = self.seconds + sum(spent.seconds for part, spent in self.outside.items() if part != "paused")
        return sum(self.outside[part].seconds for part in parts if part in self.outside) / whole if whole else 0.0


def write_profile(folder: RunFolder, profile: Profile) -> None:
    """Replace the run's profile; raises OSError. It can be measured again, so the disk is not waited for."""
    write_text(folder.profile_file, json.dumps(profile.model_dump(), indent=1) + "\n", durable=False)


def read_profile(folder: RunFolder) -> Profile | None:
    """The run's profile; None when it has none, or the file holds anything else."""
    try:
        data: Any = parse_json(read_bytes(folder.profile_file, MEGABYTE))
        return Profile.model_validate_json(json.dumps(data))  # as JSON: 1 is as good a number of seconds as 1.0
    except (OSError, ValueError, ValidationError):
        return None
