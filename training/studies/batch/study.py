"""The batch size from the plan of its study to what is proposed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from training.config import RunConfig
from training.config.files import config_data
from training.errors import TrainingError, format_bytes, format_duration, pluralize
from training.studies.lr_range.ramp import HIGHEST_RATE, rate_setting
from training.studies.records import Cost, Draft, Options, Plan, Result
from training.studies.trainer import Trainer
from training.studies.worker import Worker, WorkerDied

SHARE_OF_MEMORY: Final = 0.9
"""That the largest batch may fill: what else is running wants some."""
SHARE_OF_SPEED: Final = 0.95
"""Of the best samples per second, which the knee reaches (the Deep Learning Tuning Playbook)."""
FEWEST_UPDATES: Final = 20
"""Steps that an epoch is to have."""
_SECONDS: Final = 1.5
_ROUNDS: Final = 3
_NOISE_STEPS: Final = 60
_MOST_SIZES: Final = 8
_TRIES: Final = 4


class Tried(NamedTuple):
    """A batch size that was tried: whether it ``fits``, the bytes at the ``peak`` (None where the process did not live to tell), and those that
    there are."""

    size: int
    fits: bool
    peak: int | None
    limit: int
    samples: int


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """Nothing to choose."""
    tries = 4 * (cost.start + 3 * cost.step + cost.validation)
    speeds = 8 * (_SECONDS * _ROUNDS + cost.start)
    noise = cost.start + 2 * _NOISE_STEPS * cost.step
    return Draft(
        seconds=tries + speeds + noise,
        words=(
            "The largest batch that fits, by real steps in processes of their own; the samples per second of smaller ones; the gradient noise "
            f"scale over {pluralize(_NOISE_STEPS, 'step')}. No run is made.",
            f"That takes about {format_duration(tries + speeds + noise)}, longer where batches are much larger than {config.loop.batch_size:,}.",
        ),
    )


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Memory, speed, noise; each is kept once it is measured."""
    config, study = plan.config, trainer.study

    def keep(name: str, measure: Callable[[], dict[str, object]]) -> dict[str, Any]:
        known = study.read_part(name)
        if not known:
            known = measure()
            study.write_part(name, known)
        return dict(known)

    def try_size(size: int) -> Tried:
        trainer.begin_part(f"Memory at a batch of {size:,}")
        told = keep(f"memory-{size}", lambda: _ask_alone(trainer, "memory", settings=_of_size(config, size)))
        trainer.say(_tell_tried(size, told))
        trainer.end_part()
        return Tried(size, told["fits"], told["peak"], told["limit"] or 0, told["samples"] or 0)

    def measure_speed(size: int) -> float:
        trainer.begin_part(f"Samples per second at a batch of {size:,}")
        told = keep(f"speed-{size}", lambda: _time(trainer, config, size))
        trainer.say(f"batch {size:,}: {told['rate']:,.0f} samples/s")
        trainer.end_part()
        return float(told["rate"])

    tried = find_largest(config.loop.batch_size, try_size)
    fitting = [each for each in tried if each.fits]
    if not fitting:
        raise TrainingError(
            "Not even a batch of 1 fits in memory.",
            "Choose a smaller model or image size, or activation checkpointing.",
        )
    largest = max(each.size for each in fitting)
    sizes = choose_sizes(largest, config.loop.batch_size)
    trainer.expect(len(tried) + len(sizes) + 1)
    rates = {size: measure_speed(size) for size in sizes}
    knee = find_knee(rates)
    trainer.begin_part("The gradient noise scale")
    noise = keep(
        "noise",
        lambda: _ask_alone(trainer, "noise-scale", settings=config_data(config), steps=_NOISE_STEPS),
    )
    return _conclude(config, tried, rates, knee, noise)


