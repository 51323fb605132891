"""``profile.json``: where the time of some seconds of steps went, and what follows from it, for terminal and window alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from training.config import RunConfig
from training.errors import pluralize
from training.events import Finding
from training.runs.folder import RunFolder
from training.system.atomic import write_text
from training.system.untrusted import MEGABYTE, read_bytes

StepPart = Literal["wait", "copy", "forward", "backward", "clip", "update", "step", "logging"]
Outside = Literal["validation", "saving"]

PART_TITLES: Mapping[StepPart, str] = {
    "wait": "Data-loading stall",
    "copy": "Copy and augment",
    "forward": "Forward",
    "backward": "Backward",
    "clip": "Gradient clipping",
    "update": "Optimizer step",
    "step": "Compiled step",
    "logging": "Logging",
}
"""In the order in which they come."""

OUTSIDE_TITLES: Mapping[Outside, str] = {"validation": "validation", "saving": "saving checkpoints"}
COMPUTING: tuple[StepPart, ...] = ("forward", "backward", "clip", "update", "step")

MUCH_WAITING = MUCH_SAVING = 0.1
SMALL_USE = 0.5  # of a GPU
SHORT_STEP = 0.001
"""Seconds. A whole step on the spiral took 0.36 ms as Python and 0.16 ms compiled (medians of one profile each)."""

_MOST_WORKERS = 8
_VALIDATE_LESS = "Validate less often, use a smaller validation split, or larger validation batches."
_AUGMENT_LESS = "Each augmentation has its price; turning off what does not help makes steps shorter."
_LOG_LESS = "It is done ten times a second and at the end of each epoch: epochs of few short steps make it show."


class Profile(BaseModel):
    """Where the time of ``steps`` steps went: seconds of each part, and of what came between steps (``outside``)."""

    model_config = ConfigDict(frozen=True)

    format: Literal[2] = 2
    last_step: int
    steps: int
    samples_per_second: float
    device: str
    busy: float | None
    """Share of the time of ``COMPUTING`` in which a GPU computes; None on the CPU."""
    workers: int
    cores: int
    cached: bool
    """Whether images come decoded, from the cache."""
    parts: dict[StepPart, float]
    outside: dict[Outside, float]

    @property
    def seconds(self) -> float:
        """Of all the steps."""
        return sum(self.parts.values())

    @property
    def step_seconds(self) -> float:
        """Of one step, on average."""
        return self.seconds / self.steps

    def share(self, *parts: StepPart) -> float:
        """Of the time of the steps, 0 to 1."""
        return sum(self.parts.get(part, 0.0) for part in parts) / self.seconds

    def outside_share(self, part: Outside) -> float:
        """Of the whole time, 0 to 1."""
        return self.outside.get(part, 0.0) / (self.seconds + sum(self.outside.values()))


def write_profile(folder: RunFolder, profile: Profile) -> None:
    """Replace the run's profile; raises OSError. It can be taken again, so the disk is not waited for."""
    write_text(folder.profile_file, profile.model_dump_json(indent=1) + "\n", durable=False)


def read_profile(folder: RunFolder) -> Profile | None:
    """The run's profile; None where it has none, and for one that an earlier version took."""
    try:
        return Profile.model_validate_json(read_bytes(folder.profile_file, MEGABYTE))
    except (OSError, ValueError):
        return None


def format_milliseconds(seconds: float) -> str:
    """Three digits of it, with the unit: "0.0214 ms", "3.21 ms", "1,250 ms"."""
    value = 1000.0 * seconds
    return f"{value:,.0f} ms" if value >= 999.5 else f"{value:.3g} ms"


def format_percent(share: float) -> str:
    """ "42%"; a decimal where whole numbers would say nothing: "0.3%"."""
    return f"{100.0 * share:.0f}%" if share >= 0.095 or not share else f"{max(100.0 * share, 0.1):.1f}%"


def summarize(profile: Profile) -> str:
    """What was measured, in one line."""
    return (
        f"{pluralize(profile.steps, 'step')} of {format_milliseconds(profile.step_seconds)}, "
        f"{profile.samples_per_second:,.0f} samples/s on {profile.device}, slowed by the profiler"
    )


