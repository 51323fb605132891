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
from training.studies.seeds import change, read_names
from training.studies.speed.candidates import FUSED, Candidate, list_candidates, list_never_run, suits_mode
from training.studies.speed.measure import PAIRS, Ratio, compare_losses, estimate_seconds, measure_pair, read_ratio
from training.studies.trainer import Trainer
from training.studies.worker import Worker

MAY_CHANGE: Final = "may change by rounding, though the losses of the first steps are the same,"
_LOOK_SECONDS: Final = 1.0
_MUCH: Final = 0.3
_BUSY: Final = "that makes the intervals wider. Repeat it when they are done."


class Fused(NamedTuple):
    """The fused optimizer beside its foreach form: how many times as fast the steps are, and by how much the losses of the first differ. ``why``
    says instead why it was never run."""

    ratio: Ratio | None
    apart: float = 0.0
    why: str = ""


class Tried(NamedTuple):
    """A candidate beside what was kept before: its ratio, whether it is ``kept``, and by how much the losses of the first steps differ."""

    candidate: Candidate
    ratio: Ratio
    kept: bool
    apart: float
    start: float


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: ``only`` some settings by their names."""
    candidates, with_fused = choose_candidates(config, cost.device, options), _wants_fused(options)
    if not candidates and not with_fused:
        known = sorted({each.path for device in ("cpu", "cuda") for each in list_candidates(config, device)})
        raise InputError(
            f"--only {' '.join(read_only(options))}: is nothing that is tried; tried are {', '.join([*known, FUSED])}."
        )
    count = len(candidates) + with_fused
    seconds = count * estimate_seconds(cost.start, cost.step, cost.validation * cost.validations / cost.steps)
    paths = ", ".join([*dict.fromkeys(each.path for each in candidates), *[f"{FUSED} optimizer"] * with_fused])
    return Draft(
        seconds=seconds,
        words=(
            f"{'One value is' if count == 1 else f'Up to {count} values are'} tried beside what was kept before, turn by turn in {PAIRS} "
            f"pairs of processes, of: {paths}. No run is kept.",
            f"That takes up to about {format_duration(seconds)}; compiling adds seconds to minutes.",
        ),
    )


def read_only(options: Options) -> list[str]:
    """The settings that were asked for; all where none was."""
    return read_names(options, "only")


def choose_candidates(config: RunConfig, device: str, options: Options) -> list[Candidate]:
    """Those that are tried on a kind of ``device``, in their order."""
    only = read_only(options)
    return [each for each in list_candidates(config, device) if not only or each.path in only]


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Try them all, then what was kept against what was given."""
    config, study = plan.config, trainer.study
    trainer.begin_part("As it is")
    opened: dict[str, Any] = study.read_part("as-is")
    if not opened:
        busy = psutil.cpu_percent(interval=_LOOK_SECONDS) / 100.0
        with Worker(trainer.interrupt) as worker:
            opened = worker.ask("open-steps", arm="A", settings=config_data(config))
            worker.ask("close-steps", arm="A")
        opened["busy"] = busy
        study.write_part("as-is", opened)
    candidates = choose_candidates(config, opened["device"], plan.options)
    level = choose_level(len(candidates))
    with_fused = _wants_fused(plan.options)
    trainer.expect(len(candidates) + with_fused + 1)
    base, mode = config, opened["mode"]
    tried: list[Tried] = []
    refused: list[str] = []
    adopt: dict[str, JsonValue] = {}
    for number, candidate in enumerate(candidates):
        if number:
            trainer.end_part()
        trainer.begin_part(candidate.override)
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
    if candidates:
        trainer.end_part()
    fused = None
    if with_fused:
        trainer.begin_part("The fused optimizer beside its foreach form")
        fused = _try_fused(trainer, config, opened)
        trainer.end_part()
    whole = None
    if adopt:
        trainer.begin_part("All that is kept, beside the configuration as it is")
        whole = read_ratio(_measure(trainer, "whole", config, base), LEVEL)
    never_run = [] if read_only(plan.options) else list_never_run(config, opened["device"])
    return _conclude(tried, refused, adopt, whole, fused, never_run, opened.get("busy", 0.0))