def _ask_alone(trainer: Trainer, what: str, **request: object) -> dict[str, object]:
    """In a process of its own, whose end is an answer, too: nothing fits then."""
    with Worker(trainer.interrupt) as worker:
        try:
            return worker.ask(what, **request)
        except WorkerDied:
            if what != "memory":
                raise
            return {"fits": False, "peak": None, "limit": None, "samples": None}


def _of_size(config: RunConfig, size: int) -> dict[str, JsonValue]:
    loop = config.loop.model_copy(update={"batch_size": size, "accumulation": 1, "on_out_of_memory": "stop"})
    return config_data(config.model_copy(update={"loop": loop}))


def _time(trainer: Trainer, config: RunConfig, size: int) -> dict[str, object]:
    """The best of some rounds: what else runs on the machine only ever makes it slower."""
    with Worker(trainer.interrupt) as worker:
        arm = f"batch-{size}"
        worker.ask("open-steps", arm=arm, settings=_of_size(config, size))
        rounds = [worker.ask("time-steps", arm=arm, seconds=_SECONDS) for _ in range(_ROUNDS)]
        worker.ask("close-steps", arm=arm)
    return {"rate": max(each["samples"] / each["seconds"] for each in rounds)}


def _tell_tried(size: int, told: Mapping[str, Any]) -> str:
    if not told["fits"]:
        return f"batch {size:,}: does not fit"
    return f"batch {size:,}: {format_bytes(told['peak'])} of {format_bytes(told['limit'])}"


