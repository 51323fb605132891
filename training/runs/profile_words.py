"""What a profile says, in words: for the terminal and the window alike."""

from __future__ import annotations

from training.config import RunConfig
from training.errors import counted
from training.events import Found
from training.runs.profile_record import PART_TITLES, STEP_PARTS, Outside, Profile

MUCH_WAITING = 0.1
MUCH_COPYING = 0.25
MUCH_LOGGING = 0.05
MUCH_SAVING = 0.1
MUCH_VALIDATION = 0.4
_MUCH_OUTSIDE: dict[Outside, float] = {"validation": MUCH_VALIDATION, "saving": MUCH_SAVING}
MOSTLY_STARVED = 0.5
SHORT_STEP = 0.001
"""Seconds. A whole step on the spiral took 0.36 ms as Python and 0.16 ms compiled (medians of one profile each)."""

SLOW_FIRST_STEPS = 5.0  # times as long as the others
_MOST_WORKERS = 8


def milliseconds(seconds: float) -> str:
    """Three digits of it, with the unit: "0.0214 ms", "3.21 ms", "1,250 ms"."""
    value = 1000.0 * seconds
    if value >= 999.5:
        return f"{value:,.0f} ms"
    return f"{value:.3g} ms" if value >= 0.00005 else "0 ms"


def percent(share: float) -> str:
    """ "42 %"; a decimal where whole numbers would say nothing: "0.3 %"."""
    return (
        f"{share:.0%}".replace("%", " %")
        if share >= 0.095 or not share
        else f"{max(share, 0.001):.1%}".replace("%", " %")
    )


def summary(profile: Profile) -> str:
    """What was measured, in one line."""
    mean = profile.seconds / profile.steps if profile.steps else 0.0
    return (
        f"{counted(profile.steps, 'step')} of {milliseconds(mean)} (half of them under {milliseconds(profile.median)}, 95 % "
        f"under {milliseconds(profile.p95)}), {profile.samples_per_second:,.0f} samples/s on {profile.device}"
    )


def step_table(profile: Profile) -> list[tuple[str, float, float]]:
    """Title, mean seconds and share of each part of a step, in the order in which they come."""
    return [
        (PART_TITLES[part], profile.parts[part].mean, profile.share(part))
        for part in STEP_PARTS
        if part in profile.parts
    ]


def conclusions(profile: Profile, config: RunConfig | None) -> list[Found]:
    """What follows from ``profile``, the worst first; ``fix`` where settings of ``config`` help.

    The last ones only tell: what the arithmetic takes, what the rest costs, how long the first steps took.
    """
    found = [_waiting(profile, config), _launching(profile, config), _saving(profile, config)]
    found += [_validating(profile), _copying(profile), _logging(profile)]
    troubles = [item for item in found if item is not None]
    return [*troubles, *_arithmetic(profile, healthy=not troubles), *_costs(profile), *_first_steps(profile)]


def _waiting(profile: Profile, config: RunConfig | None) -> Found | None:
    share = profile.share("wait")
    if share < MUCH_WAITING:
        return None
    title = f"{percent(share)} of each step waits for data."
    if profile.workers:
        how = f"{counted(profile.workers, 'worker')} cannot read and decode as fast as the model trains"
    else:
        how = "One thread cannot read and decode as fast as the model trains"
    if config is not None and config.dataset.kind == "image_folder" and not profile.cached:
        advice = f"{how}: keep the decoded pictures on the disk, and later epochs and runs need not decode them."
        return Found(level="warning", title=title, advice=advice, fix={"loader.cache": "on"})
    most = min(profile.cores - 1, _MOST_WORKERS)
    alone = config is not None and config.loader.decoder == "gpu"  # no process can share what decodes there
    if most > profile.workers and not alone:
        return Found(level="warning", title=title, advice=f"{how}: use more workers.", fix={"loader.workers": most})
    limit = "the GPU decodes for one process only" if alone else "there are no more cores"
    advice = f"{how}, and {limit}: keep the samples in memory where they fit, or make pictures smaller."
    return Found(level="warning", title=title, advice=advice, fix={"loader.mode": "resident"})


