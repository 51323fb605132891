"""The speed check from its plan to what is kept: one setting after the other, each on top of those that were kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import psutil
from pydantic import JsonValue

from training.config import RunConfig
from training.config.files import config_data
from training.errors import InputError, format_duration
from training.runs.folder import make_slug
from training.statistics.intervals import LEVEL, Interval
from training.studies.records import Cost, Draft, Options, Plan, Result
from training.studies.seeds import change
from training.studies.speed import measure
from training.studies.speed.candidates import ON_GPU, Candidate, list_candidates, suits_mode
from training.studies.speed.measure import Ratio, compare_losses, measure_pair, read_ratio
from training.studies.trainer import Trainer
from training.studies.worker import Worker

_LOOK_SECONDS: Final = 1.0
_MUCH: Final = 0.3
_BUSY: Final = "they slow one process more than another, so the factors are less certain than their intervals say. Repeat it when they are done."


class Tried(NamedTuple):
    """A candidate beside what was kept before: its ratio, whether it is ``kept``, and by how much the losses of the first steps differ."""

    candidate: Candidate
    ratio: Ratio
    kept: bool
    apart: float
    start: float


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: ``only`` some settings by their names."""
    candidates = _choose(config, cost.device, options)
    if not candidates:
        known = sorted({each.path for device in ("cpu", "cuda") for each in list_candidates(config, device)})
        raise InputError(
            f"--only {' '.join(read_only(options))}: is nothing that is tried; tried are {', '.join(known)}."
        )
    count = len(candidates)
    each = 2 * measure.ROUNDS * max(measure.SECONDS, 2 * cost.step) + 2 * (cost.start + 6 * cost.step)
    paths = ", ".join(dict.fromkeys(each.path for each in candidates))
    return Draft(
        words=(
            f"Up to {count} settings are tried beside what was kept before, turn by turn in two processes: {paths}. No run is made.",
            f"That takes up to about {format_duration(count * each)}; compiling adds seconds to minutes.",
        )
    )


def read_only(options: Options) -> list[str]:
    """The settings that were asked for; all where none was."""
    given = options.get("only")
    return [str(each) for each in given] if isinstance(given, list) else []


