"""Runs that differ in the seed alone: how far they lie apart, and whether other settings make more of a difference than that."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pydantic import JsonValue

from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import diff
from training.config.files import config_data
from training.errors import InputError, pluralize
from training.studies.records import Cost, Draft, Options, Plan, PlannedRun, Result
from training.studies.spread import (
    Values,
    compare_pairs,
    describe_effect,
    describe_values,
    measure_values,
    show_size,
)
from training.studies.trainer import Trainer, read_metrics
from training.toml_text import Toml

USUAL_SEEDS, MOST_SEEDS = 5, 100


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: how many ``seeds``, and settings ``against`` which the configuration is compared."""
    count = read_count(options, USUAL_SEEDS, 2)
    ways = {"": config}
    against = read_against(options)
    if against:
        ways["other"] = change(config, against)
        if not diff(config, ways["other"]):
            raise InputError(f"--against {' '.join(against)}: is what the configuration says already.")
    runs = [each for way, chosen in ways.items() for each in plan_seeds(chosen, count, way)]
    what = f"{pluralize(count, 'seed')}, from {config.seed} on"
    if against:
        what += f", each with the configuration as it is and with {', '.join(against)}"
    expected = cost.estimate(config).repeat(len(runs))
    return Draft(runs=tuple(runs), seconds=expected.seconds, bytes=expected.bytes, words=(f"{what}.", expected.words))


def plan_seeds(config: RunConfig, count: int, way: str = "") -> list[PlannedRun]:
    """Runs of ``config`` with its seed and those that follow; their keys begin with ``way``."""
    seeds = [(config.seed + number) % 2**31 for number in range(count)]
    label = f"{way} seed" if way else "seed"
    return [
        PlannedRun.of(
            f"{way or 'as-is'}-{number}", config.model_copy(update={"seed": seed}).add_to_name(f"{label} {seed}")
        )
        for number, seed in enumerate(seeds)
    ]


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Train them all, and say what their final metrics tell."""
    trainer.expect(len(plan.runs))
    runs = trainer.train(plan.runs)
    name = plan.config.monitor
    metrics = {key: read_metrics(run) for key, run in runs.items()}
    usual = [values for key, values in metrics.items() if key.startswith("as-is-")]
    other = [values for key, values in metrics.items() if key.startswith("other-")]
    values = measure_values([each[name] for each in usual])
    sentence = f"{describe_values(name, values)}. {_describe_noise(name, values)}"
    notes = [
        f"{describe_values(each, measure_values([one[each] for one in usual]))}."
        for each in find_shared(usual)
        if each != name
    ]
    details: dict[str, JsonValue] = {
        "metric": name,
        "runs": {key: run.id for key, run in runs.items()},
        "values": {each: [one[each] for one in usual] for each in find_shared(usual)},
        "mean": values.mean.value,
        "low": values.mean.low,
        "high": values.mean.high,
        "std": values.std,
        "noise": values.noise,
    }
    if other:
        effect = compare_pairs(name, [each[name] for each in usual], [each[name] for each in other])
        against = ", ".join(read_against(plan.options))
        sentence += f" With {against} it is {describe_effect(name, effect)}, by pairs of one seed each."
        details |= {
            "others": {each: [one[each] for one in other] for each in find_shared(other)},
            "difference": effect.difference.value,
            "difference_low": effect.difference.low,
            "difference_high": effect.difference.high,
            "better": effect.better,
        }
    return Result(kind="seeds", sentence=sentence, notes=tuple(notes), details=details, created=time.time())


def _describe_noise(name: str, values: Values) -> str:
    if not values.std:
        return "Since they do not differ, they do not tell how far apart two single runs lie by chance."
    return f"Two single runs of it differ by up to {show_size(name, values.noise)} by chance (95 %): a smaller difference between two single runs is noise."


def find_shared(metrics: Sequence[object]) -> list[str]:
    """The metrics of the validation that all runs have."""
    tables = [each for each in metrics if isinstance(each, dict)]
    return [name for name in tables[0] if name.startswith("val/") and all(name in each for each in tables)]


def read_count(options: Options, usual: int, least: int) -> int:
    """How many seeds were asked for. Raises InputError."""
    count = options.get("seeds")
    if count is None:
        return usual
    if not isinstance(count, int) or not least <= count <= MOST_SEEDS:
        raise InputError(f"--seeds {count}: must be from {least} to {MOST_SEEDS}, for example {usual}.")
    return count


def read_against(options: Options) -> list[str]:
    """The settings to compare with, as ``--set`` takes them."""
    return read_names(options, "against")


def read_names(options: Options, option: str) -> list[str]:
    """What was given under ``option``, which takes several; nothing where it was not."""
    given = options.get(option)
    return [str(each) for each in given] if isinstance(given, list) else []


def change(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """``config`` with other settings. Raises InputError, ConfigError."""
    data: dict[str, Toml] = dict(config_data(config))
    apply_overrides(data, overrides)
    return parse_config(data, "the configuration with these settings")