def choose_level(candidates: int) -> float:
    """Of the interval of each (Bonferroni: of many that are tried one looks faster by chance)."""
    return 1.0 - (1.0 - LEVEL) / max(candidates, 1)


def _wants_fused(options: Options) -> bool:
    only = read_only(options)
    return not only or FUSED in only


def _try_fused(trainer: Trainer, config: RunConfig, opened: dict[str, Any]) -> Fused:
    """It is no setting and taken anyhow, so that is told and not kept."""
    if opened.get("optimizer") != "fused":
        return Fused(None, why=f"{config.optimizer.kind} has no fused form on this device ({opened['device']})")
    measured = _measure(trainer, FUSED, config, config, fused=False)
    if "refused" in measured:
        return Fused(None, why=str(measured["refused"]))
    return Fused(read_ratio(measured, LEVEL), compare_losses(measured["losses"]))


def _measure(trainer: Trainer, key: str, first: RunConfig, second: RunConfig, fused: bool = True) -> dict[str, Any]:
    known: dict[str, Any] = trainer.study.read_part(key)
    if not known:
        known = measure_pair(trainer, first, second, fused)
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
    fused: Fused | None,
    never_run: Sequence[str],
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
        changing = [each for each in tried if each.kept and changes_results(each)]
        seen = ", ".join(each.candidate.override for each in changing if each.apart > 0.0)
        declared = ", ".join(each.candidate.override for each in changing if each.apart == 0.0)
        if seen:
            sentence += f" Results change with {seen}."
        if declared:
            sentence += f" Results {MAY_CHANGE} with {declared}."
        if not changing:
            sentence += " The results stay the same to the bit, as far as the first steps tell."
    if busy > _MUCH:
        sentence += f" Other programs took {busy:.0%} of the CPU before it began: {_BUSY}"
    notes = [
        *(_tell(each) for each in tried),
        *(f"Not tried: {each}" for each in refused),
        *([f"Never run on this machine: {', '.join(never_run)}, which need an NVIDIA GPU."] if never_run else []),
        *([_tell_fused(fused)] if fused is not None else []),
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
        "never_run": list(never_run),
        "busy": busy,
    }
    if fused is not None and fused.ratio is not None:
        interval = fused.ratio.interval
        details["fused"] = {
            "ratio": interval.value,
            "low": interval.low,
            "high": interval.high,
            "rates": list(fused.ratio.rates),
            "losses_apart": fused.apart,
        }
    elif fused is not None:
        details["fused"] = {"never_run": fused.why}
    if whole is not None:
        details |= {"ratio": whole.interval.value, "low": whole.interval.low, "high": whole.interval.high}
    return Result(
        kind="speed", sentence=sentence, notes=tuple(notes), adopt=adopt, details=details, created=time.time()
    )


def _tell_fused(fused: Fused) -> str:
    if fused.ratio is None:
        return f"Fused optimizer: never run, since {fused.why}."
    told = f"Fused optimizer, which is taken wherever PyTorch has it: {show_ratio(fused.ratio.interval)} beside its foreach form"
    if fused.apart > 0.0:
        return f"{told}; the losses of the first steps differ by up to {fused.apart:.1g} of theirs."
    return f"{told}; the losses of the first steps are the same to the bit."


def changes_results(tried: Tried) -> bool:
    """By what the setting is declared to do, or by what was seen."""
    return tried.candidate.affects_result or tried.apart > 0.0


def _tell(tried: Tried) -> str:
    told = f"{tried.candidate.override}: {show_ratio(tried.ratio.interval)}, {'kept' if tried.kept else 'not kept'}"
    if tried.apart > 0.0:
        told += f"; results change: the losses of the first steps differ by up to {tried.apart:.1g} of theirs"
        if not tried.candidate.affects_result:
            told += ", which this setting should not do"
    elif tried.candidate.affects_result:
        told += f"; results {MAY_CHANGE.rstrip(',')}"
    else:
        told += "; the losses of the first steps are the same to the bit"
    return f"{told}."