def find_largest(first: int, try_size: Callable[[int], Tried]) -> list[Tried]:
    """All sizes that were tried, by ``try_size``: a first that fits and its double (or its half, where that is more than an epoch should have),
    the size that the line through both says, and where that does not fit, smaller ones. None of them fits where not even 1 does."""
    tried: dict[int, Tried] = {}

    def look(size: int) -> Tried:
        if size not in tried:
            tried[size] = try_size(size)
        return tried[size]

    size = first
    while not look(size).fits and size > 1:
        size //= 2
    low = look(size)
    if not low.fits:
        return list(tried.values())
    most = max(low.samples // FEWEST_UPDATES, 1)
    if low.size >= most:
        return list(tried.values())
    high = look(min(2 * low.size, most))
    if not high.fits:
        return list(tried.values())
    size = min(extrapolate(low, high), most)
    for _ in range(_TRIES):
        if size <= high.size or look(size).fits:
            break
        size = (high.size + size) // 2
    return list(tried.values())


def extrapolate(low: Tried, high: Tried) -> int:
    """The size at which the line through two that fit reaches ``SHARE_OF_MEMORY`` of the memory; a round number. Where the larger one takes
    no more than the smaller, memory is no limit."""
    assert low.peak is not None
    assert high.peak is not None
    slope = (high.peak - low.peak) / (high.size - low.size)
    if slope <= 0.0:
        return 1 << 30
    size = low.size + (SHARE_OF_MEMORY * high.limit - low.peak) / slope
    return max(_round_down(int(min(size, 1 << 30))), high.size)


def _round_down(size: int) -> int:
    """To a multiple of 8, or a power of two below that."""
    return size - size % 8 if size >= 8 else 1 << max(size.bit_length() - 1, 0)


def choose_sizes(largest: int, given: int) -> list[int]:
    """Powers of two up to the largest that fits, the largest ones, with that itself and the one that was given."""
    # Of a single sample batch normalization has nothing to normalize over.
    powers = [1 << power for power in range(largest > 1, largest.bit_length())]
    return sorted({*powers[-_MOST_SIZES:], largest, *([given] if given <= largest else [])})


def find_knee(rates: Mapping[int, float]) -> int:
    """The smallest size with ``SHARE_OF_SPEED`` of the best samples per second."""
    best = max(rates.values())
    return min(size for size, rate in rates.items() if rate >= SHARE_OF_SPEED * best)


def propose(config: RunConfig, knee: int, scale: float | None, samples: int) -> tuple[dict[str, JsonValue], list[str]]:
    """The settings, and why. Where the knee is no larger than a step has samples now, the steps stay as they are, in other micro-batches; else
    they grow as far as data and noise scale have it, and the learning rate with them."""
    loop = config.loop
    step_size = loop.batch_size * loop.accumulation
    if knee <= step_size:
        accumulation = max(round(step_size / knee), 1)
        batch = max(round(step_size / accumulation), 1)
        adopt: dict[str, JsonValue] = {"loop.batch_size": batch, "loop.accumulation": accumulation}
        unchanged = batch == loop.batch_size and accumulation == loop.accumulation
        return ({} if unchanged else adopt), [
            f"A step keeps {'its' if batch * accumulation == step_size else 'about its'} {pluralize(step_size, 'sample')}, so the learning rate may stay."
        ]
    limits = {knee: "the knee", max(samples // FEWEST_UPDATES, 1): f"{FEWEST_UPDATES} steps an epoch"}
    if scale is not None:
        limits[max(round(scale), 1)] = "the gradient noise scale"
    wanted = min(limits)
    size = 1 << max(wanted.bit_length() - 1, 0) if wanted < knee else knee
    if size <= step_size:
        return {}, [
            f"A step has {pluralize(step_size, 'sample')}; more would pass {limits[wanted]} ({wanted:,}), so it stays."
        ]
    factor = size / step_size
    linear = config.optimizer.kind == "sgd"
    path = rate_setting(config)
    section, _, name = path.partition(".")
    rate = min(getattr(getattr(config, section), name) * (factor if linear else math.sqrt(factor)), HIGHEST_RATE)
    rule = "linearly, as SGD wants it" if linear else "with the square root, as adaptive optimizers want it"
    return {"loop.batch_size": size, "loop.accumulation": 1, path: float(f"{rate:.3g}")}, [
        f"A step has {factor:.3g} times as many samples then (as far as {limits[wanted]} goes), and the learning rate grows {rule}; "
        "the run has fewer steps, so train for more epochs, or look whether it is as good."
    ]


def _conclude(
    config: RunConfig, tried: Sequence[Tried], rates: Mapping[int, float], knee: int, noise: Mapping[str, Any]
) -> Result:
    fitting = [each for each in tried if each.fits]
    largest, samples = max(each.size for each in fitting), max(each.samples for each in fitting)
    bounded = "memory" if any(not each.fits for each in tried) or largest < samples // FEWEST_UPDATES else "data"
    adopt, notes = propose(config, knee, noise["scale"], samples)
    if bounded == "memory":
        fits = f"The largest batch that fits is about {largest:,}"
    else:
        fits = f"Batches up to {largest:,} fit; larger ones would leave an epoch fewer than {FEWEST_UPDATES} steps"
    best = max(rates.values())
    sentence = (
        f"{fits}. The smallest with {SHARE_OF_SPEED:.0%} of the best {best:,.0f} samples/s is {knee:,} ({rates[knee]:,.0f} samples/s). "
        f"{_tell_noise(noise)}"
    )
    details: dict[str, JsonValue] = {
        "tried": [each._asdict() for each in tried],
        "largest": largest,
        "rates": {str(size): rate for size, rate in rates.items()},
        "knee": knee,
        "noise_scale": dict(noise),
    }
    return Result(
        kind="batch", sentence=sentence, notes=tuple(notes), adopt=adopt, details=details, created=time.time()
    )


def _tell_noise(noise: Mapping[str, Any]) -> str:
    if noise["scale"] is None:
        return "The gradient noise scale is larger than could be measured."
    limits = f" ({noise['low']:,.0f} to {noise['high']:,.0f})" if noise["high"] is not None else ""
    return (
        f"The gradient noise scale is about {noise['scale']:,.0f} samples{limits} over the first {pluralize(noise['steps'], 'step')}: a step "
        "of many more gains little. It grows while a run trains."
    )
