"""What each setting that is not at its default is worth: runs with one of them back at its default, beside runs as configured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from training.config import RunConfig
from training.config.diff import Change, changes_from_defaults
from training.config.files import overrides_of
from training.config.rules.effects import effect_of
from training.errors import ConfigError, InputError, join_sentences, pluralize
from training.runs.folder import make_slug
from training.studies.records import Cost, Draft, Options, Plan, Result
from training.studies.seeds import change, plan_seeds, read_count, read_names
from training.studies.spread import Effect, compare_pairs, describe_effect
from training.studies.trainer import Trainer, read_metrics

USUAL_SEEDS, MOST_SETTINGS = 3, 40
_OF_NO_MATTER = ("none", "name", "place", "device", "data", "order", "judging", "rounding")
"""What settings act on that have no default to go back to, or are no part of the recipe."""
_INCOMPARABLE = ("none", "name", "place", "device", "data")
"""Of these what differ in nothing, or in what they are measured on: not even a person who names one can have it compared."""
_CHOSEN = ("dataset.kind", "model.kind", "objective.kind", "loop.epochs", "loop.max_steps")
"""What the run is about, and how long it is."""


class Ablated(NamedTuple):
    """A setting at its default: the runs of it have keys that begin with ``key``; ``override`` is as ``--set`` takes it."""

    path: str
    key: str
    override: str
    config: RunConfig


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: how many ``seeds``, and ``only`` some settings by their names."""
    count = read_count(options, USUAL_SEEDS, 1)
    found, left_out = find_settings(config, read_names(options, "only"))
    if not found:
        nothing = "No setting of the recipe is away from its default, so there is nothing to take back."
        raise InputError(join_sentences(left_out or [nothing]))
    if len(found) > MOST_SETTINGS:
        raise InputError(f"{len(found)} settings are away from their defaults; name those of interest with --only.")
    runs = plan_seeds(config, count)
    for each in found:
        runs += plan_seeds(each.config, count, each.key)
    expected = cost.estimate(config).repeat(len(runs))
    words = [
        f"{pluralize(len(found), 'setting')} back at the default, one at a time, on {pluralize(count, 'seed')}, beside the configuration "
        f"as it is: {', '.join(each.override for each in found)}.",
        expected.words,
        *left_out,
    ]
    if count == 1:
        words.append("One seed does not tell an effect from noise; three do.")
    return Draft(runs=tuple(runs), seconds=expected.seconds, bytes=expected.bytes, words=tuple(words))


def find_settings(config: RunConfig, only: Sequence[str] = ()) -> tuple[list[Ablated], list[str]]:
    """The settings that can go back to their default, and a sentence for each that cannot. Raises InputError for names in ``only`` that
    are at their default, are none, or cannot be compared."""
    changed = {each.path: each for each in changes_from_defaults(config) if _is_comparable(each)}
    for path in only:
        if path not in changed:
            known = ", ".join(changed) or "none"
            raise InputError(
                f"--only {path}: is no setting away from its default whose effect can be compared; such are {known}."
            )
    wanted = [changed[path] for path in only] if only else [each for each in changed.values() if _is_recipe(each)]
    found, left_out = [], []
    for each in wanted:
        (override,) = overrides_of({each.path: each.old})
        try:
            without = change(config, [override])
        except (ConfigError, InputError) as error:
            reason = str(error).splitlines()[0].strip().rstrip(".")
            left_out.append(f"Left out, because the rest does not go with its default: {override} ({reason}).")
            continue
        found.append(Ablated(each.path, make_slug(each.path), override, without))
    return found, left_out


def _is_comparable(change: Change) -> bool:
    return change.path not in _CHOSEN and effect_of(change) not in _INCOMPARABLE


def _is_recipe(change: Change) -> bool:
    return _is_comparable(change) and effect_of(change) not in _OF_NO_MATTER


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Train them all; the effect of each is that of having the setting as it is."""
    config = plan.config
    trainer.expect(len(plan.runs))
    runs = trainer.train(plan.runs)
    count, name = read_count(plan.options, USUAL_SEEDS, 1), config.monitor
    found, _ = find_settings(config, read_names(plan.options, "only"))

    def read(way: str) -> list[float]:
        return [read_metrics(runs[f"{way}-{number}"])[name] for number in range(count)]

    as_is = read("as-is")
    effects = {each: compare_pairs(name, read(each.key), as_is) for each in found}
    details: dict[str, JsonValue] = {
        "metric": name,
        "runs": {key: run.id for key, run in runs.items()},
        "values": list(as_is),
        "settings": [_describe(each, effect) for each, effect in effects.items()],
    }
    return Result(
        kind="ablation",
        sentence=_conclude(effects, count),
        notes=tuple(_tell(name, effects)),
        details=details,
        created=time.time(),
    )


def _describe(each: Ablated, effect: Effect) -> JsonValue:
    return {
        "path": each.path,
        "default": each.override.partition("=")[2],
        "without": effect.before,
        "with": effect.after,
        "difference": effect.difference.value,
        "low": effect.difference.low,
        "high": effect.difference.high,
        "better": effect.better,
    }


def _conclude(effects: dict[Ablated, Effect], seeds: int) -> str:
    helps = [each.path for each, effect in effects.items() if effect.better]
    harms = [each.path for each, effect in effects.items() if effect.better is False]
    noise = len(effects) - len(helps) - len(harms)
    if seeds == 1:
        return f"One seed tells nothing of noise: the effects of {pluralize(len(effects), 'setting')} are listed, not judged."
    parts = [f"{', '.join(helps)} help" + "s" * (len(helps) == 1)] if helps else []
    parts += [f"{', '.join(harms)} harm" + "s" * (len(harms) == 1)] if harms else []
    parts += [f"{noise} of {pluralize(len(effects), 'setting')} did no more than noise"] if noise else []
    return f"Over {pluralize(seeds, 'seed')}: {'; '.join(parts)}."


def _tell(name: str, effects: dict[Ablated, Effect]) -> Iterator[str]:
    """The largest effect first."""
    for each, effect in sorted(effects.items(), key=lambda pair: -abs(pair[1].difference.value)):
        yield f"{each.override} → as it is: {describe_effect(name, effect)}."