def advise(profile: Profile, config: RunConfig | None) -> list[Finding]:
    """What follows from ``profile``, the worst first, with ``fix`` where settings of ``config`` help; then what the
    arithmetic and the rest take."""
    advice = (_speed_up_data, _speed_up_launches, _save_less_often)
    found = [item for give in advice if (item := give(profile, config)) is not None]
    remarks = (
        (profile.outside_share("validation"), 0.4, "of the time goes into validation.", _VALIDATE_LESS),
        (profile.share("copy"), 0.25, "of each step gathers and prepares the batch.", _AUGMENT_LESS),
        (profile.share("logging"), 0.05, "of each step goes into logging.", _LOG_LESS),
    )
    for share, much, where, why in remarks:
        if share >= much:
            found.append(Finding(level="info", title=f"{format_percent(share)} {where}", advice=why))
    between = (f"{title} {format_percent(profile.outside_share(part))}" for part, title in OUTSIDE_TITLES.items())
    title = f"Forward, backward and update take {format_percent(profile.share(*COMPUTING))} of each step."
    rest = f"Of the whole time {' and '.join(between)}."
    return [*found, Finding(level="info" if found else "ok", title=title, advice=rest)]


def _speed_up_data(profile: Profile, config: RunConfig | None) -> Finding | None:
    share = profile.share("wait")
    if share < MUCH_WAITING:
        return None
    who = pluralize(profile.workers, "worker") if profile.workers else "One thread"
    most = min(profile.cores - 1, _MOST_WORKERS)
    fix: dict[str, JsonValue]
    if config is not None and config.dataset.kind == "image_folder" and not profile.cached:
        how = "keep the decoded images on the disk, and later epochs and runs need not decode them"
        fix = {"loader.cache": "on"}
    elif most > profile.workers:
        how, fix = "use more workers", {"loader.workers": most}
    else:
        how = "there are no more cores: keep the samples in memory where they fit, or make images smaller"
        fix = {"loader.mode": "resident"}
    return Finding(
        level="warning",
        title=f"{format_percent(share)} of each step waits for data.",
        advice=f"{who} cannot read and decode as fast as the model trains; {how}.",
        fix=fix,
    )


def _speed_up_launches(profile: Profile, config: RunConfig | None) -> Finding | None:
    """Steps that are shorter than what it takes to start them."""
    if profile.busy is not None and profile.busy < SMALL_USE:
        title = f"The GPU waits for the CPU in {format_percent(1.0 - profile.busy)} of the time of forward, backward and update."
        why = "Handing the step over takes longer than computing it"
        if config is None or config.precision.cuda_graphs != "off" or config.precision.compile == "model":
            return Finding(level="warning", title=title, advice=f"{why}: larger batches keep the GPU busy.")
        advice = f"{why}: record it once as a CUDA graph, or use larger batches."
        return Finding(level="warning", title=title, advice=advice, fix={"precision.cuda_graphs": "on"})
    eager = config is not None and config.precision.compile == "off"
    if profile.busy is not None or not eager or profile.step_seconds >= SHORT_STEP:
        return None
    return Finding(
        level="info",
        title=f"Steps of {format_milliseconds(profile.step_seconds)} are more Python than arithmetic.",
        advice="Compiled as one piece such steps take half the time or less; this needs a C++ compiler.",
        fix={"precision.compile": "step"},
    )


def _save_less_often(profile: Profile, config: RunConfig | None) -> Finding | None:
    share = profile.outside_share("saving")
    if share < MUCH_SAVING:
        return None
    title = f"{format_percent(share)} of the time goes into saving checkpoints."
    every = config.checkpoints.every_steps if config is not None else None
    if every is None:
        how = "The disk is slow, or an epoch is short: put runs on a faster disk."
        return Finding(level="warning", title=title, advice=how)
    # As often as keeps saving to half of what counts as much.
    rarer = round(every * max(2.0, share / (1.0 - share) / (MUCH_SAVING / 2)))
    return Finding(level="warning", title=title, advice="Save less often.", fix={"checkpoints.every_steps": rarer})