def _choose(config: RunConfig, device: str, options: Options) -> list[Candidate]:
    only = read_only(options)
    return [each for each in list_candidates(config, device) if not only or each.path in only]


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Try them all, then what was kept against what was given."""
    config, study = plan.config, trainer.study
    opened: dict[str, Any] = study.read_part("as-is")
    if not opened:
        busy = psutil.cpu_percent(interval=_LOOK_SECONDS) / 100.0
        with Worker(trainer.interrupt) as worker:
            opened = worker.ask("open-steps", arm="A", settings=config_data(config))
            worker.ask("close-steps", arm="A")
        opened["busy"] = busy
        study.write_part("as-is", opened)
    candidates = _choose(config, opened["device"], plan.options)
    level = 1.0 - (1.0 - LEVEL) / max(
        len(candidates), 1
    )  # Bonferroni: of many that are tried one looks faster by chance
    base, mode = config, opened["mode"]
    tried: list[Tried] = []
    refused: list[str] = []
    adopt: dict[str, JsonValue] = {}
    for candidate in candidates:
        if candidate.is_set(base) or not suits_mode(candidate, mode):
            continue
        try:
            chosen = change(base, [candidate.override])
        except InputError as error:
            refused.append(f"{candidate.override}: {str(error).splitlines()[0].strip()}")
            continue
        measured = _measure(trainer, f"{make_slug(candidate.override)}", base, chosen)
        if "refused" in measured:
            refused.append(f"{candidate.override}: {measured['refused']}")
            continue
        ratio = read_ratio(measured, level)
        found = Tried(candidate, ratio, ratio.is_faster, compare_losses(measured["losses"]), measured["start"])
        tried.append(found)
        trainer.say(f"{candidate.override}: {show_ratio(ratio.interval)}{'; kept' if found.kept else ''}")
        if found.kept:
            base, mode = chosen, measured["modes"][1]
            adopt[candidate.path] = candidate.value
    whole = None
    if adopt:
        whole = read_ratio(_measure(trainer, "whole", config, base), LEVEL)
    not_tried = [path for path in ON_GPU if opened["device"] != "cuda" and not read_only(plan.options)]
    return _conclude(tried, refused, adopt, whole, not_tried, opened.get("busy", 0.0))


def _measure(trainer: Trainer, key: str, first: RunConfig, second: RunConfig) -> dict[str, Any]:
    known: dict[str, Any] = trainer.study.read_part(key)
    if not known:
        known = measure_pair(trainer, first, second, measure.SECONDS)
        trainer.study.write_part(key, known)
    return known


def show_ratio(ratio: Interval) -> str:
    """ "1.8 times as fast (1.6 to 2)"."""
    return f"{ratio.value:.3g} times as fast ({ratio.low:.3g} to {ratio.high:.3g})"


def _conclude(
    tried: Sequence[Tried],
    refused: Sequence[str],
    adopt: dict[str, JsonValue],
    whole: Ratio | None,
    not_tried: Sequence[str],
    busy: float,
) -> Result:
    if whole is None:
        sentence = "Nothing that was tried makes the steps faster by more than chance."
    else:
        first, second = whole.rates
        settings = ", ".join(
            each.candidate.override
            for each in tried
            if adopt.get(each.candidate.path) == each.candidate.value and each.kept
        )
        sentence = f"{show_ratio(whole.interval)} with {settings}: {first:,.0f} → {second:,.0f} samples/s."
    if whole is not None and not whole.is_faster:
        sentence = (
            f"Nothing is proposed: in new processes it is {sentence} What was kept may have been faster by chance."
        )
        adopt = {}
    elif whole is not None:
        changing = [each.candidate.override for each in tried if each.kept and changes_results(each)]
        if changing:
            sentence += f" Results change with {', '.join(changing)}."
        else:
            sentence += " The results stay the same to the bit, as far as the first steps tell."
    notes = [
        *([f"Other programs took {busy:.0%} of the processor before it began: {_BUSY}"] if busy > _MUCH else []),
        *(_tell(each) for each in tried),
        *(f"Not tried: {each}" for each in refused),
        *([f"Not tried here: {', '.join(not_tried)}, which NVIDIA GPUs have."] if not_tried else []),
        "Fused optimizers are not varied: they are taken wherever PyTorch has them.",
    ]
    details: dict[str, JsonValue] = {
        "tried": [
            {
                "setting": each.candidate.path,
                "value": each.candidate.value,
                "ratio": each.ratio.interval.value,
                "low": each.ratio.interval.low,
                "high": each.ratio.interval.high,
                "rates": list(each.ratio.rates),
                "kept": each.kept,
                "changes_results": changes_results(each),
                "losses_apart": each.apart,
                "start": each.start,
            }
            for each in tried
        ],
        "refused": list(refused),
        "not_tried": list(not_tried),
        "busy": busy,
    }
    if whole is not None:
        details |= {"ratio": whole.interval.value, "low": whole.interval.low, "high": whole.interval.high}
    return Result(
        kind="speed", sentence=sentence, notes=tuple(notes), adopt=adopt, details=details, created=time.time()
    )


def changes_results(tried: Tried) -> bool:
    """By what the setting is declared to do, or by what was seen."""
    return tried.candidate.affects_result or tried.apart > 0.0


def _tell(tried: Tried) -> str:
    told = f"{tried.candidate.override}: {show_ratio(tried.ratio.interval)}, {'kept' if tried.kept else 'not kept'}"
    if tried.apart > 0.0:
        told += f"; changes results: the losses of the first steps differ by up to {tried.apart:.1g} of theirs"
        if not tried.candidate.affects_result:
            told += ", which this setting should not do"
    elif tried.candidate.affects_result:
        told += "; may change results by rounding, though the losses of the first steps are the same"
    else:
        told += "; the losses of the first steps are the same to the bit"
    return f"{told}."