def _launching(profile: Profile, config: RunConfig | None) -> Found | None:
    """Steps that are shorter than what it takes to start them."""
    if profile.starved is not None and profile.starved >= MOSTLY_STARVED:
        title = f"In {percent(profile.starved)} of the steps the GPU waits for the processor."
        advice = "Handing the step over takes longer than computing it"
        if config is None or config.precision.cuda_graphs != "off" or config.precision.compile == "model":
            return Found(level="warning", title=title, advice=f"{advice}: larger batches keep the GPU busy.")
        advice += ": record it once as a CUDA graph, or use larger batches."
        return Found(level="warning", title=title, advice=advice, fix={"precision.cuda_graphs": "on"})
    short = not profile.on_gpu and "step" not in profile.parts and 0.0 < profile.median < SHORT_STEP
    if not short or config is None or config.precision.compile != "off":
        return None
    return Found(
        level="info",
        title=f"Steps of {milliseconds(profile.median)} are more Python than arithmetic.",
        advice="Compiled as one piece such steps take half the time or less; this needs a C++ compiler.",
        fix={"precision.compile": "step"},
    )


def _saving(profile: Profile, config: RunConfig | None) -> Found | None:
    share = profile.outside_share("saving")
    if share < MUCH_SAVING:
        return None
    title = f"{percent(share)} of the time goes into saving checkpoints."
    every = config.checkpoints.every_steps if config is not None else None
    if every is None:
        return Found(
            level="warning", title=title, advice="The disk is slow, or an epoch is short: put runs on a faster disk."
        )
    # As often as keeps saving to half of what counts as much.
    rarer = round(every * max(2.0, share / (1.0 - share) / (MUCH_SAVING / 2)))
    return Found(level="warning", title=title, advice="Save less often.", fix={"checkpoints.every_steps": rarer})


def _validating(profile: Profile) -> Found | None:
    return _noted(
        profile.outside_share("validation"),
        MUCH_VALIDATION,
        "of the time goes into validation.",
        "Validate less often, set a smaller share of the data aside, or use larger validation batches.",
    )


def _copying(profile: Profile) -> Found | None:
    return _noted(
        profile.share("copy"),
        MUCH_COPYING,
        "of each step gathers and prepares the batch.",
        "Each variation of pictures has its price; turning off what does not help makes steps shorter.",
    )


def _logging(profile: Profile) -> Found | None:
    return _noted(
        profile.share("logging"),
        MUCH_LOGGING,
        "of each step goes into logging.",
        "It is done ten times a second and at the end of each epoch: epochs of few short steps make it show.",
    )


def _noted(share: float, much: float, where: str, advice: str) -> Found | None:
    """A remark without a setting to change, where ``share`` is ``much``."""
    return Found(level="info", title=f"{percent(share)} {where}", advice=advice) if share >= much else None


def _arithmetic(profile: Profile, healthy: bool) -> list[Found]:
    share = profile.share("forward", "backward", "clip", "update", "step")
    if not share:
        return []
    title = f"Forward, backward and update take {percent(share)} of each step."
    return [Found(level="ok" if healthy else "info", title=title)]


def _costs(profile: Profile) -> list[Found]:
    """What the rest takes, as far as nothing was said of it yet."""
    quiet = [
        f"{part} {percent(profile.outside_share(part))}"
        for part, much in _MUCH_OUTSIDE.items()
        if part in profile.outside and profile.outside_share(part) < much
    ]
    parts = [f"{' and '.join(quiet)} of the whole time"] if quiet else []
    logging = profile.share("logging")
    if logging < MUCH_LOGGING:
        parts.insert(0, f"logging {percent(logging)} of each step")
    if not parts:
        return []
    first, rest = parts[0].split(" ", 1)
    return [Found(level="info", title=f"{', '.join([f'{first.capitalize()} takes {rest}', *parts[1:]])}.")]


def _first_steps(profile: Profile) -> list[Found]:
    first = profile.first
    if not first.steps or not profile.steps:
        return []
    ratio = first.seconds / first.steps / (profile.seconds / profile.steps) if profile.seconds else 0.0
    if ratio < SLOW_FIRST_STEPS:
        return []
    title = f"The first {counted(first.steps, 'step')} took {first.seconds:.3g} s, each {ratio:,.0f} times as long as later ones."
    return [
        Found(level="info", title=title, advice="Memory is taken and code made ready then; they are not counted above.")
    ]
